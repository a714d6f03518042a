import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.solvers.linear.border import Border


@pytest.fixture(params=[(12, 1), (12, 3), (300, 4), (3, 3)], ids=str)
def border(request):
    n, s = request.param
    B = np.random.default_rng(n + s).normal(size=(n, s)) * 10.0 ** np.arange(s)
    return B


def test_turning_is_orthogonal_and_its_own_way_back(border):
    coordinates = Border.of(border)
    n = len(border)
    Q = coordinates.back(np.eye(n))
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(coordinates.into(np.eye(n)), Q.T, atol=1e-13)
    np.testing.assert_allclose(coordinates.thin(), Q[:, : coordinates.count], atol=1e-13)


def test_the_border_lies_in_the_first_coordinates(border):
    coordinates = Border.of(border)
    turned = coordinates.into(border)
    np.testing.assert_allclose(turned[border.shape[1] :] / np.abs(border).max(axis=0), 0.0, atol=1e-13)


def test_multipliers_express_a_vector_of_the_span_in_the_border(border):
    coordinates = Border.of(border)
    X = np.random.default_rng(0).normal(size=(border.shape[1], 2))
    np.testing.assert_allclose(border @ coordinates.multipliers(X), coordinates.thin() @ X, atol=1e-11)


def test_a_matrix_is_turned_in_its_place(border):
    n = len(border)
    X = np.random.default_rng(1).normal(size=(n, n))
    G = X + X.T
    coordinates = Border.of(border)
    Q = coordinates.back(np.eye(n))
    turned = G.copy()
    coordinates.turn(turned)
    np.testing.assert_allclose(turned, Q.T @ G @ Q, atol=1e-11)


@pytest.mark.parametrize(
    "border, rank",
    [
        (np.ones((5, 2)), 1),
        (np.column_stack([np.ones(5), np.arange(5), 3.0 - 2.0 * np.arange(5)]), 2),
        (np.column_stack([np.ones(5), np.zeros(5)]), 1),
        (np.eye(3)[:2], 2),
        (np.zeros((4, 1)), 0),
    ],
    ids=["twice", "combination", "zero column", "more functions than samples", "zero"],
)
def test_dependent_functions_are_refused(border, rank):
    with pytest.raises(ParameterError, match=f"rank {rank}; .* independent .* Leave out"):
        Border.of(border)


def test_very_different_sizes_are_not_dependence():
    x = np.linspace(0.0, 1.0, 20)
    B = np.column_stack([1e200 * np.ones(20), 1e-200 * x])
    m = Border.of(B).multipliers(Border.of(B).thin().T @ (2.0 + 3.0 * x)[:, None])
    np.testing.assert_allclose(m[:, 0], [2e-200, 3e200], rtol=1e-12)
