"""Gaussian process classification in the coordinates of a factor of K."""

import numpy as np
import pytest
from scipy import optimize, special

from mercer import free_parameters
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError
from mercer.estimators.processes import factor_posterior
from mercer.estimators.processes.expectation_propagation import expectation_propagation
from mercer.estimators.processes.factor_posterior import FactorWay, Propagated, Softmax, TwoClasses
from mercer.estimators.processes.laplace import laplace
from mercer.estimators.processes.softmax_laplace import softmax_laplace
from mercer.gram import Features, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy
from mercer.kernels import Gaussian, Polynomial

RNG = np.random.default_rng(3)
N = 70
X = RNG.normal(size=(N, 2))
S = Vectors.pack(X)
Y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=N) > 0.0, 1.0, -1.0)
CODES = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.1)
WEIGHT = RNG.integers(1, 4, size=N).astype(float)
KERNEL = 3.0 * Gaussian(0.8)
SPECS = [Nystrom(15), IncompleteCholesky(15, tol=0.0), SparseGreedy(15, tol=0.0), RandomFeatures(30)]
NOTHING = Resources()


def built(spec, kernel=KERNEL):
    return spec.build(kernel, S)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_mode_is_that_of_a_general_minimiser(spec, link):
    gram = built(spec)
    F = gram.factor()
    log = special.log_expit if link == "logistic" else special.log_ndtr

    def loss(v):
        return 0.5 * v @ v - WEIGHT @ log(Y * (F @ v))

    expected = optimize.minimize(loss, np.zeros(F.shape[1]), method="BFGS", options={"gtol": 1e-7}).x
    found = TwoClasses(Y, WEIGHT, link).found(gram)
    assert np.allclose(found.weights[:, 0], expected, atol=1e-5) and found.residual <= 1e-8
    assert np.allclose(found.state[:, 0], F @ expected, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_two_classes_are_those_of_the_approximated_matrix(spec, link):
    gram = built(spec)
    F = gram.factor()
    found = TwoClasses(Y, WEIGHT, link).found(gram)
    dense = laplace(F @ F.T, Y, WEIGHT, link)
    assert np.isclose(found.evidence, dense.evidence, rtol=1e-9)
    assert np.allclose(found.state[:, 0], dense.latent, atol=1e-7)
    W = dense.root**2
    assert np.allclose(
        found.factor.solve(np.eye(F.shape[1])), np.linalg.inv(np.eye(F.shape[1]) + F.T * W @ F), atol=1e-7
    )


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_several_classes_are_those_of_the_approximated_matrix(spec):
    gram = built(spec)
    F = gram.factor()
    found = Softmax(CODES, WEIGHT, 3).found(gram)
    dense = softmax_laplace(F @ F.T + 1e-11 * np.eye(N), CODES, WEIGHT, 3)
    assert np.isclose(found.evidence, dense.evidence, rtol=1e-7)
    assert np.allclose(found.state, dense.latent, atol=1e-5)
    assert np.allclose(found.weights.sum(axis=1), 0.0, atol=1e-7)  # no class is before another


def test_the_newton_matrix_of_several_classes_is_the_second_derivative(monkeypatch):
    monkeypatch.setattr(factor_posterior, "_ROWS", 16)  # several blocks of rows
    gram, data = built(Nystrom(4)), Softmax(CODES, WEIGHT, 3)
    F, V = gram.factor(), RNG.normal(size=(4, 3))

    def slope(flat):
        return (F.T @ data.slope(F @ flat.reshape(3, 4).T)).T.ravel()

    flat = V.T.ravel()
    steps = 1e-6 * np.eye(12)
    numeric = np.array([slope(flat + step) - slope(flat - step) for step in steps]) / 2e-6
    assert np.allclose(data.curvature(gram, F @ V), -numeric, atol=1e-5)
    f = F @ V
    assert np.allclose(F.T @ data.bent(f), (-numeric @ flat).reshape(3, 4).T, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_sites_are_those_of_the_approximated_matrix(spec):
    gram = built(spec)
    F = gram.factor()
    found = Propagated(Y, WEIGHT).found(gram)
    dense = expectation_propagation(F @ F.T, Y, WEIGHT)
    assert np.isclose(found.evidence, dense.evidence, rtol=1e-8)
    assert np.allclose(F @ found.weights[:, 0], dense.mean, atol=1e-6)
    assert np.allclose(found.state[0], dense.precision, atol=1e-6)


def test_sites_renewed_one_by_one_settle_at_the_same_place(monkeypatch):
    gram, data = built(Nystrom(20)), Propagated(Y, WEIGHT)
    together = data.found(gram)
    monkeypatch.setattr(factor_posterior, "_GROWING", 0.0)  # no progress is enough
    monkeypatch.setattr(factor_posterior, "_ROWS", 32)
    monkeypatch.setattr(factor_posterior, "_WORK", 5000.0)
    single = data.found(gram)
    assert np.isclose(single.evidence, together.evidence, rtol=1e-9)
    assert np.allclose(single.weights, together.weights, atol=1e-6)
    assert np.allclose(data.found(gram, single.state).weights, single.weights, atol=1e-6)


def test_a_start_from_elsewhere_ends_at_the_same_mode():
    for data in (TwoClasses(Y, WEIGHT, "logistic"), Softmax(CODES, WEIGHT, 3)):
        near = data.found(built(Nystrom(20), 2.5 * Gaussian(0.9)))
        gram = built(Nystrom(20))
        for start in (near.state, 1e3 * near.state):
            assert np.allclose(data.found(gram, start).weights, data.found(gram).weights, atol=1e-6)


def test_the_derivatives_are_those_of_the_exact_evidence():
    gram = built(IncompleteCholesky(N, tol=0.0))
    way = FactorWay(gram, IncompleteCholesky(N, tol=0.0), [TwoClasses(Y, WEIGHT, "logistic")], (), NOTHING)
    way.pin()
    value, slopes = way.evidence(KERNEL)

    def evidence(theta):
        return laplace(free_parameters.constrained(KERNEL, theta)(X), Y, WEIGHT).evidence

    expected = optimize.approx_fprime(free_parameters.unconstrain(KERNEL), evidence, 1e-6)
    assert np.isclose(value, evidence(free_parameters.unconstrain(KERNEL)))
    assert np.allclose(free_parameters.chain(KERNEL, slopes), expected, atol=1e-4)
    assert isinstance(way.spec, Nystrom) and set(way.spec.landmarks) == set(gram.index.tolist())
    held = FactorWay(gram, Nystrom(N), way.parts, ("scale",), NOTHING).evidence(KERNEL)[1]
    assert held[0] == 0.0 and np.isclose(held[1], slopes[1], rtol=1e-5)


def test_parameters_of_any_sign_have_derivatives_too():
    kernel = Polynomial(2, 0.5)
    way = FactorWay(built(Features(), kernel), Features(), [Propagated(Y, WEIGHT)], (), NOTHING)
    value, slopes = way.evidence(kernel)
    raw = free_parameters.free_values(kernel)
    for place in range(len(raw)):
        more = raw.copy()
        more[place] += 1e-5
        there = expectation_propagation(free_parameters.with_free(kernel, more)(X), Y, WEIGHT).evidence
        assert np.isclose(slopes[place], (there - value) / 1e-5, rtol=1e-2, atol=1e-2)


def test_draws_stay_the_same_during_a_search():
    spec = RandomFeatures(20, random_state=None, precision="mixed")
    way = FactorWay(built(spec), spec, [TwoClasses(Y, WEIGHT, "logistic")], (), NOTHING)
    way.pin()
    value, _ = way.evidence(KERNEL)
    assert way.spec.random_state is not None and way.spec.precision == "double"
    assert np.isclose(way.evidence(KERNEL)[0], value, rtol=1e-6)  # found from another start


def test_what_is_too_large_is_refused(monkeypatch):
    gram = built(Nystrom(15))
    with pytest.raises(MemoryBudgetError, match="posterior covariances"):
        FactorWay(gram, Nystrom(15), [Softmax(CODES, WEIGHT, 3)], (), Resources(1000))
    monkeypatch.setattr(factor_posterior, "_LARGEST", 40)
    with pytest.raises(CapabilityError, match=r"order 45; up to 40 are accepted. Use multi_class='ovr', or a rank"):
        FactorWay(gram, Nystrom(15), [Softmax(CODES, WEIGHT, 3)], (), NOTHING)
    way = FactorWay(gram, Nystrom(15), [TwoClasses(Y, WEIGHT, "logistic")], (), NOTHING)
    gram._held = gram.factor() * np.inf
    with np.errstate(invalid="ignore"), pytest.raises(DomainError, match="too large"):
        way.condition(KERNEL)
