"""Conjugate gradients in the coordinates of a factor."""

import numpy as np
import pytest

from mercer import KernelRidge, parse
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.problems import LinearSystem, Status
from mercer.solvers import PrimalGradient, Woodbury
from tests.resuming import resumed

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 2))
S = Vectors.pack(X)
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(3000, 2))
SHIFT = rng.uniform(0.1, 0.5, size=3000)


def built(precision="double"):
    return Nystrom(30, precision=precision).build(Gaussian(1.0), S)


@pytest.mark.parametrize("rhs", [Y[:, 0], Y], ids=["one", "two"])
@pytest.mark.parametrize("border", [None, np.ones((3000, 1)), np.column_stack([np.ones(3000), X])])
@pytest.mark.parametrize("shift", [0.3, SHIFT], ids=["constant", "vector"])
def test_it_is_the_solution_of_woodbury(rhs, border, shift):
    problem = LinearSystem(built(), shift, rhs, border)
    exact = Woodbury().solve(problem)
    found = PrimalGradient(tol=1e-10).solve(problem)
    assert found.status is Status.CONVERGED and found.residual <= 1e-10
    assert np.allclose(found.coef, exact.coef, atol=1e-6)
    assert np.allclose(found.weights, exact.weights, atol=1e-6)
    assert np.allclose(found.multipliers, exact.multipliers, atol=1e-6)


def test_each_pass_divides_the_error():
    problem = LinearSystem(built(), 0.3, Y[:, 0])
    found = PrimalGradient(tol=1e-9).solve(problem)
    residuals = found.trace.residual[:-1]
    assert np.all(residuals[1:] < 0.6 * residuals[:-1]) and found.details["passes"] < 20


def test_mixed_tiles_and_few_samples():
    rough = LinearSystem(built("mixed"), 0.3, Y[:, 0])
    near = Woodbury().solve(LinearSystem(built(), 0.3, Y[:, 0]))
    found = PrimalGradient(samples=4).solve(rough)
    assert found.status is Status.CONVERGED
    gram = built("mixed")
    assert np.abs(gram.times(found.weights) - built().times(near.weights)).max() < 1e-2
    few = PrimalGradient(samples=100).solve(rough)
    assert np.array_equal(few.coef, Woodbury().solve(rough).coef)


def test_it_can_be_stopped_and_can_end_early():
    problem = LinearSystem(built(), 1e-3, Y[:, 0])
    assert PrimalGradient(tol=1e-12, max_iter=1).solve(problem).status is Status.MAX_ITER
    assert PrimalGradient(tol=1e-12).solve(problem, monitor=lambda i, r: True).status is Status.STOPPED
    assert PrimalGradient(tol=10.0).solve(problem).status is Status.CONVERGED
    nothing = PrimalGradient().solve(LinearSystem(built(), 1e-3, np.zeros(3000)))
    assert nothing.status is Status.CONVERGED and not nothing.weights.any()


def test_the_same_bits_again():
    problem = LinearSystem(built("mixed"), 0.3, Y)
    a, b = (PrimalGradient().solve(problem) for _ in range(2))
    assert np.array_equal(a.coef, b.coef)


def test_ridge_takes_it_where_it_pays(monkeypatch):
    monkeypatch.setattr("mercer.estimators.squares.ridge._LONG", 0.0)
    model = KernelRidge(Gaussian(1.0), alpha=0.3, gram=Nystrom(30)).fit(X, Y[:, 0])
    plain = KernelRidge(Gaussian(1.0), alpha=0.3, gram=Nystrom(30), solver=Woodbury()).fit(X, Y[:, 0])
    assert isinstance(model.solver_, PrimalGradient)
    assert np.allclose(model.predict(X), plain.predict(X), atol=1e-3)
    left_out = KernelRidge(Gaussian(1.0), alpha=0.3, gram=Nystrom(30), leave_one_out=True).fit(X, Y[:, 0])
    assert isinstance(left_out.solver_, Woodbury)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="low rank"):
        PrimalGradient().solve(LinearSystem(Dense().build(Gaussian(1.0), S.take(slice(0, 9))), 0.1, np.ones(9)))
    with pytest.raises(ParameterError, match="positive"):
        PrimalGradient().solve(LinearSystem(built(), 0.0, Y))
    for bad in (PrimalGradient(tol=0.0), PrimalGradient(samples=0), PrimalGradient(max_iter=0)):
        with pytest.raises(ParameterError):
            bad.check()
    assert parse(repr(PrimalGradient(1e-6, samples=10))) == PrimalGradient(1e-6, samples=10)


@pytest.mark.parametrize("rhs", [Y[:, 0], Y], ids=["one", "two"])
def test_it_goes_on_to_the_same_bits_after_an_interruption(rhs):
    def run(monitor):
        return PrimalGradient(tol=1e-8).solve(LinearSystem(built(), 0.3, rhs, np.ones((3000, 1))), monitor=monitor)

    whole = run(None)
    for interrupt in (1, 4):
        found = resumed(run, interrupt)
        assert np.array_equal(found.coef, whole.coef) and np.array_equal(found.weights, whole.weights)
