"""Selection of columns against all subsets, and the criterion against its definition."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline

from mercer import KernelRidge
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError, ParameterError, TargetError
from mercer.estimators.dependence.dependence_selection import DependenceSelector, target_samples
from mercer.gram import Auto, Dense, FastGauss, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy, Tiles
from mercer.inference.dependence_measures import hsic
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 6))
XOR = X[:, 1] * X[:, 4] > 0


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear(), Laplacian(3.0), Matern(1.5), Gaussian(2.0) + Linear()])
def test_one_step_is_the_best_of_all_sets(kernel):
    y = X[:40, 2] + X[:40, 5] ** 2
    target = Gaussian(1.0)

    def score(columns):
        return hsic(X[:40][:, columns], y, (kernel, target), estimator="unbiased")

    less = max(itertools.combinations(range(6), 5), key=score)
    model = DependenceSelector(kernel, 5, target_kernel=target).fit(X[:40], y)
    assert tuple(model.get_support(indices=True)) == less
    assert model.scores_[-1] == pytest.approx(score(less), rel=1e-8)
    one = max(range(6), key=lambda j: score([j]))
    forward = DependenceSelector(kernel, 1, target_kernel=target, direction="forward").fit(X[:40], y)
    assert list(forward.get_support(indices=True)) == [one]
    two = max((j for j in range(6) if j != one), key=lambda j: score([one, j]))
    forward = DependenceSelector(kernel, 2, target_kernel=target, direction="forward").fit(X[:40], y)
    assert sorted(forward.get_support(indices=True)) == sorted([one, two])


def test_columns_that_matter_only_together_are_kept_backward():
    model = DependenceSelector(n_features_to_select=2).fit(X, XOR)
    assert list(model.get_support(indices=True)) == [1, 4]
    assert sorted(model.ranking_) == [1, 1, 2, 3, 4, 5] and model.n_features_ == 2
    np.testing.assert_array_equal(model.transform(X), X[:, [1, 4]])
    assert model.scores_[-1] == max(model.scores_)


def test_several_columns_may_go_at_once():
    wide = np.hstack([X, rng.normal(size=(80, 30))])
    slow = DependenceSelector(n_features_to_select=2, step=0.0).fit(wide, X[:, 0] > 0)
    fast = DependenceSelector(n_features_to_select=2, step=0.5).fit(wide, X[:, 0] > 0)
    assert len(slow.scores_) == 34 and len(fast.scores_) < 8
    assert slow.support_[0] and fast.support_[0]
    assert sorted(fast.ranking_) == [1, 1, *range(2, 36)]


def test_in_a_pipeline_with_shares_and_names():
    model = make_pipeline(DependenceSelector(n_features_to_select=0.5), KernelRidge()).fit(X, X[:, 0])
    assert model[0].n_features_ == 3 and model[0].support_[0]
    assert DependenceSelector().fit(X, XOR).n_features_ == 3
    assert "x0" in model[0].get_feature_names_out()


def test_targets_of_other_kinds():
    texts = ["ab" * 4 if x > 0 else "ba" * 4 + "bb" for x in X[:, 3]]
    assert DependenceSelector(n_features_to_select=1, target_kernel=Spectrum(2)).fit(X, texts).support_[3]
    assert target_samples(X[:, 0], None, 80)[0] == Gaussian("median")
    assert target_samples(X, None, 80)[1].width == 6


def test_weights_are_repetitions():
    w = rng.integers(0, 3, size=80)
    again = np.repeat(np.arange(80), w)
    a = DependenceSelector(Gaussian(2.0), 2).fit(X, XOR, sample_weight=w)
    b = DependenceSelector(Gaussian(2.0), 2).fit(X[again], XOR[again])
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-8)
    np.testing.assert_array_equal(a.ranking_, b.ranking_)


def test_what_cannot_be_done_is_told():
    with pytest.raises(ParameterError, match="at most 6"):
        DependenceSelector(n_features_to_select=7).fit(X, XOR)
    with pytest.raises(TargetError, match="Give y"):
        DependenceSelector().fit(X, None)
    with pytest.raises(DomainError, match="at least 4"):
        DependenceSelector().fit(X[:3], XOR[:3])


FULL = [Dense(), Auto(), Tiles(), Tiles(memory=20_000), Nystrom(80), IncompleteCholesky(80, tol=0.0)]


@pytest.mark.parametrize("gram", FULL, ids=repr)
@pytest.mark.parametrize("estimate", ["biased", "unbiased"])
def test_however_the_matrices_are_held_the_columns_are_the_same(gram, estimate):
    w = rng.integers(0, 3, size=80)
    for direction, y in (("backward", XOR), ("forward", X[:, 1] + X[:, 4] ** 2)):
        for kernel in (None, Gaussian(2.0), Laplacian(3.0)):
            options = {"direction": direction, "estimate": estimate, "n_features_to_select": 2}
            plain = DependenceSelector(kernel, **options).fit(X, y, sample_weight=w)
            model = DependenceSelector(kernel, gram=gram, **options).fit(X, y, sample_weight=w)
            np.testing.assert_array_equal(model.ranking_, plain.ranking_)
            np.testing.assert_allclose(model.scores_, plain.scores_, rtol=1e-7, atol=1e-10)


def test_what_a_factor_leaves_out_is_told_once():
    with pytest.warns(ConvergenceWarning, match="leaves") as told:
        DependenceSelector(Gaussian(0.5), 2, gram=SparseGreedy(5)).fit(X, X[:, 0])
    assert sum("Of some of the columns" in str(one.message) for one in told) == 1 and len(told) <= 2  # and of targets


@pytest.mark.parametrize(
    "gram", [Nystrom(15), SparseGreedy(60, tol=0.01), RandomFeatures(400), Nystrom(15, random_state=None)], ids=repr
)
def test_few_coordinates_find_what_the_targets_depend_on(gram):
    y = np.sin(2 * X[:, 3]) + 0.1 * X[:, 0]
    model = DependenceSelector(Gaussian(1.5), 1, gram=gram, direction="forward").fit(X, y)
    assert model.support_[3] and model.gram_ == gram
    assert DependenceSelector(n_features_to_select=1, gram=gram).fit(X, X[:, 3] > 0).support_[3]


@pytest.mark.parametrize("gram", [Nystrom(30), Tiles("2MB")], ids=repr)
def test_no_matrix_of_all_samples(gram):
    n = 3000
    many = np.random.default_rng(1).normal(size=(n, 2))
    model = DependenceSelector(Gaussian(1.0), 1, target_kernel=Gaussian(1.0), gram=gram)
    model.fit(many[:100], many[:100, 1] ** 2)
    tracemalloc.start()
    try:
        model.fit(many, many[:, 1] ** 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.support_[1] and peak < 0.3 * 8 * n**2
    assert peak < 1.2 * model.memory_plan(n, 2).total < 0.3 * 8 * n**2


def test_grams_that_cannot_be_used_are_named():
    with pytest.raises(CapabilityError, match=r"FastGauss.*Nystrom"):
        DependenceSelector(gram=FastGauss()).fit(X, XOR)
    with pytest.raises(CapabilityError, match="indefinite"):
        DependenceSelector(gram=Dense(indefinite="clip")).fit(X, XOR)
    with pytest.raises(MemoryBudgetError, match=r"gram=Tiles\(\)"):
        DependenceSelector(memory="50kB").fit(X, XOR)


@pytest.mark.parametrize("given", ["rbf", RBF(np.sqrt(2.0)), lambda a, b: np.exp(-cdist(a, b, "sqeuclidean") / 4.0)])
def test_kernels_are_taken_as_words_functions_and_objects_of_scikit_learn(given):
    """scikit-learn's default gamma of four columns is 1/4; of targets in one column it is 1."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 4))
    y = data[:, 1] + 0.1 * rng.normal(size=40)
    want = DependenceSelector(Gaussian(np.sqrt(2.0)), 2, target_kernel=Gaussian.from_gamma(1.0)).fit(data, y)
    found = DependenceSelector(given, 2, target_kernel="rbf").fit(data, y)
    np.testing.assert_array_equal(found.support_, want.support_)
    assert found.target_kernel_ == want.target_kernel_


def test_the_largest_numbers_are_selected_without_a_warning():
    A = np.random.default_rng(0).normal(size=(20, 4))
    chosen = DependenceSelector(Linear(), n_features_to_select=2).fit(A, A[:, 0])
    largest = np.where(A > 0.0, np.finfo(float).max, -np.finfo(float).max)
    np.testing.assert_array_equal(chosen.transform(largest), largest[:, chosen.get_support()])
