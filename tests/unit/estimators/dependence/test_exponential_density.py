"""Exponential densities: the optimum over all f on finite sets, integrals, samples, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import kstest

from mercer import ExponentialDensity
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.dependence.exponential_density import quadrature
from mercer.kernels import Gaussian, Linear, Spectrum

RNG = np.random.default_rng(0)


def test_a_finite_set_against_a_search_over_all_functions():
    words, drawn = ["aa", "ab", "ba", "bb", "abab"], ["ab", "ab", "aa", "abab"]
    model = ExponentialDensity(Spectrum(2), C=2.0, support=words, tol=1e-12).fit(drawn)
    K, counts = np.asarray(Spectrum(2)(words), dtype=float), np.array([drawn.count(word) for word in words])

    def objective(a):  # f = sum_q a_q k(z_q, .), which the samples lie among
        f = K @ a
        return 0.5 * a @ f + 2.0 * (len(drawn) * logsumexp(f) - counts @ f)

    found = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    assert model.objective_ == pytest.approx(found.fun, abs=1e-9)
    p = np.exp(model.score_samples(words))
    assert p.sum() == pytest.approx(1.0, abs=1e-12) and model.normaliser_error_ == 0.0
    np.testing.assert_allclose(p, np.exp(K @ found.x - logsumexp(K @ found.x)), atol=1e-6)
    # the derivative at the optimum: |f|^2 = 2 (sum f(x_i) - n E f)
    f = np.asarray(model.expansion_(model.kernel_.pack(words)))
    a = 2.0 * (counts - len(drawn) * p)
    np.testing.assert_allclose(K @ a, f, atol=1e-5)
    assert set(model.sample(50, random_state=0)) <= set(words)


def test_it_is_a_density_and_comes_close_to_that_of_the_samples():
    X = RNG.normal(size=(300, 1))
    model = ExponentialDensity(Gaussian(1.5), C=5.0, box=[[-6.0, 6.0]], n_nodes=80).fit(X)
    grid = np.linspace(-6.0, 6.0, 4001)
    p = np.exp(model.score_samples(grid[:, None]))
    assert p.sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-3)
    assert model.normaliser_error_ < 1e-8  # a smooth function and 80 nodes of Gauss
    assert np.abs(p - np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)).max() < 0.1
    assert model.score_samples([[7.0]])[0] == -np.inf
    drawn = model.sample(400, random_state=0)[:, 0]
    cumulated = np.cumsum(p) * (grid[1] - grid[0])
    assert kstest(drawn, lambda x: np.interp(x, grid, cumulated)).pvalue > 1e-6


def test_weights_are_repetitions():
    X, w = RNG.normal(size=(10, 2)), RNG.integers(0, 3, 10)
    box = np.array([[-5.0, 5.0], [-5.0, 5.0]])
    a = ExponentialDensity(Gaussian(1.0), box=box, n_nodes=49).fit(X, sample_weight=w)
    b = ExponentialDensity(Gaussian(1.0), box=box, n_nodes=49).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), atol=1e-6)


def test_score_matching_by_finite_differences():
    X, w = RNG.normal(size=(40, 2)) * [1.0, 2.0], RNG.uniform(0.5, 2.0, size=40)
    box = [[-6.0, 6.0], [-9.0, 9.0]]
    model = ExponentialDensity(Gaussian([2.0, 4.0]), C=0.5, method="score_matching", box=box, n_nodes=36)
    model.fit(X, sample_weight=w)
    nodes, step = model.nodes_.X, 1e-3
    K, values = model.kernel_(nodes, nodes), lambda T: model.kernel_(T, nodes)  # at coefficients one

    def objective(a):
        total = 0.5 * a @ K @ a
        for m in range(2):
            move = step * np.eye(2)[m]
            up, down, here = values(X + move) @ a, values(X - move) @ a, values(X) @ a
            total += 0.5 * w @ ((up + down - 2.0 * here) / step**2 + 0.5 * ((up - down) / (2.0 * step)) ** 2)
        return total

    a = model.expansion_.coef
    value = objective(a)
    assert model.objective_ == pytest.approx(value, rel=1e-4)  # differences of second order, of step 1e-3
    for change in RNG.normal(size=(10, len(a))):
        assert objective(a + 1e-2 * change) >= value - 1e-5 * abs(value)


def test_score_matching_comes_close_to_the_density():
    X = RNG.normal(size=(500, 1))
    model = ExponentialDensity(Gaussian(2.0), C=1.0, method="score_matching", box=[[-6.0, 6.0]], n_nodes=40).fit(X)
    grid = np.linspace(-3.0, 3.0, 200)
    assert np.abs(np.exp(model.score_samples(grid[:, None])) - np.exp(-0.5 * grid**2) / 2.5066).max() < 0.1
    twice = ExponentialDensity(Gaussian(2.0), method="score_matching", box=[[-6.0, 6.0]], n_nodes=40)
    a = twice.fit(X[:20], sample_weight=[2.0] * 20).score_samples(grid[:, None])
    b = twice.fit(np.repeat(X[:20], 2, axis=0)).score_samples(grid[:, None])
    np.testing.assert_allclose(a, b, atol=1e-6)
    for options in ({"kernel": Linear()}, {"kernel": Gaussian(1.0), "support": X[:5]}):
        with pytest.raises(CapabilityError, match="likelihood"):
            ExponentialDensity(method="score_matching", **options).fit(X[:5])


def test_quadratures():
    box = np.array([[0.0, 2.0], [-1.0, 1.0]])
    points, weights = quadrature(box, 25)
    assert weights.sum() == pytest.approx(4.0)
    assert weights @ (points[:, 0] ** 3 * points[:, 1] ** 2) == pytest.approx(4.0 * 2.0 / 3.0)
    points, weights = quadrature(np.tile([0.0, 1.0], (5, 1)), 600)
    assert points.shape == (512, 5) and weights @ points[:, 0] == pytest.approx(0.5, abs=0.01)


def test_what_is_refused():
    X = RNG.normal(size=(5, 2))
    with pytest.raises(CapabilityError, match="support"):
        ExponentialDensity(Spectrum(1)).fit(["a", "b"])
    with pytest.raises(ParameterError, match="box of shape"):
        ExponentialDensity(box=[[0.0, 1.0]]).fit(X)
    with pytest.raises(DomainError, match="outside"):
        ExponentialDensity(box=[[0.0, 0.1], [0.0, 0.1]]).fit(X)


@pytest.mark.parametrize("unit", [1e300, 1e-200])
def test_a_box_beyond_floating_point_is_refused(unit):
    X = unit * np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(DomainError, match="volume"):
        ExponentialDensity(Gaussian(1.0), n_nodes=50).fit(X)


@pytest.mark.parametrize("unit", [1e100, np.array([1e-8, 1.0, 1e8])], ids=["large", "of different sizes"])
def test_a_kernel_too_large_for_a_density_is_refused(unit):
    X = unit * np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(DomainError, match="Scale the columns"):
        ExponentialDensity(Linear()).fit(X)
