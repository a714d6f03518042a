"""The exact path of C against solvers for single values of C, and its optimality conditions everywhere."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, NotPositiveDefinite, ParameterError, TargetError
from mercer.gram import Dense, Tiles
from mercer.gram.exact import DenseGram
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, ThinPlate
from mercer.problems import BoxQP, Status
from mercer.runtime.tiling import Stopped
from mercer.selection import PathEnd, svm_path
from mercer.selection.homotopy import Homotopy
from mercer.solvers.box.interior_point import InteriorPoint
from mercer.solvers.box.smo import SMO
from tests.clock import allowed, answers
from tests.strategies import vectors

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0.2, 1.0, -1.0)


def built(kernel, X):
    return Dense().build(kernel, Vectors.pack(X))


def from_matrix(K):
    """A Gram of a matrix that need not come from a kernel."""
    K = np.asarray(K, dtype=float)
    return DenseGram(Linear(), Vectors.pack(np.zeros((len(K), 1))), K)


def objective(K, y, w, C, beta, bias):
    hinge = np.maximum(0.0, 1.0 - y * (K @ beta + bias))
    return C * float(w @ hinge) + 0.5 * float(beta @ K @ beta)


def violation(K, y, w, C, beta, bias):
    """Largest violation of box, sum and margins; coefficients in units of their bounds."""
    alpha, r = y * beta, y * (K @ beta + bias) - 1.0
    low, high = alpha <= 1e-9 * C * w, alpha >= (1.0 - 1e-9) * C * w
    margins = max(np.max(-r[(w > 0) & ~high], initial=0.0), np.max(r[(w > 0) & ~low], initial=0.0))
    box = max(np.max(-alpha), np.max(alpha - C * w), abs(float(np.sum(beta)))) / C
    return max(margins, box)


def worst(K, y, w, path):
    """Largest violation at the breakpoints and between them."""
    K, y = np.asarray(K), np.asarray(y, dtype=float)
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    at = [violation(K, y, w, C, path.coefficients(k), path.bias[k]) for k, C in enumerate(path.C)]
    between = 0.7 * path.C[:-1] + 0.3 * path.C[1:]
    return max([*at, *(violation(K, y, w, C, *path.at(C)) for C in between)])


def compare(gram, y, path, solver):
    """Decision values, bias and objective against a solver at twenty breakpoints."""
    K, w = gram.array, np.ones(len(y))
    for k in np.linspace(0, len(path) - 1, 20).astype(int):
        C = path.C[k]
        beta, bias = path.coefficients(k), path.bias[k]
        solution = solver.solve(BoxQP(gram, -y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0)))
        other, rho = solution.coef, solution.multipliers[0]
        assert np.allclose(K @ beta, K @ other, rtol=0.0, atol=1e-6)
        ours, theirs = objective(K, y, w, C, beta, bias), objective(K, y, w, C, other, -rho)
        assert abs(ours - theirs) <= 1e-6 * theirs
        if path.elbow[k]:
            assert abs(bias + rho) <= 1e-6


def test_it_is_what_interior_points_find_at_twenty_breakpoints():
    pytest.importorskip("piqp")
    gram = built(Gaussian(2.0), X)
    path = svm_path(gram, Y)
    assert path.status is PathEnd.COMPLETE
    assert (path.C[0], path.C[-1]) == (1e-2, 1e2)
    assert np.all(np.diff(path.C) >= 0.0) and len(path) > 100
    assert np.all(path.left + path.elbow + path.right == 300)
    assert np.max(path.violation) <= 1e-9
    assert worst(gram.array, Y, None, path) <= 1e-9
    compare(gram, Y, path, InteriorPoint())


@pytest.mark.slow
def test_it_is_what_smo_finds_with_two_thousand_samples():
    generator = np.random.default_rng(1)
    Z = generator.normal(size=(2000, 5))
    y = np.where(Z[:, 0] * Z[:, 1] + 0.3 * generator.normal(size=2000) > 0, 1.0, -1.0)
    gram = built(Gaussian(2.0), Z)
    path = svm_path(gram, y)
    assert path.status is PathEnd.COMPLETE
    compare(gram, y, path, SMO(tol=1e-7))


@pytest.mark.parity
@pytest.mark.parametrize("C", [0.01, 0.3, 7.0, 100.0])
def test_it_is_near_what_libsvm_finds(C):
    """Only near: LIBSVM keeps the kernel matrix in float32."""
    K = built(Gaussian(1.0), X[:150]).array
    beta, bias = svm_path(built(Gaussian(1.0), X[:150]), Y[:150]).at(C)
    model = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, Y[:150])
    assert np.allclose(K @ beta + bias, model.decision_function(K), atol=1e-4)


def test_weights_are_repetitions():
    w = rng.integers(0, 4, size=60).astype(float)
    index = np.repeat(np.arange(60), w.astype(int))
    one = svm_path(built(Gaussian(1.0), X[:60]), Y[:60], weight=w)
    K = built(Gaussian(1.0), X[index])
    many = svm_path(K, Y[index])
    assert one.status is many.status is PathEnd.COMPLETE
    assert worst(built(Gaussian(1.0), X[:60]).array, Y[:60], w, one) <= 1e-9
    for C in np.geomspace(1e-2, 1e2, 25):
        beta, bias = one.at(C)
        other, b = many.at(C)
        assert np.allclose(beta, np.bincount(index, other, minlength=60), atol=1e-8 * C)
        assert np.isclose(bias, b, atol=1e-8)


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_tiles_give_the_same_path(precision):
    dense = svm_path(built(Gaussian(1.0), X[:80]), Y[:80])
    tiles = svm_path(Tiles(precision=precision).build(Gaussian(1.0), Vectors.pack(X[:80])), Y[:80])
    assert len(dense) == len(tiles)
    assert np.allclose(dense.C, tiles.C)


def test_it_can_be_expanded():
    gram = built(Gaussian(1.0), X[:80])
    path = svm_path(gram, Y[:80])
    solution = path.solution(3.0)
    beta, bias = path.at(3.0)
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-9
    assert solution.multipliers[0] == -bias
    f = gram.expand(solution, bias)
    assert len(f.samples) < 80
    assert np.allclose(f(gram.samples), gram.array @ beta + bias)


@st.composite
def problems(draw):
    """A small problem, often degenerate: equal rows, equal margins, dependent images, weights of zero."""
    Z = draw(vectors(min_samples=2, max_samples=14, bound=4.0))
    if draw(st.booleans()):
        Z = np.round(Z)
    n = len(Z)
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    w = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.0, 0.3]), min_size=n, max_size=n)))
    y[:2], w[:2] = (1.0, -1.0), np.maximum(w[:2], 0.3)
    kernel = draw(
        st.sampled_from([Gaussian(1.0), Linear(), Polynomial(2, offset=1.0), NegativeDistance(), Gaussian(9.0)])
    )
    return built(kernel, Z), y, w, draw(st.sampled_from([1e-5, 1e-2, 1.0]))


@given(problems())
def test_the_conditions_hold_at_breakpoints_and_between(problem):
    gram, y, w, C_min = problem
    path = svm_path(gram, y, weight=w, C_min=C_min, C_max=100.0)
    assert path.status is PathEnd.COMPLETE
    assert worst(gram.array, y, w, path) <= 1e-7


GRID = np.array([[a, b] for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0, 2.0)])
CASES = {
    "two samples": (Linear(), [[1.0], [-1.0]], [1, -1]),
    "duplicates": (Gaussian(1.0), np.repeat(X[:12], 3, axis=0), np.repeat(Y[:12], 3)),
    "opposite labels": (Gaussian(1.0), np.tile(X[:12], (2, 1)), np.concatenate([Y[:12], -Y[:12]])),
    "all rows equal": (Linear(), np.ones((7, 2)), [1, 1, 1, 1, -1, -1, -1]),
    "all rows zero": (Linear(), np.zeros((6, 2)), [1, 1, 1, -1, -1, -1]),
    "a grid": (Linear(), np.tile(GRID, (2, 1)), [1, -1] * 9),
    "a grid, Gaussian": (Gaussian(1.0), GRID, [1, -1, 1, -1, 1, -1, 1, -1, 1]),
    "more samples than dimensions": (Linear(), X[:60], Y[:60]),
    "one of a class": (Gaussian(1.0), X[:20], [1] + [-1] * 19),
    "separable": (Linear(), np.vstack([X[:20] + 6.0, X[20:40] - 6.0]), [1] * 20 + [-1] * 20),
    "separable and equal classes": (Gaussian(1.0), X[:30], [1, -1] * 15),
    "nearly singular": (Gaussian(50.0), X[:40], Y[:40]),
    "conditional": (NegativeDistance(), X[:50], Y[:50]),
    "conditional and dependent": (NegativeDistance(2.0), X[:30, :1], Y[:30]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("C_min", [1e-6, 0.1])
def test_degenerate_problems(name, C_min):
    kernel, Z, y = CASES[name]
    gram, y = built(kernel, np.asarray(Z)), np.asarray(y, dtype=float)
    if len(np.unique(y)) == 1:
        y[0] = -y[0]
    path = svm_path(gram, y, C_min=C_min, C_max=1e3)
    assert path.status is PathEnd.COMPLETE
    assert worst(gram.array, y, None, path) <= 1e-7


def test_separable_data_end_in_the_hard_margin():
    kernel, Z, y = CASES["separable"]
    gram = built(kernel, Z)
    path = svm_path(gram, y, C_max=1e6)
    assert path.left[-1] == 0
    assert np.allclose(path.at(1e6)[0], path.at(1e5)[0], atol=1e-12)
    assert np.min(np.array(y) * (gram.array @ path.at(1e6)[0] + path.bias[-1])) >= 1.0 - 1e-9


def test_without_an_elbow_the_bias_is_inside_its_interval():
    gram = built(Linear(), [[1.0], [-1.0]])
    path = svm_path(gram, [1, -1], C_min=0.1, C_max=2.0)
    assert path.elbow[0] == 0 and path.left[0] == 2
    assert np.allclose(path.C, [0.1, 0.5, 2.0])
    assert np.allclose(path.bias, 0.0)


def test_unequal_weights_of_the_classes_start_right():
    gram = built(Gaussian(1.0), X[:40])
    w = np.where(Y[:40] > 0, 3.7, 0.2)
    path = svm_path(gram, Y[:40], weight=w, C_min=1e-4, C_max=1.0)
    assert worst(gram.array, Y[:40], w, path) <= 1e-9
    light = Y[:40] < 0
    assert np.allclose(np.abs(path.coefficients(0))[light], 1e-4 * 0.2)  # the lighter class is at its bounds


def test_sides_and_coefficients_agree():
    path = svm_path(built(Gaussian(1.0), X[:50]), Y[:50])
    for k in range(0, len(path), 7):
        side, beta = path.sides(k), path.coefficients(k)
        assert [np.sum(side == code) for code in (0, 1, 2)] == [path.right[k], path.elbow[k], path.left[k]]
        assert np.all(beta[side == 0] == 0.0)
        assert np.allclose(np.abs(beta[side == 2]), path.C[k])
    assert np.array_equal(path.coefficients(-1), path.at(path.C[-1])[0])
    assert 0 < path.nbytes < 20 * len(path) * 50


# ---------------------------------------------------------------------------------------------- how it ends


def test_max_breakpoints():
    gram = built(Gaussian(1.0), X[:50])
    whole, path = svm_path(gram, Y[:50]), svm_path(gram, Y[:50], max_breakpoints=10)
    assert path.status is PathEnd.BREAKPOINTS and len(path) == 10
    assert np.allclose(path.C, whole.C[:10])
    assert worst(gram.array, Y[:50], None, path) <= 1e-9


def test_a_monitor_is_told_and_may_stop():
    gram, seen = built(Gaussian(1.0), X[:50]), []
    path = svm_path(gram, Y[:50], monitor=lambda count, violation: seen.append((count, violation)) or count >= 20)
    assert path.status is PathEnd.STOPPED
    assert 20 <= len(path) <= 21
    assert worst(gram.array, Y[:50], None, path) <= 1e-9
    with pytest.raises(Stopped, match="C_min"):
        svm_path(gram, Y[:50], monitor=lambda count, violation: True)


@pytest.mark.timing
def test_ctrl_c_is_answered():
    generator = np.random.default_rng(2)
    Z = generator.normal(size=(1500, 10))
    gram = built(Gaussian(1.5), Z)
    labels = np.where(generator.random(1500) < 0.5, 1.0, -1.0)
    assert max(answers(lambda: svm_path(gram, labels), (0.5,), 1)) <= allowed(1.0)


def test_memory_is_planned(monkeypatch):
    gram = built(Gaussian(2.0), X)
    small = DenseGram(gram.kernel, gram.samples, gram.array, type(gram.resources)(memory=10_000))
    with pytest.raises(MemoryBudgetError, match="rows of the elbow"):
        svm_path(small, Y)
    monkeypatch.setattr(importlib.import_module("mercer.selection.svm_path"), "_FIRST_PLAN", 1000)
    enough = DenseGram(gram.kernel, gram.samples, gram.array, type(gram.resources)(memory=400_000))
    path = svm_path(enough, Y)
    assert path.status is PathEnd.MEMORY and len(path) > 1
    assert worst(gram.array, Y, None, path) <= 1e-9


def test_an_indefinite_matrix_is_found_out():
    generator = np.random.default_rng(3)
    A = generator.normal(size=(30, 30))
    K = (A + A.T) / 2 + 3.0 * np.eye(30)
    y = np.where(generator.random(30) < 0.5, 1.0, -1.0)
    path = svm_path(from_matrix(K), y, C_min=1e-4, C_max=100.0)
    assert path.status is PathEnd.INDEFINITE
    assert path.C[-1] < 100.0
    with pytest.raises(NotPositiveDefinite, match="positive semi-definite"):
        svm_path(from_matrix(-np.eye(30)), y, weight=np.where(y > 0, 1.0, 0.7))


def test_circles_are_stepped_across(monkeypatch):
    """The first 5 events of the path are taken, then it is said to go in circles."""
    run, calls = Homotopy.run, []

    def circling(self, length, growth=1.0, fading=None):
        if fading is None:
            calls.append(self.C)
            if len(calls) == 2:
                return False
            return run(self, min(length, 1.0), growth)
        return run(self, length, growth, fading)

    monkeypatch.setattr(Homotopy, "run", circling)
    gram = built(Gaussian(1.0), X[:50])
    path = svm_path(gram, Y[:50], C_max=3.0)
    assert path.status is PathEnd.COMPLETE
    assert len(calls) >= 3
    assert worst(gram.array, Y[:50], None, path) <= 1e-7


@pytest.mark.parametrize("size", [3e-9, 1e-5])
def test_drift_is_put_right(monkeypatch, size):
    """Coefficients are disturbed now and then: a little, or more than is allowed."""
    leave, count = Homotopy.leave, []

    def disturbed(self, i, side):
        leave(self, i, side)
        count.append(i)
        if len(count) in (30, 60):
            self.bias += size

    monkeypatch.setattr(Homotopy, "leave", disturbed)
    gram = built(Gaussian(1.0), X[:100])
    path = svm_path(gram, Y[:100])
    assert path.status is PathEnd.COMPLETE
    assert worst(gram.array, Y[:100], None, path) <= 1e-8
    assert np.max(path.violation) <= 1e-8


def test_what_cannot_be_put_right_ends_the_path(monkeypatch):
    settle = Homotopy.settle
    monkeypatch.setattr(
        Homotopy, "settle", lambda self, scale, advance=0.0: settle(self, scale) if self.C < 0.02 else 1.0
    )
    refresh = Homotopy.refresh
    monkeypatch.setattr(Homotopy, "refresh", lambda self: refresh(self) if self.C < 0.5 else 1.0)
    gram = built(Gaussian(1.0), X[:100])
    path = svm_path(gram, Y[:100])
    assert path.status is PathEnd.STALLED
    assert 0.01 <= path.C[-1] < 100.0
    assert worst(gram.array, Y[:100], None, path) <= 1e-8


# ------------------------------------------------------------------------------------------------- the door


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"y": [1, -1, 0]}, TargetError, "-1 or 1"),
        ({"y": ["a", "b", "a"]}, TargetError, "-1 or 1"),
        ({"y": [1, -1]}, TargetError, "3 numbers"),
        ({"y": [1, 1, 1]}, TargetError, "one class"),
        ({"y": [1, -1, 1], "weight": [1.0, 0.0, 1.0]}, TargetError, "positive weight"),
        ({"weight": [1.0, -1.0, 1.0]}, ParameterError, "not negative"),
        ({"weight": [1.0]}, ParameterError, "shape"),
        ({"C_min": 0.0}, ParameterError, "C_min"),
        ({"C_min": "1"}, ParameterError, "C_min"),
        ({"C_min": 2.0, "C_max": 1.0}, ParameterError, "C_max"),
        ({"C_max": np.inf}, ParameterError, "C_max"),
        ({"max_breakpoints": 1}, ParameterError, "max_breakpoints"),
    ],
)
def test_bad_arguments_are_refused(change, error, match):
    arguments = {"y": [1, -1, -1], **change}
    with pytest.raises(error, match=match):
        svm_path(built(Gaussian(1.0), X[:3]), **arguments)


def test_grams_that_do_not_fit_are_refused():
    S = Vectors.pack(X[:5])

    class Products:
        shape = (5, 5)

    with pytest.raises(CapabilityError, match="rows"):
        svm_path(Products(), Y[:5])
    with pytest.raises(CapabilityError, match="order 2"):
        svm_path(Dense().build(ThinPlate(), S), Y[:5])


def test_a_c_off_the_path_is_refused():
    path = svm_path(built(Gaussian(1.0), X[:10]), Y[:10], C_min=0.1, C_max=1.0)
    with pytest.raises(ParameterError, match=r"from 0\.1 to 1"):
        path.at(2.0)
