"""Every fitted machine gives its function: ``expansion_``, an element of the kernel's space, predicts what it does.

A machine enters by being exported. One whose decision values are not the function itself says what they are made of.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

import mercer
import mercer.estimators
from mercer.domains import Frames
from mercer.gram.element import Element
from mercer.kernels import Gaussian, Match, Spectrum
from mercer.testing.expansions import check_expansion

rng = np.random.default_rng(0)
X, T = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.4, 0.4])
COUNTS = np.round(np.exp(np.clip(Y, -1.0, 2.0)))

NO_ELEMENT = {
    "AdaBoostClassifier": "it votes by weak learners; of KernelBalls each kernel has a function, `expansions_`",
    "LPBoostClassifier": "it votes by weak learners; of KernelBalls each kernel has a function, `expansions_`",
    "LPBoostRegressor": "it votes by weak learners; of KernelBalls each kernel has a function, `expansions_`",
    "LabelPropagation": "its values are those of nodes, and means of neighbours elsewhere",
    "GaussianProcessMixture": "which component speaks depends on x: a function per component, `expansions_`",
    "SemiparametricLatentFactor": "every latent process has a kernel of its own: a function each, `expansions_`",
    "GraphicalStructure": "it learns which columns depend on each other, and predicts nothing",
    "LaplacianEigenmap": "it places the nodes of a graph of neighbours, which new samples are not",
    "LocalityPreservingProjection": "it is linear in the columns, and its directions are `components_`",
    "KernelICA": "the kernel measures dependence; sources are linear in the columns",
    "KernelDimensionReduction": "the kernel measures dependence; directions are linear in the columns",
    "DependenceSelector": "the kernel measures dependence; it chooses columns",
    "LinkPropagation": "links are known at nodes; new nodes get them from their neighbours",
    "SVM2K": "every view has a kernel of its own: a function each, `expansions_`",
    "CoRegularizedRidge": "every view has a kernel of its own: a function each, `expansions_`",
    "MultiViewLaplacianSVC": "every view has a kernel of its own: a function each, `expansions_`",
}
OTHER_KIND = {"SmoothingSpline": "its polynomials are outside the space: an Expansion and a basis, or a natural spline"}


def _by_pairs(machine, A):
    """One-versus-one machines: the functions of the pairs are what votes are counted of."""
    if len(machine.classes_) == 2:
        return machine.decision_function(A)
    machine.decision_function_shape = "ovo"
    return machine.decision_function(A)


def _by_odds(machine, A):
    """The log odds are the function over a measure of its uncertainty, which is the same for both signs."""
    spread = machine._spread(machine._pack_new(A), machine.roots_)
    kappa = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * spread)
    values = machine.decision_function(A)
    return values / (kappa[:, 0] if values.ndim == 1 else kappa)


def _of_process(machine, A):
    """The latent means; of two classes their sign is the prediction, of several the largest."""
    values = machine.expansion_(A)
    likely = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    assert np.array_equal(machine.classes_[likely], machine.predict(A))
    return values


def _of_distances(machine, A):
    """Inner products with the centres, of which the distances are made."""
    squares = np.asarray(machine.kernel_.diag(machine.kernel_.prepare(machine.kernel_.pack(A))))
    return 0.5 * (squares[:, None] + machine.center_norms_ - machine.transform(A) ** 2)


def _of_shares(machine, A):
    """Coordinates are functions divided by the last one, the degree of a sample."""
    values = machine.expansion_(A)
    assert np.allclose(machine.transform(A), values[:, :-1] / values[:, -1:])
    return values


def _between_thresholds(machine, A):
    """The function whose values are cut."""
    values = machine.expansion_(A)
    assert np.array_equal(machine.classes_[(values[:, None] > machine.thresholds_).sum(axis=1)], machine.predict(A))
    return values


def _of_outputs(machine, A):
    """The scores of the classes, of which the largest is predicted."""
    values = machine.expansion_(A)
    assert np.array_equal(machine.classes_[values.argmax(axis=1)], machine.predict(A))
    return values


def _said(machine, A):
    """The decision values, predictions, or coordinates: the first of these that there are."""
    return next(getattr(machine, m) for m in ("decision_function", "predict", "transform") if hasattr(machine, m))(A)


RAW = {
    "GaussianProcessClassifier": _of_process,
    "RelevanceVectorClassifier": _by_odds,
    "KernelDependencyEstimation": lambda machine, A: machine.predict_scores(A),
    "KernelFisherDiscriminant": lambda machine, A: machine.transform(A),
    "KernelGLM": lambda machine, A: np.log(machine.predict(A)),
    "KernelKMeans": _of_distances,
    "SpectralClustering": _of_shares,
    "DiffusionMap": _of_shares,
    "OrdinalSVC": _between_thresholds,
    **dict.fromkeys(
        ("StructuredSVC", "StructuredPerceptron", "KernelCRF", "GaussianProcessSequenceClassifier"), _of_outputs
    ),
    "ExponentialDensity": lambda machine, A: _of_logarithms(machine, A),
    "ParzenDensity": lambda machine, A: np.exp(machine.score_samples(A)) * _mass(machine),
    **dict.fromkeys(("SVC", "NuSVC", "MarginBoundSVC", "RelativeMarginMachine"), _by_pairs),
    **dict.fromkeys(("LaplacianSVC", "MultiTaskSVC"), _by_pairs),
}


def _of_logarithms(machine, A):
    """The logarithm of the density and its normaliser; outside the box there is none."""
    values, logs = machine.expansion_(A), machine.score_samples(A)
    return np.where(np.isfinite(logs), logs + machine.log_normaliser_, values)


def _mass(machine):
    """The integral of the kernel, by which a density is divided: of the Gaussian in the plane."""
    return 2.0 * np.pi * float(machine.kernel_.length_scale) ** 2


MACHINES = sorted(
    name
    for name in mercer.estimators.__all__
    if isinstance(getattr(mercer.estimators, name), type)
    and issubclass(getattr(mercer.estimators, name), BaseEstimator)
)


OPTIONS = {"SpectralClustering": {"n_neighbors": None}}  # in a graph of neighbours sums go over some samples alone


def fitted(name, kind):
    machine = getattr(mercer.estimators, name)(**OPTIONS.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_classifier(machine):
            if kind == "several" and not get_tags(machine).classifier_tags.multi_class:
                pytest.skip("two classes alone")
            return machine.fit(X, TWO if kind == "one" else THREE)
        if kind == "one":
            return machine.fit(X, COUNTS if name == "KernelGLM" else Y)
        try:
            return machine.fit(X, np.column_stack([Y, -2.0 * Y + X[:, 1], X[:, 0]]))
        except ValueError as error:
            assert "1d array" in str(error)
            pytest.skip("one output alone")


@pytest.mark.parametrize("kind", ["one", "several"])
@pytest.mark.parametrize("name", [name for name in MACHINES if name not in NO_ELEMENT])
def test_a_machine_predicts_by_its_expansion(name, kind):
    machine = fitted(name, kind)
    f = machine.expansion_
    if getattr(machine, "columns_", None):  # columns are tasks: it is a function of samples and their tasks
        for t, expected in enumerate(machine.predict(T).T):
            pairs = {**machine._pack_rest(T).parts, "task": Match().pack([t] * len(T))}
            assert np.allclose(f(Frames(pairs)), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        return
    values = f(machine.kernel_.pack(T) if name == "SmoothingSpline" else T)
    expected = np.asarray(RAW.get(name, _said)(machine, T))
    assert np.allclose(values.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    if name in OTHER_KIND:
        return
    assert isinstance(f, Element)
    if getattr(f, "diagonal", 0.0) == 0.0:
        check_expansion(f, T)
        assert np.any(np.asarray(f.norm()) > 0.0)


@pytest.mark.parametrize("name", sorted(NO_ELEMENT))
def test_machines_without_a_single_element(name):
    machine = fitted(name, "several")
    assert not hasattr(machine, "expansion_")
    if name == "SemiparametricLatentFactor":
        factors = np.column_stack([f(T) for f in machine.expansions_])
        expected = machine.predict_factors(T)
        assert np.allclose(factors, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert np.allclose(factors @ machine.mixing_.T + machine.intercept_, machine.predict(T))
    if name == "GaussianProcessMixture":
        means = np.stack([f(T) for f in machine.expansions_], axis=1)
        assert np.allclose(means, machine.predict_components(T).mean)
    for f in getattr(machine, "expansions_", ()):
        check_expansion(f, T)


@pytest.mark.parametrize("method", ["variational", "nystrom", "fitc", "sor"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_every_sparse_process_has_its_mean(method, outputs):
    y = Y if outputs == 1 else np.column_stack([Y, X[:, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = mercer.SparseGaussianProcessRegressor(Gaussian(1.0), method=method, fixed="all").fit(X, y)
    assert np.allclose(machine.expansion_(T), machine.predict(T), rtol=1e-6, atol=1e-7)
    assert not hasattr(mercer.SparseGaussianProcessRegressor(), "expansion_")


def test_functions_of_strings():
    words = ["abab", "abba", "bab", "baab", "aa", "bb"]
    machine = mercer.SVC(Spectrum(2), C=10.0).fit(words, [0, 0, 1, 1, 0, 1])
    new = ["ab", "bab", "zz"]
    assert np.allclose(machine.expansion_(new), machine.decision_function(new))
    check_expansion(machine.expansion_, new)
    # the margin of a support vector machine is 1 / |w|
    alpha = np.abs(machine.dual_coef_).sum()
    if np.all(np.abs(machine.dual_coef_) < 10.0 - 1e-9):
        assert machine.expansion_.norm() ** 2 == pytest.approx(alpha, rel=1e-3)


def test_machines_of_one_kernel_are_combined():
    """The mean of machines fitted on parts of the data is a machine; differences tell how much they disagree."""
    k = Gaussian(1.0)
    parts = [mercer.KernelRidge(k, alpha=0.1).fit(X[i::3], Y[i::3]) for i in range(3)]
    mean = sum(part.expansion_ for part in parts) / 3.0
    assert np.allclose(mean(T), np.mean([part.predict(T) for part in parts], axis=0))
    whole = mercer.KernelRidge(k, alpha=0.1).fit(X, Y).expansion_
    gap = np.abs(whole(T) - mean(T))
    assert np.all(gap <= whole.distance(mean) + 1e-12)  # k(x, x) = 1
