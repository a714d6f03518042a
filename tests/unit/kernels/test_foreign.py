"""Names of kernels in scikit-learn, its kernel objects, translated, and functions as kernels of estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor as ReferenceProcess
from sklearn.gaussian_process import kernels as theirs
from sklearn.kernel_ridge import KernelRidge as ReferenceRidge
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as ReferenceSVC

import mercer
from mercer import SVC, GaussianProcessClassifier, GaussianProcessRegressor, KernelPCA, KernelRidge
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError
from mercer.kernels import Custom, Gaussian, Periodic, Precomputed
from mercer.kernels.foreign import WORDS, as_kernel, kernel_from_word, translated

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(12, 3)))
Z = np.abs(RNG.normal(size=(5, 3)))
Y = X[:, 0] + 0.1 * RNG.normal(size=12)
SIDE = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
TABLE = np.random.default_rng(0).normal(size=(10, 4))
COUNTS = np.abs(TABLE)  # for kernels on histograms

OBJECTS = [
    theirs.RBF(0.7),
    theirs.RBF([0.5, 1.0, 2.0]),
    theirs.RBF([0.5]),  # one number
    *(theirs.Matern(0.8, nu=nu) for nu in (0.5, 1.2, 1.5, 2.5, np.inf)),
    theirs.RationalQuadratic(0.7, alpha=1.3),
    theirs.DotProduct(1.5),
    theirs.DotProduct(0.0),
    theirs.ConstantKernel(2.0),
    theirs.RBF(0.7) + theirs.ConstantKernel(0.5),
    theirs.ConstantKernel(2.0) * theirs.RBF(0.7) * theirs.DotProduct(1.0),
    theirs.RBF(0.7) ** 2,
    *(
        theirs.PairwiseKernel(gamma=0.4, metric=word)
        for word in ("linear", "rbf", "poly", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2")
    ),
    theirs.PairwiseKernel(gamma=0.4, metric="poly", pairwise_kernels_kwargs={"degree": 2, "coef0": 0.5}),
    theirs.ExpSineSquared(0.7, 1.9),  # of three columns: called as it is
    theirs.RBF(0.7) ** 1.5,
]


@pytest.mark.parametrize("kernel", OBJECTS, ids=repr)
def test_the_gram_matrices_are_equal(kernel):
    ours = as_kernel(kernel, X.shape[1])
    np.testing.assert_allclose(ours(X), kernel(X, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours(Z, X), kernel(Z, X), rtol=1e-10, atol=1e-12)


def test_one_column_of_a_periodic_kernel_has_a_counterpart():
    kernel = theirs.ExpSineSquared(0.7, 1.9)
    assert as_kernel(kernel) == Periodic(1.9, length_scale=0.7)
    np.testing.assert_allclose(as_kernel(kernel)(X[:, :1]), kernel(X[:, :1]), rtol=1e-12)


def test_white_noise_is_told_apart():
    kernel, noise = translated(2.0 * (theirs.RBF(0.7) + theirs.WhiteKernel(0.1)) + theirs.WhiteKernel(0.3))
    assert kernel == 2.0 * Gaussian(0.7)
    assert noise == pytest.approx(0.5)


def test_white_noise_is_the_noise_of_a_process():
    given = 2.0 * theirs.RBF(0.7) + theirs.WhiteKernel(0.3)
    ours = GaussianProcessRegressor(given, fixed="all").fit(X, Y)
    reference = ReferenceProcess(given, optimizer=None).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), reference.predict(Z), rtol=1e-6)
    assert ours.log_marginal_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-6)
    assert ours.kernel is given


@pytest.mark.parametrize("estimator", [KernelRidge, SVC, GaussianProcessClassifier])
def test_white_noise_elsewhere_is_refused(estimator):
    with pytest.raises(CapabilityError, match=r"white noise.*WhiteKernel"):
        estimator(theirs.RBF(0.7) + theirs.WhiteKernel(0.3)).fit(X, SIDE)


def test_several_kernels_side_by_side_are_refused():
    with pytest.raises(ParameterError, match="one kernel"):
        SVC(theirs.CompoundKernel([theirs.RBF(), theirs.RBF(2.0)])).fit(X, SIDE)


def test_bounds_of_the_search_belong_to_the_estimator():
    with pytest.raises(ParameterError, match=r"length_scale.*Gaussian\(0\.7\).*fixed="):
        GaussianProcessRegressor(theirs.RBF(0.7, "fixed")).fit(X, Y)
    GaussianProcessRegressor(theirs.RBF(0.7, "fixed"), noise=0.1, fixed="all").fit(X, Y)


def test_an_estimator_with_an_object_is_that_with_its_counterpart():
    given = clone(SVC(theirs.RBF(0.7))).fit(X, SIDE)
    np.testing.assert_array_equal(given.decision_function(Z), SVC(Gaussian(0.7)).fit(X, SIDE).decision_function(Z))


def rbf(A, B):
    return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def rbf_of_two(a, b):
    return np.exp(-0.5 * ((a - b) ** 2).sum())


def test_a_function_of_collections_in_a_machine():
    ours = SVC(rbf, C=3.0).fit(X, SIDE)
    reference = ReferenceSVC(kernel=rbf, C=3.0, tol=1e-8).fit(X, SIDE)
    np.testing.assert_allclose(ours.decision_function(Z), reference.decision_function(Z), atol=1e-5)
    assert ours.kernel_ == Custom(rbf, pairs=False)
    assert GridSearchCV(SVC(rbf), {"C": [1.0, 10.0]}, cv=2).fit(X, SIDE).best_estimator_.kernel is rbf


def test_a_function_of_two_samples_in_a_ridge():
    ours, reference = KernelRidge(rbf_of_two).fit(X, Y), ReferenceRidge(kernel=rbf_of_two).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), reference.predict(Z), rtol=1e-8)
    np.testing.assert_allclose(KernelRidge(rbf).fit(X, Y).predict(Z), ours.predict(Z), rtol=1e-8)


def test_a_function_of_things_that_are_no_numbers():
    words = ["ab", "abc", "x", "xy", "b", "yx"]

    def common(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    y = [0, 0, 1, 1, 0, 1]
    model, matrix = SVC(common).fit(words, y), SVC("precomputed").fit(common(words, words), y)
    np.testing.assert_allclose(
        model.decision_function(["a", "y"]), matrix.decision_function(common(["a", "y"], words)), rtol=1e-12
    )
    assert KernelPCA(common, n_components=2).fit_transform(words).shape == (6, 2)


def test_a_model_with_a_function_says_that_it_cannot_be_saved(tmp_path):
    with pytest.raises(ParameterError, match=r"cannot be saved.*function"):
        mercer.save(SVC(rbf).fit(X, SIDE), tmp_path / "model.mercer")


def test_a_model_with_an_object_of_scikit_learn_says_what_to_use(tmp_path):
    with pytest.raises(ParameterError, match=r"cannot be saved.*Gaussian\(0\.7\)"):
        mercer.save(SVC(theirs.RBF(0.7)).fit(X, SIDE), tmp_path / "model.mercer")


def test_what_is_no_kernel_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match=r"kernel must be a Kernel.*function.*Gaussian\(1\.0\)"):
        SVC(3.0).fit(X, SIDE)
    with pytest.raises(ParameterError, match=r"Gaussian\(\.\.\.\)"):
        SVC(Gaussian).fit(X, SIDE)


def test_a_function_that_is_no_kernel_is_refused_by_fit():
    with pytest.raises(DomainError, match="symmetric"):
        SVC(lambda A, B: A @ np.diag([1.0, 2.0, 3.0]) @ B.T + A[:, :1]).fit(X, SIDE)
    with pytest.warns(IndefiniteWarning, match="eigenvalues"):
        KernelRidge(lambda A, B: np.abs(A[:, :1] - B[:, 0]), alpha=100.0).fit(X, Y)


class Overlap(theirs.GenericKernelMixin, theirs.StationaryKernelMixin, theirs.Kernel):
    """Of texts; as scikit-learn's users write their own."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.array([[float(len(set(a) & set(b))) for b in (X if Y is None else Y)] for a in X])

    def diag(self, X):
        return np.array([float(len(set(a))) for a in X])


def test_an_object_of_a_user_on_data_that_are_no_numbers():
    texts, y = ["ab", "abc", "x", "xy", "b"], np.array([1.0, 2.0, 0.0, 0.5, 1.0])
    given = Overlap() + theirs.ConstantKernel(0.5)
    ours = GaussianProcessRegressor(given, noise=0.3, fixed="all").fit(texts, y)
    reference = ReferenceProcess(given, alpha=0.3, optimizer=None).fit(texts, y)
    np.testing.assert_allclose(ours.predict(["a", "yx"]), reference.predict(["a", "yx"]), rtol=1e-8)


def test_several_lengths_where_scikit_learn_has_one_are_refused():
    with pytest.raises(ParameterError, match="length_scale"):
        as_kernel(theirs.RationalQuadratic([1.0, 2.0]))


@pytest.mark.parametrize("word", sorted(set(WORDS) - {"precomputed"}))
@pytest.mark.parametrize("params", [{}, {"gamma": 0.3, "degree": 2, "coef0": 0.5}], ids=["defaults", "given"])
def test_the_matrices_are_those_of_scikit_learn(word, params):
    data = COUNTS if "chi2" in word else TABLE
    ours = kernel_from_word(word, 4, **params)(data)
    assert np.allclose(ours, pairwise_kernels(data, metric=word, filter_params=True, **params))


def test_every_word_of_scikit_learn_is_understood():
    assert set(WORDS) == {*KERNEL_PARAMS, "precomputed"}


@pytest.mark.parametrize("word", ["cosine", "chi2", "additive_chi2"])
def test_a_machine_takes_the_word(word):
    y = np.where(COUNTS[:, 0] > np.median(COUNTS[:, 0]), 1, -1)
    ours = SVC(word, C=10.0).fit(COUNTS, y)
    matrix = pairwise_kernels(COUNTS, metric=word)
    theirs = ReferenceSVC(kernel="precomputed", C=10.0, tol=1e-8).fit(matrix, y)
    assert np.allclose(ours.decision_function(COUNTS), theirs.decision_function(matrix), atol=1e-5)


def test_gamma_of_chi2_in_a_ridge():
    ours = KernelRidge("chi2", gamma=0.3).fit(COUNTS, TABLE[:, 0])
    theirs = ReferenceRidge(kernel="chi2", gamma=0.3).fit(COUNTS, TABLE[:, 0])
    assert np.allclose(ours.predict(COUNTS), theirs.predict(COUNTS))


def test_the_word_precomputed():
    assert kernel_from_word("precomputed", 4) == Precomputed()


def test_an_unknown_word_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"'rfb'.*rbf.*Gaussian\(1\.0\)"):
        kernel_from_word("rfb", 4)
