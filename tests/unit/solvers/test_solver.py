import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky, ConjugateGradient, Solver, Woodbury
from mercer.solvers.solver import Columns, Watch, lengths
from tests.unit.solvers.matrices import LowRank, Matrix, Products


class Nothing:
    """Not even products."""


@pytest.mark.parametrize(
    "solver, gram, message",
    [
        (
            Cholesky(),
            Products(np.eye(2)),
            r"Cholesky needs Gram.to_dense; Products offers only products\. Use gram=Dense\(\)",
        ),
        (
            Woodbury(),
            Matrix(np.eye(2)),
            r"Woodbury needs Gram.factor and Gram.normal; Matrix offers products, to_dense\. Use a Gram with",
        ),
        (
            ConjugateGradient(),
            Nothing(),
            r"ConjugateGradient needs Gram.diag; .* Use gram=Dense\(\) or gram=Tiles",
        ),
    ],
)
def test_a_gram_that_does_not_fit_is_refused_with_a_remedy(solver, gram, message):
    with pytest.raises(CapabilityError, match=message):
        solver.solve(LinearSystem(gram, 1.0, np.ones(2)))


@pytest.mark.parametrize("solver", [Cholesky(), Woodbury(), ConjugateGradient()])
def test_a_problem_of_another_kind_is_refused(solver):
    with pytest.raises(CapabilityError, match=r"was given a dict; it solves .* LinearSystem\. Leave out solver="):
        solver.solve({"gram": LowRank(np.ones((2, 1)))})


def test_options_are_checked_at_the_door():
    with pytest.raises(ParameterError, match="tol"):
        ConjugateGradient(tol=-1.0).solve(LinearSystem(Matrix(np.eye(2)), 1.0, np.ones(2)))


def test_a_solver_needs_a_method():
    with pytest.raises(TypeError, match="abstract"):
        Solver()


@pytest.mark.parametrize("largest", [5e-324, 1e-310, 1e-200, 0.3, 1.0, 2.0, 1e200, 1.7976931348623157e308])
def test_columns_have_moderate_size_and_keep_every_digit(largest):
    rhs = largest * np.array([1.0, -0.75, 0.5])
    columns = Columns.of(rhs)
    assert 1.0 <= np.abs(columns.values).max() < 2.0
    np.testing.assert_array_equal(columns.restore(columns.values), rhs)
    np.testing.assert_array_equal(columns.like(rhs), columns.values)


def test_columns_of_zeros_and_several():
    rhs = np.column_stack([np.zeros(3), [3.0, 4.0, 0.0]])
    columns = Columns.of(rhs)
    assert not columns.flat
    np.testing.assert_array_equal(columns.scale, [1.0, 4.0])
    np.testing.assert_array_equal(lengths(columns.values), [1.0, 1.25])
    np.testing.assert_array_equal(columns.restore(np.ones((2, 2))), [[1.0, 4.0], [1.0, 4.0]])
    assert columns.residual(np.array([[0.0, 0.5], [0.25, 0.0], [0.0, 0.0]])) == 0.4


def test_objective_is_that_of_the_system():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 5))
    G, y, a = X @ X.T, 40.0 * rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    columns = Columns.of(y)
    scaled = columns.like(a)
    left = columns.values - G @ scaled
    assert columns.objective(scaled, left) == pytest.approx(np.sum(0.5 * a * (G @ a)) - np.sum(y * a))


def test_a_watch_records_tells_and_ends():
    told = []
    watch = Watch(0.1, lambda iteration, residual: told.append((iteration, residual)))
    assert not watch.ends(0, 5.0, 0.2) and watch.status is Status.MAX_ITER
    assert watch.ends(1, 4.0, 0.1) and watch.status is Status.CONVERGED
    assert told == [(0, 0.2), (1, 0.1)] and watch.rows == [(5.0, 0.2, 0.0), (4.0, 0.1, 0.0)]
    for answer, status in ((True, Status.STOPPED), (Status.TIME, Status.TIME), (False, Status.MAX_ITER)):
        asked = Watch(0.1, lambda *_, answer=answer: answer)
        assert asked.ends(0, 1.0, 1.0) is (status is not Status.MAX_ITER) and asked.status is status
    both = Watch(0.1, lambda *_: Status.TIME)
    assert both.ends(0, 1.0, 0.0) and both.status is Status.CONVERGED  # what has converged was not cut short
    assert not Watch(0.1).ends(0, 1.0, np.nan)
