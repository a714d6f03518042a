import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.gram import Repeated, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.problems import BoxQP
from mercer.solvers import SMO
from mercer.solvers.box import face, smo
from mercer.solvers.box import optimality as module
from mercer.solvers.box.optimality import (
    duality_gap,
    feasible,
    is_cone,
    movable,
    multipliers,
    polish,
    project,
    violation,
)
from tests.unit.solvers.machines import (
    by_class,
    classifier,
    dense,
    gradient,
    huber,
    regression,
    require_feasible,
    residual,
    squared_hinge,
)
from tests.unit.solvers.matrices import Matrix

INF = np.inf


def box(lower, upper, **more):
    n = len(lower)
    return BoxQP(Matrix(np.eye(n)), np.zeros(n), np.array(lower, float), np.array(upper, float), **more)


def slow_violation(problem, beta, g, margin=1e-12):
    groups = problem.group if problem.group is not None else np.zeros(len(beta), int)
    worst = 0.0
    for label in range(max(len(problem.total), 1)):
        down, up = [], []
        for i in np.flatnonzero(groups == label):
            width = problem.upper[i] - problem.lower[i]
            width = width if np.isfinite(width) else np.abs(beta).max()
            if beta[i] > problem.lower[i] + margin * width:
                down.append(g[i])
            if beta[i] < problem.upper[i] - margin * width:
                up.append(g[i])
        if len(problem.total) == 0:
            down, up = [*down, 0.0], [*up, 0.0]
            worst = max(worst, max(down), -min(up))
        elif down and up:
            worst = max(worst, max(down) - min(up))
    return worst


def random_problem(seed, groups):
    """A feasible point with many variables at their ends, gradients and a box with infinite ends."""
    rng = np.random.default_rng(seed)
    n = 40
    lower = rng.choice([-INF, -1.0, 0.0], size=n)
    upper = rng.choice([0.0, 1.0, 2.0, INF], size=n)
    beta = np.clip(rng.choice([-5.0, 0.0, 0.3, 5.0], size=n), lower, upper)
    group = None if groups < 2 else rng.integers(groups, size=n)
    return BoxQP(None, rng.normal(size=n), lower, upper, group, np.zeros(groups)), beta, rng.normal(size=n)


@pytest.mark.parametrize("groups", [0, 1, 2, 7])
@pytest.mark.parametrize("seed", range(5))
def test_violation_equals_the_slow_one(seed, groups):
    problem, beta, g = random_problem(seed, groups)
    assert violation(problem, beta, g) == slow_violation(problem, beta, g)


def test_ends_within_rounding_are_reached():
    problem = box([0.0, 0.0, 0.0, 0.0, 0.0], [1e-6, 1e-6, 1e6, INF, 0.0])
    beta = np.array([1e-6 * (1 - 1e-13), 1e-6 * (1 - 1e-9), 1e-7, 1e6, 0.0])
    down, up = movable(problem, beta)
    assert down.tolist() == [True, True, False, True, False]
    assert up.tolist() == [False, True, True, True, False]


def test_nothing_that_can_move_violates_nothing():
    problem = box([0.0, 0.0], [0.0, 0.0])
    assert violation(problem, np.zeros(2), np.array([3.0, -3.0])) == 0.0
    none = BoxQP(None, np.zeros(0), np.zeros(0), np.zeros(0))
    assert violation(none, np.zeros(0), np.zeros(0)) == 0.0


def test_multipliers_are_means_over_free_variables_of_each_group():
    problem = box([0.0] * 5, [1.0] * 5, group=np.array([0, 1, 0, 1, 0]), total=np.zeros(2))
    beta = np.array([0.5, 0.5, 0.5, 1.0, 0.0])
    np.testing.assert_allclose(multipliers(problem, beta, np.array([1.0, 5.0, 2.0, 9.0, 9.0])), [1.5, 5.0])


def test_multipliers_without_free_variables():
    problem = box([0.0] * 3, [1.0] * 3)
    g = np.array([1.0, 4.0, 6.0])
    # the variable at its upper end wants rho >= 1, those at their lower end rho <= 4
    np.testing.assert_allclose(multipliers(problem, np.array([1.0, 0.0, 0.0]), g), [2.5])
    np.testing.assert_allclose(multipliers(problem, np.zeros(3), g), [1.0])  # no lower end: the finite one
    np.testing.assert_allclose(multipliers(problem, np.ones(3), g), [6.0])
    fixed = box([1.0] * 3, [1.0] * 3)
    np.testing.assert_allclose(multipliers(fixed, np.ones(3), g), [g.mean()])


def test_multipliers_of_no_group_and_of_an_empty_one():
    assert multipliers(box([0.0], [1.0], total=np.zeros(0)), np.zeros(1), np.ones(1)).shape == (0,)
    problem = box([0.0], [1.0], group=np.array([1]), total=np.zeros(2))
    np.testing.assert_array_equal(multipliers(problem, np.array([0.5]), np.array([3.0])), [0.0, 3.0])


def slow_gap(problem, beta, product, rho):
    total = 0.0
    reach = 2 * np.abs(beta).max()
    for i, b in enumerate(beta):
        r = np.broadcast_to(problem.ridge, beta.shape)[i]
        s = product[i] + problem.linear[i]
        if len(rho):
            s -= rho[0 if problem.group is None else problem.group[i]]
        lower, upper = problem.lower[i], problem.upper[i]
        if r == 0.0:
            lower, upper = max(lower, -reach), min(upper, reach)
        z = [end for end in (lower, upper) if np.isfinite(end)]
        if r > 0.0 and lower <= -s / r <= upper:
            z.append(-s / r)
        total += 0.5 * r * b * b + s * b - min(0.5 * r * v * v + s * v for v in z)
    return total


@pytest.mark.parametrize("groups", [0, 1, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.7, "some"])
def test_gap_equals_the_slow_one(groups, ridge):
    problem, beta, product = random_problem(3, groups)
    if ridge == "some":
        ridge = np.where(np.arange(len(beta)) % 2, 0.4, 0.0)
    problem = BoxQP(None, problem.linear, problem.lower, problem.upper, problem.group, problem.total, ridge)
    rho = multipliers(problem, beta, product + problem.linear + ridge * beta)
    expected = slow_gap(problem, beta, product, rho)
    assert duality_gap(problem, beta, product) == pytest.approx(expected, rel=1e-12)
    assert duality_gap(problem, beta, product, rho) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gap_bounds_what_is_lost(seed, ridge):
    """Along the way of projected steps the objective is never above the minimum by more than the gap."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(12, 4))
    K = F @ F.T
    problem = BoxQP(Matrix(K), rng.normal(size=12), np.zeros(12), np.ones(12), total=np.zeros(0), ridge=ridge)

    def objective(b):
        return 0.5 * b @ K @ b + 0.5 * ridge * b @ b + problem.linear @ b

    beta, path = rng.random(12), []
    step = 1.0 / (np.linalg.norm(K, 2) + ridge)
    for round_ in range(20000):
        if round_ % 200 == 0:
            path.append((objective(beta), duality_gap(problem, beta, K @ beta)))
        beta = np.clip(beta - step * (K @ beta + ridge * beta + problem.linear), 0.0, 1.0)
    least = objective(beta)
    assert all(value - least <= gap + 1e-12 for value, gap in path)
    assert duality_gap(problem, beta, K @ beta) < 1e-6


def test_hundred_thousand_variables_in_many_groups():
    n = 100_000
    rng = np.random.default_rng(0)
    problem = BoxQP(None, np.zeros(n), np.zeros(n), np.ones(n), rng.integers(20_000, size=n), np.zeros(20_000))
    beta, g = rng.choice([0.0, 0.5, 1.0], size=n), rng.normal(size=n)
    rho = multipliers(problem, beta, g)
    assert rho.shape == (20_000,)
    assert violation(problem, beta, g) > 0.0
    assert duality_gap(problem, beta, g, rho) > 0.0


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_the_projection_is_feasible_and_nearest(groups, size):
    rng = np.random.default_rng(groups)
    n = 30
    lower, upper = -size * rng.random(n), size * rng.random(n)
    lower[:3], upper[3:6] = -INF, INF
    group = None if groups == 1 else rng.integers(groups, size=n)
    labels = np.zeros(n, int) if group is None else group
    inside = np.clip(size * rng.normal(size=n), lower, upper)
    total = np.bincount(labels, weights=inside, minlength=groups)
    problem = BoxQP(None, np.zeros(n), lower, upper, group, total)
    beta = size * 3.0 * rng.normal(size=n)
    z = project(problem, beta)
    assert np.all((z >= lower) & (z <= upper))
    np.testing.assert_allclose(np.bincount(labels, weights=z, minlength=groups), total, atol=1e-14 * size)
    # the gradient of |z - beta|^2 / 2 meets the optimality conditions
    assert violation(problem, z, z - beta) <= 1e-12 * size
    np.testing.assert_allclose(project(problem, z), z, atol=1e-13 * size)


def test_projection_without_sums_and_to_a_sum_out_of_reach():
    np.testing.assert_array_equal(project(box([0.0], [1.0], total=np.zeros(0)), np.array([3.0])), [1.0])
    with pytest.raises(ParameterError, match="between 0 and 2"):
        project(box([0.0, 0.0], [1.0, 1.0], total=np.array([3.0])), np.zeros(2))
    np.testing.assert_array_equal(project(box([0.0, 0.0], [1.0, 1.0], total=np.array([2.0])), np.zeros(2)), [1, 1])


def program(n=6, total=0.0, lower=-1.0, upper=1.0):
    linear = np.random.default_rng(0).normal(size=n)
    return BoxQP(np.eye(n), linear, np.full(n, lower), np.full(n, upper), total=np.array([total]))


@pytest.mark.parametrize("total", [0.0, 2.5, -6.0])
@pytest.mark.parametrize("given", [False, True])
def test_a_start_lies_in_the_box_and_has_the_sum(total, given):
    problem = program(total=total)
    require_feasible(problem, feasible(problem, np.full(6, 3.0) if given else None))


def test_a_feasible_point_is_kept():
    start = np.array([0.5, -0.5, 0.25, -0.25, 0.0, 0.0])
    np.testing.assert_array_equal(feasible(program(), start), start)


def test_many_boxes_around_zero_begin_at_their_ends():
    problem = program(n=3000)
    beta = feasible(problem, None)
    require_feasible(problem, beta)
    assert np.count_nonzero(np.abs(beta) < 1.0) <= 1
    assert problem.linear @ beta <= problem.linear @ np.zeros(3000)


def test_a_sum_out_of_reach_is_refused():
    with pytest.raises(ParameterError, match=r"were to sum to 7; their boxes allow sums from -6 to 6"):
        feasible(program(total=7.0), None)


def test_a_cone_has_no_ends_but_zero():
    assert is_cone(program(lower=0.0, upper=np.inf))
    assert not is_cone(program(lower=0.0, upper=1.0))
    assert not is_cone(program(lower=0.0, upper=np.inf, total=1.0))


# the last step, from a near optimum to the exact one ---------------------------------------------

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 2))
Y = np.where(X[:, 0] + 0.6 * rng.normal(size=N) > 0, 1.0, -1.0)
Z = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)
K = dense(X)

PROBLEMS = {
    "C-SVC": lambda: classifier(K, Y, 3.0),
    "squared hinge": lambda: squared_hinge(K, Y, 3.0),
    "nu-SVC": lambda: by_class(K, Y, np.ones(N), 20.0),
    "SVR": lambda: regression(K, Z, 2.0, 0.05),
    "Huber": lambda: huber(K, Z, 2.0, 0.2),
    "linear": lambda: classifier(dense(X, Linear()), Y, 1.0),
    "conditional": lambda: classifier(dense(X, NegativeDistance(1.0)), Y, 1.0),
    "twins": lambda: classifier(dense(np.repeat(X[:40], 2, axis=0)), Y, 3.0),
}


@pytest.fixture
def rough(monkeypatch):
    """Solve without the polish, to a loose tolerance."""
    monkeypatch.setattr(smo, "polish", lambda *_: False)
    return lambda problem, tol=1e-2: SMO(tol=tol).solve(problem).coef.copy()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_becomes_exact(name, rough):
    problem = PROBLEMS[name]()
    beta = rough(problem)
    g = gradient(problem, beta)
    before = residual(problem, beta)
    assert 1e-6 < before <= 1e-2
    assert polish(problem, beta, g, 2000)
    require_feasible(problem, beta)
    np.testing.assert_allclose(g, gradient(problem, beta), atol=1e-9)
    assert residual(problem, beta) <= 1e-9
    assert not polish(problem, beta.copy(), g.copy(), 2000)  # nothing left to do


@given(seed=st.integers(0, 2**32 - 1))
def test_it_never_makes_it_worse(seed):
    """From any feasible point, however far from the optimum; what it does not improve it does not touch."""
    own = np.random.default_rng(seed)
    problem = classifier(K, Y, 3.0) if seed % 2 else by_class(K, Y, np.ones(N), 20.0)
    beta = np.clip(own.normal(size=N), problem.lower, problem.upper)
    beta = SMO(max_iter=int(own.integers(1, 60))).solve(problem, start=beta).coef
    g = gradient(problem, beta)
    old, was = beta.copy(), g.copy()
    better = polish(problem, beta, g, 2000)
    if better:
        assert residual(problem, beta) < residual(problem, old) + 1e-12
        require_feasible(problem, beta)
        np.testing.assert_allclose(g, gradient(problem, beta), atol=1e-8)
    else:
        assert np.array_equal(beta, old) and np.array_equal(g, was)


def test_too_many_free_variables_are_left(rough):
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem)
    old, g = beta.copy(), gradient(problem, beta)
    assert not polish(problem, beta, g, 3) and np.array_equal(beta, old)


def test_only_the_free_ones_where_their_neighbours_are_too_many(rough):
    """The limit lies between the free variables and those near the margin."""
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem, 0.3)
    free = int(np.count_nonzero((beta > problem.lower) & (beta < problem.upper)))
    old, before = beta.copy(), residual(problem, beta)
    better = polish(problem, beta, gradient(problem, beta), free)
    require_feasible(problem, beta)
    assert residual(problem, beta) < before if better else np.array_equal(beta, old)


def test_a_float32_gram_is_polished_in_float64(rough):
    S = Vectors.pack(X)
    problem = classifier(Tiles(precision="mixed").build(Gaussian(1.0), S), Y, 3.0)
    exact = classifier(K, Y, 3.0)
    beta = rough(exact)
    assert polish(problem, beta, gradient(exact, beta), 2000)
    assert residual(exact, beta) <= 1e-9
    both = np.r_[np.arange(N), np.arange(N)]
    doubled = regression(K, Z, 2.0, 0.05)
    tiled = BoxQP(Repeated(problem.gram, both), doubled.linear, doubled.lower, doubled.upper)
    beta = rough(doubled)
    assert polish(tiled, beta, gradient(doubled, beta), 2000)
    assert residual(doubled, beta) <= 1e-9


def test_many_variables_far_from_the_margin_are_not_recomputed(rough):
    """More than twice the limit: only gradients that may matter are brought up to date, the violation is still true."""
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem, 1e-3)
    free = np.count_nonzero((beta > problem.lower) & (beta < problem.upper))
    most = int(free) + 2
    assert most < N / 2
    g = gradient(problem, beta)
    if polish(problem, beta, g, most):
        assert residual(problem, beta) <= 1e-3
        up, down = beta < problem.upper, beta > problem.lower
        assert residual(problem, beta) == pytest.approx(max(0.0, g[down].max() - g[up].min()), abs=1e-8)


def test_a_singular_block_gets_a_little_jitter_or_is_left(monkeypatch, rough):
    problem = PROBLEMS["twins"]()
    beta = rough(problem)
    monkeypatch.setattr(face, "_JITTER", (0.0,))
    old = beta.copy()
    better = polish(problem, beta, gradient(problem, beta), 2000)
    assert residual(problem, beta) <= 1e-2 if better else np.array_equal(beta, old)


def test_little_work_is_done_where_it_is_limited(monkeypatch, rough):
    monkeypatch.setattr(module, "_WORK", 0.0)
    problem = PROBLEMS["SVR"]()
    beta = rough(problem)
    before = residual(problem, beta)
    polish(problem, beta, gradient(problem, beta), 2000)
    require_feasible(problem, beta)
    assert residual(problem, beta) <= before + 1e-12


def test_nothing_free_and_too_many_near_the_margin_is_nothing_to_do():
    """All variables at their ends, which a large tolerance is satisfied with."""
    K = dense(np.arange(4.0)[:, None])
    problem = BoxQP(K, np.zeros(4), np.zeros(4), np.ones(4), total=np.array([2.0]))
    beta = np.array([1.0, 1.0, 0.0, 0.0])
    g = np.array([5.0, 5.0, -5.0, -5.0])
    assert not polish(problem, beta, g, 2)
    assert beta.tolist() == [1.0, 1.0, 0.0, 0.0]


@given(st.integers(0, 10_000))
def test_one_group_without_a_name_is_the_group_of_that_name(seed):
    """The first is looked at in one compiled pass, the second by general formulas; with boxes without an end, too."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    lower, upper = -rng.choice([0.0, 1.0, INF], n), rng.choice([0.0, 0.5, INF], n)
    beta = np.where(rng.random(n) < 0.5, np.clip(rng.normal(size=n), lower, upper), np.maximum(lower, -2.0))
    g = rng.normal(size=n)
    one, named = box(lower, upper), box(lower, upper, group=np.zeros(n, np.intp))
    assert violation(one, beta, g) == violation(named, beta, g)
    np.testing.assert_allclose(multipliers(one, beta, g), multipliers(named, beta, g), rtol=1e-13)


def test_what_is_not_a_number_shows_in_the_violation():
    problem, g = box([0, 0, 0], [1, 1, 1]), np.array([1.0, np.nan, -2.0])
    assert np.isnan(violation(problem, np.full(3, 0.5), g))
