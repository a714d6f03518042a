"""Programs over factors, against an interior point method on the matrix, and against its own optimality conditions."""

import numpy as np
import pytest

from mercer.mixtures import Simplex
from mercer.problems import Status
from mercer.solvers import SMO, InteriorPoint, MixtureNewton
from mercer.solvers.box.optimality import feasible, violation
from mercer.solvers.mixtures.factor_newton import FactorNewton
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program
from mercer.solvers.mixtures.stack import Factor, Matrix
from tests.unit.solvers.mixtures.cases import one_class, program, samples

LOSSES = ["hinge", "squared hinge", "tube", "one class", "two sums", "no sum"]


def case(loss, n=60, r=8, C=1.0, seed=0):
    X, y = samples(n, r, seed)
    F = X / np.sqrt(r)
    if loss == "one class":
        return F, one_class(n)
    if loss == "two sums":
        group = (y > 0).astype(np.intp)
        return F, Program(np.zeros(n), np.minimum(y, 0.0), np.maximum(y, 0.0), group, np.array([-6.0, 6.0]))
    if loss == "no sum":
        return F, Program(-y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), total=np.zeros(0))
    return F, program(loss, np.sin(2.0 * X[:, 0]) if loss == "tube" else y, C)


def objective(at, z):
    ridge = np.broadcast_to(np.asarray(at.ridge, dtype=float), z.shape)
    return 0.5 * float(z @ (at.gram @ z)) + float(at.linear @ z) + 0.5 * float(ridge @ z**2)


def solved(F, part, tol=1e-9):
    at = part.at(Factor(F))
    return at, *FactorNewton(F, at, part.index).solve(feasible(at, None), 1.0, tol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 30.0])
@pytest.mark.parametrize("r", [2, 20])
def test_the_optimum_is_that_of_an_interior_point_method(loss, C, r):
    pytest.importorskip("piqp")
    F, part = case(loss, C=C, r=r)
    at, z, product, status = solved(F, part)
    assert status is Status.CONVERGED
    assert np.all((z >= at.lower) & (z <= at.upper))
    assert np.allclose(product, at.gram @ z, rtol=1e-12, atol=1e-12 * np.abs(z).sum())
    ridge = np.broadcast_to(np.asarray(at.ridge, dtype=float), z.shape)
    assert violation(at, z, product + ridge * z + at.linear) <= 1e-9
    reference = InteriorPoint().solve(part.at(Matrix(F @ F.T))).coef
    # a point is above the minimum by its violation times the width of the boxes at most: far less than 1e-6 of it
    assert np.isclose(objective(at, z), objective(at, reference), rtol=1e-6, atol=1e-7)


def test_a_start_near_the_solution_is_taken_up():
    F, part = case("hinge", n=200)
    at, z, _, _ = solved(F, part)
    seen = []
    again, _, status = FactorNewton(F, at, None).solve(z, 1.0, 1e-8, lambda step, left: bool(seen.append(step)))
    assert status is Status.CONVERGED and not seen  # nothing was left to do
    assert np.allclose(again, z, atol=1e-12)


def test_it_can_be_stopped():
    F, part = case("hinge")
    at = part.at(Factor(F))
    for answer, status in ((True, Status.STOPPED), (Status.TIME, Status.TIME)):
        stop = FactorNewton(F, at, None).solve(feasible(at, None), 1.0, 1e-9, lambda step, left, a=answer: a)
        assert stop[2] is status


def test_many_samples_begin_with_some_of_them():
    """The weights of a part of the samples are a start; the optimum is that of all."""
    X, y = samples(4400, 6)
    factors = [X[:, :2], np.abs(X[:, 2:4]), X[:, 4:] ** 2]
    part = program("hinge", y, 0.1)
    found = MixtureNewton(1e-4).solve(MixtureQP([Factor(F) for F in factors], Simplex(), (part,)))
    assert found.status is Status.CONVERGED and found.residual <= 1e-4
    d, z = found.state.weights, found.coef
    K = Factor(np.hstack([np.sqrt(w) * F for w, F in zip(d, factors, strict=True)]))
    machine = SMO(1e-5).solve(part.at(K))
    # both are above the minimum at these weights by no more than their gaps
    assert abs(objective(part.at(K), z) - objective(part.at(K), machine.coef)) <= found.gap + machine.gap
