"""Lasso on the coefficients of a kernel expansion."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as Reference

from mercer.errors import ParameterError
from mercer.estimators.sparse.kernel_lasso import KernelLasso, kernel_path
from mercer.estimators.sparse.lasso import SOLVERS
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian, NegativeDistance, Sigmoid, Spectrum

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, size=(60, 1)), axis=0)
Y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
T = rng.uniform(0, 6, size=(10, 1))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Sigmoid(scale=0.1), NegativeDistance()], ids=repr)
def test_the_three_solvers_agree_for_any_kernel(kernel):
    models = [KernelLasso(kernel, 0.3, solver=solver).fit(X, Y) for solver in SOLVERS]
    for other in models[1:]:
        assert np.abs(other.predict(T) - models[0].predict(T)).max() < 1e-8
        if not isinstance(kernel, NegativeDistance):  # whose first and last columns differ by a constant and a sign
            assert np.abs(other.dual_coef_ - models[0].dual_coef_).max() < 1e-8


def test_it_is_a_lasso_on_the_columns_of_the_gram_matrix():
    kernel = Gaussian(0.7)
    ours = KernelLasso(kernel, 0.6).fit(X, Y)
    theirs = Reference(alpha=0.01, tol=1e-14, max_iter=500_000).fit(kernel(X), Y)
    assert np.allclose(ours.predict(T), theirs.predict(kernel(T, X)), atol=1e-6)
    assert np.isclose(np.abs(ours.dual_coef_).sum(), np.abs(theirs.coef_).sum(), atol=1e-6)


def test_few_samples_are_kept():
    model = KernelLasso(Gaussian(1.0), 0.1).fit(X, Y)
    assert len(model.support_) < 20 and len(model.expansion_.samples) == len(model.support_)
    assert np.array_equal(np.flatnonzero(model.dual_coef_), model.support_) and model.score(X, Y) > 0.95


def test_tiles_are_the_same():
    dense, tiles = KernelLasso(Gaussian(0.5), 0.3).fit(X, Y), KernelLasso(Gaussian(0.5), 0.3, gram=Tiles()).fit(X, Y)
    assert np.allclose(dense.dual_coef_, tiles.dual_coef_, atol=1e-8)


def test_a_gram_of_low_rank_is_a_lasso_on_its_columns():
    model = KernelLasso(Gaussian(0.7), 0.2, gram=Nystrom(8, random_state=0)).fit(X, Y)
    columns = model.gram_.build(Gaussian(0.7), Gaussian(0.7).pack(X)).to_dense()
    other = Reference(0.2 / 60, tol=1e-12, max_iter=1_000_000).fit(columns, Y)
    assert np.abs(other.predict(columns) - model.predict(X)).max() < 1e-6
    assert len(model.support_) <= 9


def test_weights_are_repetition():
    w = rng.integers(0, 3, 60)
    again = np.repeat(np.arange(60), w)
    one = KernelLasso(Gaussian(0.5), 0.3).fit(X, Y, sample_weight=w)
    many = KernelLasso(Gaussian(0.5), 0.3).fit(X[again], Y[again])
    assert np.allclose(one.predict(T), many.predict(T), atol=1e-8)
    summed = np.bincount(again, weights=many.dual_coef_, minlength=60)  # the coefficients of copies add up
    assert np.allclose(one.dual_coef_, summed, atol=1e-7) and not one.dual_coef_[w == 0].any()


def test_strings_and_similarities():
    words = ["abab", "abba", "bbbb", "aaaa", "abbb", "bbab"] * 3
    counts = np.array([word.count("a") for word in words], dtype=float)
    model = KernelLasso(Spectrum(1), 0.01).fit(words, counts)
    assert np.allclose(model.predict(words), counts, atol=0.2)
    K = Gaussian(0.5)(X)
    a, b = KernelLasso("precomputed", 0.3).fit(K, Y), KernelLasso(Gaussian(0.5), 0.3).fit(X, Y)
    assert np.allclose(a.predict(K[:5]), b.predict(X[:5]), atol=1e-8)


def test_several_outputs():
    both = np.column_stack([Y, Y**2])
    model = KernelLasso(Gaussian(0.5), 0.3).fit(X, both)
    assert model.dual_coef_.shape == (60, 2) and model.predict(T).shape == (10, 2)
    assert np.allclose(model.predict(T)[:, 1], KernelLasso(Gaussian(0.5), 0.3).fit(X, Y**2).predict(T), atol=1e-8)


def test_the_best_so_far():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = KernelLasso(Gaussian(0.5), 1e-6, solver="lars", max_iter=3).fit(X, Y)
    assert 0 < len(model.support_) <= 4


def test_the_kernel_path_is_the_single_fits():
    values = np.linspace(0.4, 1.6, 7)
    path = kernel_path(X, Y, Gaussian(1.0), "length_scale", values, alpha=0.3, locate_events=False)
    assert path.events == () and path.violations.max() < 1e-8
    for k, value in enumerate(values):
        alone = KernelLasso(Gaussian(value), 0.3).fit(X, Y)
        assert np.abs(path.coefs[k] - alone.dual_coef_).max() < 1e-7
        assert np.isclose(path.intercepts[k], alone.intercept_) and path.kernels[k] == Gaussian(value)
    assert path.objectives[path.best] == path.objectives.min()


def test_events_are_where_the_active_set_changes():
    values = [0.5, 1.0]
    path = kernel_path(X[::3], Y[::3], Gaussian(1.0), "length_scale", values, alpha=0.3)
    assert path.events and all(0.5 <= value <= 1.0 for value, _, _ in path.events)
    assert [value for value, _, _ in path.events] == sorted(value for value, _, _ in path.events)
    active = set(np.flatnonzero(path.coefs[0]))
    for value, what, j in path.events:
        below = KernelLasso(Gaussian(value * (1 - 1e-5)), 0.3).fit(X[::3], Y[::3])
        above = KernelLasso(Gaussian(value * (1 + 1e-5)), 0.3).fit(X[::3], Y[::3])
        assert (below.dual_coef_[j] != 0.0) != (above.dual_coef_[j] != 0.0)
        active = active - {j} if what == "leave" else active | {j}
    assert active == set(np.flatnonzero(path.coefs[1]))


def test_the_path_with_weights_and_bad_names():
    w = np.ones(60)
    w[::2] = 0.0
    path = kernel_path(X, Y, Gaussian(1.0), "length_scale", [0.5, 0.6], alpha=0.3, sample_weight=w, locate_events=False)
    half = KernelLasso(Gaussian(0.6), 0.3).fit(X[1::2], Y[1::2])
    assert path.coefs.shape == (2, 60) and np.allclose(path.coefs[1][1::2], half.dual_coef_, atol=1e-7)
    with pytest.raises(ParameterError, match="length_scale"):
        kernel_path(X, Y, Gaussian(1.0), "width", [0.5])
    with pytest.raises(ParameterError):
        kernel_path(X, Y, Gaussian(1.0), "length_scale", [-0.5])
