"""Sparse Gaussian processes: equal to the exact one in the limit, and honest about the rest."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import SparseGaussianProcessRegressor
from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, MemoryBudgetError, ParameterError
from mercer.estimators.processes.sparse_evidence import METHODS
from mercer.kernels import Gaussian, Kernel, Linear, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(60, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)
T = rng.uniform(-3, 3, size=(9, 2))
KERNEL = 1.5 * Matern(1.5, length_scale=1.2)


class Plain(Kernel):
    """A kernel with a parameter and no derivative in it."""

    domain = Vectors
    constraints = {"scale": Positive()}

    def __init__(self, scale):
        self.scale = scale

    def block(self, A, B):
        return np.exp(-np.abs(A.X[:, None] - B.X).sum(axis=2) / self.scale)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def exact(kernel, noise, y, new, weight=None):
    C = kernel(X) + np.diag(noise / (np.ones(60) if weight is None else weight))
    K = kernel(new, X)
    cov = kernel(new) - K @ np.linalg.solve(C, K.T)
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + y @ np.linalg.solve(C, y))
    return K @ np.linalg.solve(C, y), cov, value


def held(method="variational", **more):
    return SparseGaussianProcessRegressor(KERNEL, 0.05, method=method, fixed="all", **more)


@pytest.mark.parametrize("method", METHODS)
def test_inducing_points_at_the_data_are_the_exact_process(method):
    model = held(method, inducing=X).fit(X, Y)
    mean, cov, value = exact(KERNEL, 0.05, Y, T)
    found, spread = model.predict(T, return_cov=True)
    std = model.predict(T, return_std=True)[1]
    assert np.allclose(found, mean, atol=1e-8)
    assert np.isclose(getattr(model, "bound_" if method == "variational" else "log_marginal_likelihood_"), value)
    assert np.allclose(np.sqrt(np.diag(spread)), std, rtol=1e-9, atol=1e-12) and np.array_equal(spread, spread.T)
    if method != "sor":  # which knows no variance beside that of the inducing points
        assert np.allclose(spread, cov, atol=1e-8)


@pytest.mark.parametrize("method", METHODS[:-1])
def test_variances_are_not_negative_anywhere(method):
    model = held(method, inducing=10).fit(X, Y)
    new = np.vstack([T, X, 100 + T])
    std = model.predict(new, return_std=True)[1]
    assert np.all(std >= 0) and np.isfinite(std).all()
    assert np.allclose(std[-9:], 0.0 if method == "sor" else np.sqrt(1.5))  # far away: nothing, or the prior


def test_fitc_predicts_as_the_naive_formula():
    model = held("fitc", inducing=X[:12]).fit(X, Y)
    cross, new = KERNEL(X, X[:12]), KERNEL(T, X[:12])
    inner = np.linalg.inv(KERNEL(X[:12]))
    Q = cross @ inner @ cross.T
    C = Q + np.diag(1.5 - np.diag(Q)) + 0.05 * np.eye(60)
    q = new @ inner @ cross.T
    mean, std = model.predict(T, return_std=True)
    assert np.allclose(mean, q @ np.linalg.solve(C, Y), atol=1e-9)
    assert np.allclose(std**2, 1.5 - np.sum(q * np.linalg.solve(C, q.T).T, axis=1), atol=1e-9)


def test_the_bound_is_below_the_evidence_and_the_search_closes_the_gap():
    start = held(inducing=8).fit(X, Y)
    value = exact(KERNEL, 0.05, Y, T)[2]
    assert start.bound_ < value
    moved = SparseGaussianProcessRegressor(KERNEL, 0.05, inducing=8, fixed=("noise",), max_iter=30, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        moved.fit(X, Y)
    assert moved.bound_ > start.bound_ + 1.0 and moved.noise_ == 0.05
    assert np.all(np.diff(moved.tuned_.values) <= 0) and not np.allclose(moved.inducing_.X, start.inducing_.X)
    assert np.isclose(-moved.tuned_.value, moved.bound_)
    names = [name for name in moved.tuned_.names if name.startswith("inducing")]
    assert np.allclose(moved.tuned_.path[-1, -len(names) :], moved.inducing_.X.ravel())


def test_inducing_points_stay_if_told_or_if_they_are_all_samples():
    still = SparseGaussianProcessRegressor(KERNEL, 0.05, inducing=8, optimize_inducing=False, max_iter=3, tol=1.0)
    rows = {tuple(row) for row in X}
    assert all(tuple(row) in rows for row in still.fit(X, Y).inducing_.X)
    every = SparseGaussianProcessRegressor(KERNEL, 0.05, inducing=60, max_iter=3, tol=1.0).fit(X, Y)
    assert {tuple(row) for row in every.inducing_.X} == rows and every.left_share_ < 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_a_kernel_that_is_zero_leaves_nothing_to_move(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = SparseGaussianProcessRegressor(Linear(), method=method).fit(0.0 * X, Y)
    assert len(model.inducing_) == 0 and np.allclose(model.predict(X), Y.mean())


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_copies(method):
    w = rng.integers(0, 3, 60).astype(float)
    copies = np.repeat(np.arange(60), w.astype(int))
    blocks = np.arange(60) % 3
    mine, copied = ({"blocks": b} if method == "pitc" else {} for b in (blocks, blocks[copies]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)
        ours = held(method, inducing=9, **mine).fit(X, Y, sample_weight=w)
        theirs = held(method, inducing=9, **copied).fit(X[copies], Y[copies])
        for one, other in zip(ours.predict(T, return_std=True), theirs.predict(T, return_std=True), strict=True):
            assert np.allclose(one, other, atol=1e-8)
    name = "bound_" if method == "variational" else "log_marginal_likelihood_"
    assert np.isclose(getattr(ours, name), getattr(theirs, name))


def test_nystrom_tells_that_its_variances_are_negative():
    with pytest.warns(IndefiniteWarning, match="prior variance"):
        model = SparseGaussianProcessRegressor(
            20.0 * Gaussian(0.4), 0.001, method="nystrom", inducing=5, fixed="all"
        ).fit(X, Y)
    with pytest.warns(IndefiniteWarning, match="negative"):
        std = model.predict(X, return_std=True)[1]
    assert np.all(std >= 0) and (std == 0).any()
    with pytest.warns(IndefiniteWarning, match="negative"):
        model.predict(X, return_cov=True)


def test_several_outputs_share_everything():
    both = np.stack([Y, -2 * Y], axis=1)
    model = held(inducing=20).fit(X, both)
    mean, std = model.predict(T, return_std=True)
    assert mean.shape == std.shape == (9, 2) and np.allclose(mean[:, 1], -2 * mean[:, 0])
    assert np.allclose(mean[:, 0], held(inducing=20).fit(X, Y).predict(T))
    assert model.predict(T, return_cov=True)[1].shape == (9, 9, 2)


def test_blocks_are_made_of_near_samples():
    one = held("pitc", inducing=5, blocks=1).fit(X, Y)  # one block is the exact evidence
    assert np.isclose(one.log_marginal_likelihood_, exact(KERNEL, 0.05, Y, T)[2])
    assert np.isfinite(held("pitc", inducing=5).fit(X, Y).log_marginal_likelihood_)


def test_strings_and_precomputed_and_sparse():
    words = ["abab", "aabb", "bbba", "abba", "aaaa", "bbbb", "babb", "baba"]
    lengths = np.array([word.count("a") for word in words], dtype=float)
    model = SparseGaussianProcessRegressor(Spectrum(2), 0.1, inducing=4, max_iter=20).fit(words, lengths)
    assert model.predict(["aaab"])[0] > model.predict(["bbba"])[0] and len(model.inducing_) == 4
    K = KERNEL(X)
    given = SparseGaussianProcessRegressor("precomputed", 0.05, inducing=20, fixed="all").fit(K, Y)
    assert np.allclose(given.predict(KERNEL(T, X)), held(inducing=given_points(K)).fit(X, Y).predict(T), atol=1e-6)
    linear = SparseGaussianProcessRegressor(Linear(), 0.05, inducing=2, fixed="all")
    sparse = linear.fit(sp.csr_array(X), Y).predict(sp.csr_array(T))
    assert np.allclose(sparse, linear.fit(X, Y).predict(T))


def given_points(K):
    """The samples that pivoted Cholesky takes of a matrix whose rows are told apart by their order."""
    rest, chosen, F = K.diagonal().copy(), [], np.zeros((len(K), 20))
    for step in range(20):
        p = int(np.argmax(rest >= rest.max() * (1 - 1e-9)))
        F[:, step] = (K[:, p] - F[:, :step] @ F[p, :step]) / np.sqrt(rest[p])
        rest = rest - F[:, step] ** 2
        rest[p] = 0.0
        chosen.append(p)
    return X[chosen]


@pytest.mark.parametrize(
    "params",
    [{"noise": 0.0}, {"method": "magic"}, {"inducing": 0}, {"inducing": True}, {"restarts": -1}, {"max_iter": 0},
     {"blocks": 0, "method": "pitc"}, {"blocks": [1, 2], "method": "pitc"}, {"fixed": "noise"}],
    ids=str,
)  # fmt: skip
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        SparseGaussianProcessRegressor(KERNEL, **{"noise": 0.1, **params}).fit(X, Y)


def test_other_refusals():
    with pytest.raises(DomainError, match="columns"):
        held(inducing=np.ones((3, 5))).fit(X, Y)
    with pytest.raises(CapabilityError, match="fixed="):
        SparseGaussianProcessRegressor(Plain(2.0)).fit(X, Y)
    assert SparseGaussianProcessRegressor(Plain(2.0), inducing=5, fixed=("scale",), max_iter=5).fit(X, Y).noise_ > 0
    with pytest.raises(MemoryBudgetError, match="inducing"):
        held(memory="10kB").fit(X, Y)
    with pytest.raises(ParameterError, match="one of them"):
        held(inducing=5).fit(X, Y).predict(T, return_std=True, return_cov=True)


def test_out_of_time_the_best_so_far_is_kept():
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = SparseGaussianProcessRegressor(KERNEL, inducing=20, max_time=1e-3).fit(X, Y)
    assert np.isfinite(model.predict(T)).all()


def test_restarts_are_reproducible():
    models = [
        SparseGaussianProcessRegressor(KERNEL, inducing=6, restarts=1, random_state=3, max_iter=4, tol=1e-1)
        for _ in range(2)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, second = (model.fit(X, Y).predict(T) for model in models)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("method", ["variational", "nystrom"])
def test_saved_and_loaded(tmp_path, method):
    model = held(method, inducing=X).fit(X, Y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for one, other in zip(model.predict(T, return_std=True), again.predict(T, return_std=True), strict=True):
        assert np.array_equal(one, other)
