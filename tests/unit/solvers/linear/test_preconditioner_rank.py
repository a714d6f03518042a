import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear
from mercer.problems import LinearSystem, Status
from mercer.solvers import ConjugateGradient
from mercer.solvers.linear import preconditioner_rank as module
from mercer.solvers.linear.preconditioner_rank import expected_iterations, paying_factor
from tests.unit.solvers.matrices import Products, gaussian, reference

N = 400
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
SMOOTH, ROUGH = Gaussian(0.6), Gaussian(1e-3)
SHIFT = np.exp(rng.uniform(-4.0, -2.0, size=N))


def built(spec, kernel=SMOOTH, **resources):
    return spec.build(kernel, Vectors.pack(X), Resources(**resources))


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(module, "_SMALL", 0.0)


@pytest.mark.parametrize("border", [None, np.ones((N, 1))], ids=["free", "bordered"])
@pytest.mark.parametrize("spec", [Dense(), Tiles(), Tiles(precision="mixed")], ids=repr)
def test_the_chosen_factor_solves_the_same_system_in_fewer_iterations(any_size, spec, border):
    y = rng.normal(size=(N, 2))
    tol = 1e-9 if spec != Tiles(precision="mixed") else 1e-3  # entries in float32 are off by 1e-6, products by 1e-4
    problem = LinearSystem(built(spec), SHIFT, y, border)
    helped = ConjugateGradient(tol=tol).solve(problem)
    plain = ConjugateGradient(tol=tol, preconditioner=None).solve(problem)
    assert helped.status is plain.status is Status.CONVERGED
    assert helped.details["rank of the preconditioner"] > 0 == plain.details["rank of the preconditioner"]
    assert len(helped.trace) < 0.5 * len(plain.trace)
    coef, multipliers = reference(gaussian(X, 0.6), SHIFT, y, border)
    # an error of the coefficients is at most the residual over the least shift, exp(-4)
    size = np.exp(4.0) * np.linalg.norm(y) * tol
    assert np.linalg.norm(helped.coef - coef) <= 2.0 * size  # one for what float32 adds
    if border is not None:
        np.testing.assert_allclose(helped.multipliers, multipliers, atol=size)


def test_blocks_get_the_same_factor(any_size):
    y = rng.normal(size=(N, 3))
    found = ConjugateGradient(block=True).solve(LinearSystem(built(Tiles()), SHIFT, y))
    assert found.status is Status.CONVERGED and found.details["rank of the preconditioner"] > 0


def test_the_rank_is_the_cheapest_of_those_that_were_looked_at(any_size, monkeypatch):
    seen = {}
    operations = module._Judge.operations

    def remembered(self, L, rest):
        seen[L.shape[1]] = operations(self, L, rest)
        return seen[L.shape[1]]

    monkeypatch.setattr(module._Judge, "operations", remembered)
    L = paying_factor(built(Tiles()), SHIFT, 1, 1e-8)
    assert len(seen) > 2 and L.shape[1] == min(seen, key=seen.get)
    assert np.trace(gaussian(X, 0.6) - L @ L.T) < 0.5 * N
    assert np.linalg.eigvalsh(gaussian(X, 0.6) - L @ L.T).min() > -1e-10


def test_what_is_left_is_the_weighted_mean_of_its_eigenvalues():
    # of no more samples than are looked at, so that nothing is estimated
    K, L = gaussian(X, 0.6), rng.normal(size=(N, 3)) * 0.1
    judge = module._Judge(built(Dense()), np.ones(N), SHIFT, 1, 1e-8, 20.0)
    root = np.sqrt(SHIFT)
    R = (K - L @ L.T) / np.outer(root, root)
    values = np.linalg.eigvalsh(R)
    assert judge.largest(L, np.diag(K - L @ L.T)) == pytest.approx(np.sum(values**2) / np.sum(values), rel=1e-9)


def test_iterations_are_those_of_the_condition_number():
    # Chebyshev's bound: twice the rate to the power of the iterations is the tolerance
    for largest in (1e-3, 1.0, 100.0, 1e6):
        root = np.sqrt(1.0 + largest)
        count = expected_iterations(largest, 1e-8)
        assert 2.0 * ((root - 1.0) / (root + 1.0)) ** count == pytest.approx(1e-8) or count == 1.0
    assert expected_iterations(0.0, 1e-8) == 1.0


def test_no_factor_where_it_does_not_pay(any_size):
    assert paying_factor(built(Tiles(), ROUGH), np.ones(N), 1, 1e-8) is None  # K is nearly the identity
    assert paying_factor(built(Tiles()), np.full(N, 1e9), 1, 1e-8) is None  # one iteration without
    assert paying_factor(built(Tiles()), np.zeros(N), 1, 1e-8) is None  # P could not be solved
    assert paying_factor(built(Features(), Linear()), np.ones(N), 1, 1e-8) is None  # products cost O(n)
    assert paying_factor(Products(gaussian(X)), np.ones(N), 1, 1e-8) is None  # no rows


def test_no_factor_for_small_problems():
    assert paying_factor(built(Tiles()), SHIFT, 1, 1e-8) is None


def test_memory_bounds_the_rank(any_size):
    free = paying_factor(built(Tiles()), SHIFT, 1, 1e-8)
    assert free.shape[1] > 20
    assert paying_factor(built(Tiles(), memory=4 * 8 * N * 20), SHIFT, 1, 1e-8).shape[1] <= 20
    assert paying_factor(built(Tiles(memory=4 * 8 * N * 20)), SHIFT, 1, 1e-8).shape[1] <= 20
    assert paying_factor(built(Tiles(), memory=100), SHIFT, 1, 1e-8) is None


def test_the_factor_does_not_depend_on_threads(any_size):
    alone, two = (paying_factor(built(Tiles(), n_threads=count), SHIFT, 1, 1e-8) for count in (1, 2))
    assert np.array_equal(alone, two)
