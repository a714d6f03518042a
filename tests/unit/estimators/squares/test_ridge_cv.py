"""Ridge regression that chooses its ridge and its kernel."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict, cross_val_score

from mercer import KernelRidge
from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.estimators.squares.ridge_cv import KernelRidgeCV
from mercer.gram import Auto, Dense, Features, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy, Tiles
from mercer.kernels import Gaussian, Kernel, Linear, Matern, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
T = rng.uniform(-2, 2, size=(9, 2))
ALPHAS = np.logspace(-5, 1, 13)


class Bell(Kernel):
    """A kernel with a parameter and without its derivative."""

    domain = Vectors
    constraints = {"width": Positive()}

    def __init__(self, width=1.0):
        self.width = width

    def block(self, A, B):
        return Gaussian(self.width).block(A, B)


def brute(kernel, alpha, folds, intercept=False, w=None):
    errors = np.empty(60)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        model = KernelRidge(kernel, alpha=alpha, fit_intercept=intercept)
        model.fit(X[rest], Y[rest], None if w is None else w[rest])
        errors[fold] = Y[fold] - model.predict(X[fold])
    return np.mean(errors**2) if w is None else np.average(errors**2, weights=w)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("cv", [None, 5, KFold(4, shuffle=True, random_state=0)], ids=["loo", "5", "KFold"])
def test_the_grid_is_that_of_refits(cv, intercept):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv, fit_intercept=intercept).fit(X, Y)
    folds = [[i] for i in range(60)] if cv is None else [t for _, t in (cv if cv != 5 else KFold(5)).split(X)]
    scores = [brute(Gaussian(1.0), alpha, folds, intercept) for alpha in ALPHAS[::3]]
    assert model.cv_values_.shape == (60, 13)
    np.testing.assert_allclose(model.cv_values_.mean(axis=0)[::3], scores, rtol=1e-7)
    best = int(np.argmin(model.cv_values_.mean(axis=0)))
    assert model.alpha_ == ALPHAS[best] and model.best_score_ == pytest.approx(-model.cv_values_.mean(axis=0)[best])
    single = KernelRidge(Gaussian(1.0), alpha=model.alpha_, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), single.predict(T), rtol=1e-9)
    assert model.tuned_ is None and model.kernel_ == Gaussian(1.0)


def test_generalised_cross_validation_of_the_linear_kernel_is_that_of_scikit_learn():
    A, y = X - X.mean(axis=0), Y - Y.mean()
    ours = KernelRidgeCV(Linear(), ALPHAS).fit(A, y)
    theirs = RidgeCV(ALPHAS, fit_intercept=False).fit(A, y)
    assert ours.alpha_ == theirs.alpha_ and ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("cv", [None, "gcv", 5])
def test_the_search_ends_at_a_minimum(cv):
    model = KernelRidgeCV(Gaussian((1.0, 1.0)), cv=cv, fit_intercept=True).fit(X, Y)
    assert model.tuned_.slope < 1e-4 and set(model.tuned_.names) == {"length_scale[0]", "length_scale[1]", "alpha"}
    best = -model.best_score_
    assert best == pytest.approx(np.exp(model.tuned_.value), rel=1e-6)
    assert best == pytest.approx(model.cv_values_.mean(), rel=1e-9) and model.cv_values_.shape == (60,)
    lengths = np.asarray(model.kernel_.length_scale)
    assert lengths[1] > lengths[0]  # the second column is not needed
    for factor in (0.9, 1.1):
        near = KernelRidgeCV(Gaussian(tuple(lengths)), [factor * model.alpha_], cv=cv, fit_intercept=True).fit(X, Y)
        assert -near.best_score_ >= best * (1 - 1e-9) or "alpha" in model.tuned_.at_bounds
        kernel = Gaussian((factor * lengths[0], lengths[1]))
        near = KernelRidgeCV(kernel, [model.alpha_], cv=cv, fit_intercept=True).fit(X, Y)
        assert -near.best_score_ >= best * (1 - 1e-9)


def test_the_ridge_alone_is_moved_continuously():
    model = KernelRidgeCV(Gaussian(1.0), fixed="all").fit(X, Y)
    grid = KernelRidgeCV(Gaussian(1.0), np.exp(np.linspace(-0.3, 0.3, 13)) * model.alpha_).fit(X, Y)
    assert grid.best_score_ <= model.best_score_ + 1e-12 and grid.alpha_ == pytest.approx(model.alpha_, rel=0.06)
    assert model.kernel_ == Gaussian(1.0) and model.tuned_ is None and model.n_iter_ == 1


def test_the_ridge_of_vanishing_samples():
    model = KernelRidgeCV(Linear()).fit(1e-160 * X, Y)
    assert model.alpha_ > 0.0 and np.isfinite(model.predict(1e-160 * T)).all()


def test_fixed_bounds_and_restarts():
    model = KernelRidgeCV(2.0 * Gaussian(1.0), fixed=("scale",), bounds={"alpha": (1e-3, 1e-2)}).fit(X, Y)
    assert model.kernel_.scale == 2.0 and 1e-3 <= model.alpha_ <= 1e-2 * (1 + 1e-9)
    start = KernelRidgeCV(Matern(1.5, 50.0), restarts=2, random_state=0)
    assert start.fit(X, Y).best_score_ >= clone(start).set_params(restarts=0).fit(X, Y).best_score_ - 1e-9
    assert len(start.tuned_.starts) == 3
    assert np.array_equal(start.predict(T), clone(start).fit(X, Y).predict(T))


def test_weights_are_repetitions_in_the_choice_too():
    w = rng.integers(0, 4, size=60)
    again = np.repeat(np.arange(60), w)
    for params in ({}, {"alphas": ALPHAS}, {"cv": "gcv"}, {"fixed": "all"}):
        a = KernelRidgeCV(Gaussian(1.0), **params).fit(X, Y, sample_weight=w)
        b = KernelRidgeCV(Gaussian(1.0), **params).fit(X[again], Y[again])
        assert a.alpha_ == pytest.approx(b.alpha_, rel=1e-3) and a.best_score_ == pytest.approx(b.best_score_, rel=1e-8)
        np.testing.assert_allclose(a.predict(T), b.predict(T), rtol=1e-3, atol=1e-4)
        assert np.array_equal(np.isnan(a.cv_values_).reshape(60, -1).any(axis=1), w == 0)


def test_several_outputs_share_the_choice():
    both = np.stack([Y, X[:, 1] ** 2], axis=1)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, both)
    assert model.cv_values_.shape == (60, 2, 13) and model.predict(T).shape == (9, 2)
    single = [KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, each).cv_values_ for each in both.T]
    np.testing.assert_allclose(model.cv_values_, np.stack(single, axis=1), rtol=1e-8)
    assert KernelRidgeCV().fit(X, both).cv_values_.shape == (60, 2)


def test_strings_words_precomputed_and_sparse():
    texts = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    values = np.array([text.count("ab") for text in texts], dtype=float)
    assert KernelRidgeCV(Spectrum(2)).fit(texts, values).score(texts, values) > 0.9
    with pytest.raises(CapabilityError, match="fixed='all'"):
        KernelRidgeCV(Bell()).fit(X, Y)
    assert KernelRidgeCV(Bell(), fixed="all").fit(X, Y).score(X, Y) > 0.9
    assert KernelRidgeCV("rbf", fixed="all").fit(X, Y).kernel_ == KernelRidge("rbf").fit(X, Y).kernel_
    K = Gaussian(1.0)(X)
    matrix = KernelRidgeCV("precomputed", ALPHAS).fit(K, Y)
    np.testing.assert_allclose(matrix.predict(K), KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, Y).predict(X), rtol=1e-7)
    sparse = KernelRidgeCV(Gaussian(1.0)).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(
        sparse.predict(sp.csr_array(T)), KernelRidgeCV(Gaussian(1.0)).fit(X, Y).predict(T), rtol=1e-4
    )
    assert cross_val_score(KernelRidgeCV(Gaussian(1.0)), X, Y).mean() > 0.8


def test_time_over_gives_the_best_so_far():
    big = rng.normal(size=(700, 3))
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = KernelRidgeCV(Gaussian((1.0, 1.0, 1.0)), max_time=0.7).fit(big, np.sin(big[:, 0]))
    assert np.isfinite(model.predict(big[:3])).all()


@pytest.mark.parametrize(
    "params",
    [
        {"alphas": [0.0, 1.0]},
        {"alphas": "many"},
        {"alphas": []},
        {"cv": "loocv"},
        {"cv": 1},
        {"cv": 61},
        {"fixed": "length"},
        {"fixed": ("width",)},
        {"bounds": {"width": (1.0, 2.0)}},
        {"bounds": 3},
        {"restarts": -1},
        {"tol": 0.0},
    ],
    ids=str,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        KernelRidgeCV(Gaussian(1.0), **params).fit(X, Y)


# Grams of low rank: no n x n matrix

FACTORS = [
    (Gaussian(1.0), Nystrom(15)),
    (Gaussian(1.0), IncompleteCholesky(15, tol=0.0)),
    (Gaussian(1.0), SparseGreedy(15, tol=0.0)),
    (Gaussian(1.0), RandomFeatures(30)),
    (Gaussian(1.0), RandomFeatures(80)),  # more columns than samples
    (Polynomial(3), Features()),
]
PAIRS = [(np.setdiff1d(np.arange(60), fold), fold) for fold in (np.arange(0, 60, 2), np.arange(1, 60, 2))]
BOTH = np.stack([Y, X[:, 1] ** 2 + 3.0], axis=1)
WEIGHT = np.random.default_rng(1).uniform(0.2, 3.0, size=60)
WEIGHT[[3, 17]] = 0.0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("cv", [None, "gcv", 7, PAIRS], ids=["loo", "gcv", "7", "2"])
@pytest.mark.parametrize(("kernel", "gram"), FACTORS, ids=lambda value: repr(value))
def test_a_factor_is_the_dense_matrix_that_it_stands_for(kernel, gram, cv, intercept):
    used = np.flatnonzero(WEIGHT)
    K = gram.build(kernel, Vectors.pack(X[used])).to_dense()
    fitted = cv
    if cv is PAIRS:
        place = np.cumsum(WEIGHT > 0) - 1
        folds = [place[np.intersect1d(fold, used)] for _, fold in PAIRS]
        fitted = [(np.setdiff1d(np.arange(len(used)), fold), fold) for fold in folds]
    ours = KernelRidgeCV(kernel, ALPHAS, gram=gram, cv=cv, fit_intercept=intercept).fit(X, BOTH, WEIGHT)
    dense = KernelRidgeCV("precomputed", ALPHAS, cv=fitted, fit_intercept=intercept).fit(K, BOTH[used], WEIGHT[used])
    scale = np.sqrt(dense.cv_values_).max()
    np.testing.assert_allclose(np.sqrt(ours.cv_values_[used]), np.sqrt(dense.cv_values_), rtol=1e-6, atol=1e-8 * scale)
    assert np.isnan(ours.cv_values_[WEIGHT == 0]).all()
    assert ours.alpha_ == dense.alpha_ and ours.best_score_ == pytest.approx(dense.best_score_, rel=1e-7)
    np.testing.assert_allclose(ours.predict(X[used]), dense.predict(K), rtol=1e-6, atol=1e-7)
    assert ours.gram_ == gram and (ours.dual_coef_[WEIGHT == 0] == 0.0).all()


def test_left_out_samples_by_refits_in_the_coordinates_of_the_factor():
    F = Nystrom(12).build(Gaussian(1.0), Vectors.pack(X)).factor()
    P = np.hstack([F, np.ones((60, 1))])
    penalty = np.diag(np.append(np.ones(F.shape[1]), 0.0))
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS[4:], gram=Nystrom(12), fit_intercept=True).fit(X, Y)
    for place, alpha in enumerate(ALPHAS[4:]):
        for i in (0, 13, 59):
            rest = np.delete(np.arange(60), i)
            v = np.linalg.solve(P[rest].T @ P[rest] + alpha * penalty, P[rest].T @ Y[rest])
            assert model.cv_values_[i, place] == pytest.approx((Y[i] - P[i] @ v) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Polynomial(3)], ids=repr
)  # of as many columns as samples, and of ten
@pytest.mark.parametrize("params", [{"alphas": ALPHAS}, {"fixed": "all"}, {}], ids=["grid", "ridge", "kernel"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_factor_of_full_rank_is_exact(kernel, params, intercept):
    exact = KernelRidgeCV(kernel, gram=Dense(), fit_intercept=intercept, **params).fit(X, Y)
    low = KernelRidgeCV(kernel, gram=IncompleteCholesky(60, tol=0.0), fit_intercept=intercept, **params).fit(X, Y)
    assert low.best_score_ == pytest.approx(exact.best_score_, rel=1e-7)
    assert low.alpha_ == pytest.approx(exact.alpha_, rel=1e-3) or not params  # a scale of the kernel moves against it
    np.testing.assert_allclose(low.predict(T), exact.predict(T), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gram", [Nystrom(25), IncompleteCholesky(25, tol=0.0), SparseGreedy(25, tol=0.0)], ids=repr)
def test_the_kernel_is_moved_on_landmarks(gram):
    model = KernelRidgeCV(Gaussian((1.0, 1.0)), gram=gram, fit_intercept=True).fit(X, Y)
    start = KernelRidgeCV(Gaussian((1.0, 1.0)), gram=gram, fit_intercept=True, fixed="all").fit(X, Y)
    assert model.tuned_.slope < 1e-3 and model.best_score_ > start.best_score_
    lengths = np.asarray(model.kernel_.length_scale)
    assert lengths[1] > lengths[0] and model.score(X, Y) > 0.95
    again = KernelRidgeCV(model.kernel_, [model.alpha_], gram=gram, fit_intercept=True).fit(X, Y)
    assert again.best_score_ == pytest.approx(model.best_score_, rel=1e-9)
    np.testing.assert_allclose(again.predict(T), model.predict(T), rtol=1e-9)


def test_landmarks_are_drawn_once():
    model = KernelRidgeCV(Gaussian(1.0), [0.1], gram=Nystrom(10, random_state=None), cv="gcv").fit(X, Y)
    ratio = (Y - model.predict(X)) ** 2 / model.cv_values_[:, 0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)  # the errors are those of the fitted function


def test_grams_that_cannot_be_decomposed_are_refused_in_words():
    for params in ({}, {"fixed": "all"}, {"alphas": ALPHAS}):
        with pytest.raises(CapabilityError, match=r"Tiles.*stores nothing that can be decomposed.*Use gram=Nystrom"):
            KernelRidgeCV(Gaussian(1.0), gram=Tiles(), **params).fit(X, Y)
    with pytest.raises(CapabilityError, match=r"derivative needs landmarks.*fixed='all'"):
        KernelRidgeCV(Gaussian(1.0), gram=RandomFeatures(20)).fit(X, Y)
    with pytest.raises(CapabilityError, match=r"repaired matrix has no derivative.*fixed='all'"):
        KernelRidgeCV(Gaussian(1.0), gram=Dense(indefinite="clip")).fit(X, Y)
    with pytest.raises(ParameterError, match="gram"):
        KernelRidgeCV(Gaussian(1.0), gram="nystrom").fit(X, Y)


def test_repairs_and_the_rule_of_choice():
    K = Gaussian(1.0)(X)
    K[0, 1] = K[1, 0] = -1.0
    mended = KernelRidgeCV("precomputed", ALPHAS, gram=Dense(indefinite="clip")).fit(K, Y)
    values, V = np.linalg.eigh(K)
    clipped = KernelRidgeCV("precomputed", ALPHAS).fit((V * np.maximum(values, 0.0)) @ V.T, Y)
    assert mended.repair_.policy == "clip" and mended.repair_.n_negative == np.sum(values < -1e-12)
    np.testing.assert_allclose(mended.cv_values_, clipped.cv_values_, rtol=1e-6)
    np.testing.assert_allclose(mended.predict(K), clipped.predict((V * np.maximum(values, 0.0)) @ V.T), atol=1e-7)
    model = KernelRidgeCV(Linear(), ALPHAS, gram=Auto()).fit(X, Y)
    assert isinstance(model.gram_, Features) and model.gram_choice_["gram"] == Features()
    assert isinstance(KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, Y).gram_, Dense)
    np.testing.assert_allclose(model.coef_, KernelRidgeCV(Linear(), ALPHAS).fit(X, Y).coef_, rtol=1e-8)


@pytest.mark.parametrize(
    "params",
    [{"alphas": ALPHAS}, {"alphas": ALPHAS, "cv": 3}, {"fixed": "all"}, {"max_iter": 3}, {"cv": 3}],
    ids=["grid", "grid of folds", "ridge", "kernel", "kernel by folds"],
)
def test_no_matrix_of_all_samples_is_formed(params):
    n = 3000
    many = np.random.default_rng(1).normal(size=(n, 2))
    y = np.sin(2.0 * many[:, 0])
    plan = KernelRidgeCV(Gaussian(1.0), gram=Nystrom(40), **params).memory_plan(n, 2)
    assert plan.total < 0.4 * 8 * n * n < KernelRidgeCV(Gaussian(1.0), **params).memory_plan(n, 2).total
    model = KernelRidgeCV(Gaussian(1.0), gram=Nystrom(40), memory=4 * n * n, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three steps are not many
        model.fit(many[:200], y[:200])  # what is compiled is compiled before memory is counted
        tracemalloc.start()
        try:
            model.fit(many, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.3 * 8 * n * n
    assert model.score(many, y) > 0.9


def test_a_matrix_that_does_not_fit_names_the_ways_out():
    for gram in (None, Dense()):
        with pytest.raises(MemoryBudgetError, match=r"gram=Nystrom\(500\)"):
            KernelRidgeCV(Gaussian(1.0), gram=gram, memory="2GB").fit(np.zeros((20_000, 2)), np.zeros(20_000))


def test_conditionally_definite_kernels_with_an_intercept():
    rng = np.random.default_rng(4)
    data, alphas = rng.normal(size=(25, 2)), (0.01, 1.0)
    y = np.sin(data[:, 0]) + 3.0
    found = KernelRidgeCV(NegativeDistance(), alphas=alphas, fit_intercept=True).fit(data, y)
    for place, alpha in enumerate(alphas):
        one = KernelRidge(NegativeDistance(), alpha=alpha, fit_intercept=True)
        errors = cross_val_predict(one, data, y, cv=LeaveOneOut()) - y
        np.testing.assert_allclose(found.cv_values_[:, place], errors**2, rtol=1e-7, atol=1e-12)
    # the ridge that is found follows the unit of the data
    one = KernelRidgeCV(NegativeDistance(), fixed="all", fit_intercept=True).fit(data, y)
    far = KernelRidgeCV(NegativeDistance(), fixed="all", fit_intercept=True).fit(1e6 * data, y)
    assert far.alpha_ == pytest.approx(1e6 * one.alpha_, rel=1e-3)
