import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.solvers.columns.boxed_program import BoxedProgram, follow_path


def program(seed, n=40, J=12, free=False, sums=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(J, n))
    upper = rng.uniform(0.1, 2.0, size=n)
    equal = np.ones((sums, n))
    return BoxedProgram(
        cost=np.zeros(n) if free else -rng.uniform(size=n),
        upper=upper,
        rows=rows,
        right=np.zeros(J) if free else np.ones(J),
        free=-np.ones((J, 1)) if free else np.zeros((J, 0)),
        free_cost=np.ones(1) if free else np.zeros(0),
        equal=equal,
        sums=np.full(sums, 0.4 * upper.sum()),
    )


def by_highs(P):
    k, e = len(P.free_cost), len(P.sums)
    return linprog(
        np.append(P.cost, P.free_cost),
        A_ub=np.hstack([P.rows, P.free]),
        b_ub=P.right,
        A_eq=np.hstack([P.equal, np.zeros((e, k))]) if e else None,
        b_eq=P.sums if e else None,
        bounds=[(0.0, end) for end in P.upper] + [(None, None)] * k,
    ).fun


@pytest.mark.parametrize("free, sums", [(False, 0), (True, 1), (False, 1)])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_optimum_is_that_of_the_simplex_method(free, sums, unit):
    P = program(0, free=free, sums=sums)
    best = unit * by_highs(P)  # whose tolerances have no unit
    P = BoxedProgram(P.cost, unit * P.upper, P.rows, unit * P.right, P.free, P.free_cost, P.equal, unit * P.sums)
    q = follow_path(P, 1e-9 * unit)
    found, size = P.cost @ q.u + P.free_cost @ q.v, unit * (1.0 + np.abs(P.cost).sum())
    assert found == pytest.approx(best, abs=1e-7 * size)
    assert np.all(q.u > 0.0) and np.all(q.u < P.upper) and np.all(q.a > 0.0)
    assert np.all(P.rows @ q.u + P.free @ q.v <= P.right + 1e-7 * size)
    dual = -P.right @ q.a - P.upper @ q.x - P.sums @ q.rho
    assert dual == pytest.approx(found, abs=1e-6 * size)


def test_a_loose_accuracy_is_kept():
    P = program(1)
    exact = by_highs(P)
    for accuracy in (1.0, 1e-2, 1e-5):
        q = follow_path(P, accuracy)
        assert exact - 1e-6 <= P.cost @ q.u <= exact + accuracy + 1e-6
