import numpy as np
import pytest

from mercer.losses import Hinge, SquaredHinge
from mercer.solvers.rows import semismooth as module
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.rows.semismooth import Point, is_factored, newton_work, refine, settle
from mercer.solvers.rows.terms import Terms
from tests.unit.solvers.linear_problems import LOSSES, problem, reference

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def parts(risk):
    rows = Rows.of(risk.X, risk.constant)
    return rows, Terms.of(risk.loss, risk.y, risk.weight, rows.squares)


@losses
@pytest.mark.parametrize("d", [4, 90])
def test_from_nothing_to_the_last_digit(loss, d):
    risk = problem(loss, n=70, d=d)
    rows, terms = parts(risk)
    point = Point.of(rows, np.zeros(70))
    for _ in range(4):
        point = refine(rows, terms, point, 1e-11, lambda: False)
    assert terms.violation(point.f, point.beta) <= 1e-9
    assert point.primal(terms) + point.dual(terms) <= 1e-9 * point.primal(terms)
    np.testing.assert_allclose(point.w, reference(risk), atol=3e-4 * np.abs(point.w).max())


@losses
def test_the_dual_objective_does_not_rise(loss):
    rows, terms = parts(problem(loss))
    rng = np.random.default_rng(0)
    beta = np.clip(rng.normal(size=60), terms.table[:, 2], terms.table[:, 3])
    start = Point.of(rows, beta)
    for better in (settle(rows, terms, start), refine(rows, terms, start, 1e-9, lambda: False)):
        assert better.dual(terms) <= start.dual(terms) + 1e-12
        assert np.all(better.beta >= terms.table[:, 2]) and np.all(better.beta <= terms.table[:, 3])


@losses
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_settling_on_the_right_variables_is_the_solution(loss, sparse):
    rows, terms = parts(problem(loss, sparse=sparse))
    point = Point.of(rows, np.zeros(60))
    for _ in range(4):
        point = refine(rows, terms, point, 1e-11, lambda: False)
    beta = point.beta.copy()
    inside = (beta > terms.table[:, 2]) & (beta < terms.table[:, 3]) & (beta != 0.0)
    moved = np.clip(beta[inside] * 1.0001, terms.table[inside, 2], terms.table[inside, 3])
    beta[inside] = np.where(moved == terms.table[inside, 3], beta[inside], moved)
    settled = settle(rows, terms, Point.of(rows, beta))
    assert terms.violation(settled.f, settled.beta) <= 1e-3 * max(
        terms.violation(rows.scores(rows.combine(beta)), beta), 1e-7
    )


def test_nothing_inside_is_left_alone():
    rows, terms = parts(problem(Hinge()))
    point = Point.of(rows, np.zeros(60))
    assert settle(rows, terms, point) is point


def test_asked_to_stop():
    rows, terms = parts(problem(SquaredHinge()))
    start = Point.of(rows, np.zeros(60))
    assert refine(rows, terms, start, 1e-9, lambda: True).dual(terms) <= start.dual(terms)


def test_what_is_factored():
    assert is_factored(Rows.of(np.ones((50, 5))))
    assert is_factored(Rows.of(np.ones((5, 3000))))
    assert not is_factored(Rows.of(problem(Hinge(), n=40, d=2000, sparse=True).X))
    assert newton_work(Rows.of(np.ones((50, 5)))) > 0.0


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_systems_by_products(sparse, monkeypatch):
    risk = problem(Hinge(), sparse=sparse)
    rows = Rows.of(risk.X, 1.0)
    F, ridge, right = rows.dense(), np.linspace(0.5, 2.0, 60), np.cos(np.arange(60.0))
    monkeypatch.setattr(module, "_DIRECT", 10)
    for original in (module._solve_by_products, module._solve_by_products.py_func):
        monkeypatch.setattr(module, "_solve_by_products", original)
        found = module._solve_dual(rows, ridge, right)
        np.testing.assert_allclose(F @ (F.T @ found) + ridge * found, right, atol=1e-3)


def test_a_singular_system_has_its_shortest_solution():
    rows = Rows.of(np.repeat(np.eye(2), 3, axis=0))
    found = module._solve_dual(rows, np.zeros(6), np.ones(6))
    np.testing.assert_allclose(found, 1 / 3, atol=1e-12)


def test_the_system_of_a_step_is_that_of_its_samples():
    rng = np.random.default_rng(0)
    rows, terms = parts(problem(SquaredHinge(), n=60, d=5, sparse=True))
    system, every = module._Normal(rows, terms), np.arange(60)
    F, weight = rows.dense(), 1.0 / terms.table[:, 4]
    few = np.array([3, 40])  # nearly all go: the sum begins anew
    for chosen in (every, every[:50], every[5:55], few, np.sort(rng.permutation(60)[:30])):
        expected = F[chosen].T @ (weight[chosen, None] * F[chosen])
        np.testing.assert_allclose(system.of(chosen), expected, atol=1e-12 * np.trace(F.T @ (weight[:, None] * F)))
