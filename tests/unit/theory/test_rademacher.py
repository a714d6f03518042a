import itertools
import math

import numpy as np
import pytest

from mercer.errors import DomainError, ParameterError
from mercer.theory import (
    ball_correlation,
    contracted_rademacher,
    empirical_rademacher_bound,
    finite_rademacher,
    gaussian_average,
    hull_correlation,
    hull_rademacher,
    kernel_ball_rademacher,
    linear_rademacher,
    offset_rademacher,
    rademacher_average,
    rademacher_bound,
    stump_correlation,
    union_correlation,
    union_rademacher,
)

ALL_SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=8))).T  # of eight samples
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4.0)


def exactly(values):
    """Return the empirical complexity of finitely many functions, (k, 8), over all signs."""
    return float((2.0 / 8.0 * (values @ ALL_SIGNS).max(axis=0)).mean())


def test_theorems_by_hand():
    bound = rademacher_bound(0.1, 0.2, 50, 0.01)
    assert bound == pytest.approx(0.1 + 0.2 + math.sqrt(math.log(100.0) / 100.0), rel=1e-14)
    bound = empirical_rademacher_bound(0.1, 0.2, 50, 0.01)
    assert bound == pytest.approx(0.1 + 0.2 + 3.0 * math.sqrt(math.log(200.0) / 100.0), rel=1e-14)
    wide = rademacher_bound(0.1, 0.2, 50, 0.01, width=4.0)  # [HSS] Eq. (91) has B in front of its root
    assert wide.terms[-1].value == pytest.approx(4.0 * math.sqrt(-math.log(0.01) / 100.0), rel=1e-14)


def test_ball_by_hand():
    assert kernel_ball_rademacher([1.0, 3.0, 5.0], 2.0) == pytest.approx(4.0 / 3.0 * 3.0, rel=1e-15)


def test_average_of_a_ball_is_between_the_closed_form_over_root_two_and_the_closed_form():
    closed = kernel_ball_rademacher(np.diag(K))
    found = rademacher_average(ball_correlation(K), len(K), 2000, 0)
    assert found.error < 0.01 * found.value
    assert closed / math.sqrt(2.0) - 5.0 * found.error <= found.value <= closed + 5.0 * found.error  # 3e-7 each side


def test_average_equals_the_closed_form_for_diagonal_matrices():
    diagonal = np.arange(1.0, 31.0)
    found = rademacher_average(ball_correlation(np.diag(diagonal), 2.0), 30, 10, 0)
    assert found.value == pytest.approx(kernel_ball_rademacher(diagonal, 2.0), rel=1e-13)
    assert found.error < 1e-13


def test_average_reaches_the_lower_end_for_two_equal_samples():
    """E|sigma_1 + sigma_2| = 1 where the closed form has sqrt(2): the constant of Khintchine and Kahane is sharp."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=2))).T
    exact = 2.0 / 2.0 * ball_correlation(np.ones((2, 2)))(signs).mean()
    assert exact == pytest.approx(kernel_ball_rademacher(np.ones(2)) / math.sqrt(2.0), rel=1e-15)


def test_stumps_are_found_as_by_trying_all():
    table = np.array([[0.0, 1.0], [0.0, 0.5], [2.0, 0.5], [3.0, -1.0], [1.0, 2.0], [1.0, 0.0], [5.0, 0.5], [2.0, 7.0]])
    stumps = [np.where(table[:, j] > t, 1.0, -1.0) for j in (0, 1) for t in (-9.0, *np.unique(table[:, j]))]
    stumps = np.array([s * stump for s in (1.0, -1.0) for stump in stumps])
    assert stump_correlation(table)(ALL_SIGNS) == pytest.approx((stumps @ ALL_SIGNS).max(axis=0))


def test_unions_follow_signs_as_well_as_their_best_part():
    first, second = ball_correlation(np.eye(8)), ball_correlation(np.ones((8, 8)))
    both = union_correlation(first, second)(ALL_SIGNS)
    assert (both == np.maximum(first(ALL_SIGNS), second(ALL_SIGNS))).all()


def test_hull_costs_nothing():
    """All signs, and many points of the hull: none follows the signs better than the corners do."""
    corners = RNG.normal(size=(4, 8))
    corners = np.concatenate([corners, -corners])
    inside = 3.0 * RNG.dirichlet(np.ones(8), 200) @ corners
    largest = hull_correlation(lambda signs: (corners @ signs).max(axis=0), 3.0)(ALL_SIGNS)
    assert ((inside @ ALL_SIGNS).max(axis=0) <= largest + 1e-12).all()
    assert (2.0 / 8.0 * largest).mean() == pytest.approx(hull_rademacher(exactly(corners), 3.0), rel=1e-13)


@pytest.mark.parametrize("psi", [lambda t: np.clip(1.0 - 2.0 * t, 0.0, 1.0), lambda t: np.maximum(0.0, 1.0 - 2.0 * t)])
def test_contraction_over_all_signs(psi):
    values = RNG.normal(size=(30, 8))
    assert exactly(psi(values)) <= contracted_rademacher(exactly(values), 2.0) + 1e-12
    assert contracted_rademacher(0.3, 2.0, absolute=True) == 1.2


def test_offset_and_finite_classes_over_all_signs():
    constants = np.array([[1.5] * 8, [-1.5] * 8])
    assert exactly(constants) <= offset_rademacher(1.5, 8)
    assert offset_rademacher(1.5, 8) == pytest.approx(2.0 * 1.5 * math.sqrt(2.0 * math.log(2.0) / 8.0), rel=1e-15)
    values = RNG.choice([-1.0, 1.0], size=(20, 8))
    assert exactly(values) <= finite_rademacher(20, 8)


def test_linear_functions_by_hand():
    """L (W r + B sqrt(2 log 2)) / sqrt(n) of the seed, and the 2 that it writes outside."""
    expected = 2.0 * 3.0 / 7.0 * (2.0 * 0.5 + 4.0 * math.sqrt(2.0 * math.log(2.0)))
    assert linear_rademacher(49, 2.0, 0.5, offset=4.0, lipschitz=3.0) == pytest.approx(expected, rel=1e-14)


def test_gaussian_average_bounds_the_rademacher_average():
    rademacher, gaussian = (f(ball_correlation(K), len(K), 1000, 1) for f in (rademacher_average, gaussian_average))
    assert rademacher.value <= math.sqrt(math.pi / 2.0) * gaussian.value + 5.0 * (rademacher.error + gaussian.error)


def test_what_is_no_class_is_refused():
    with pytest.raises(ParameterError, match="one number for each column"):
        rademacher_average(lambda signs: signs, 4, 10)
    with pytest.raises(DomainError, match="square"):
        ball_correlation(np.ones((2, 3)))
    with pytest.raises(DomainError, match="not negative"):
        kernel_ball_rademacher([1.0, -1.0])
    with pytest.raises(ParameterError, match="at least one"):
        union_correlation()


def test_a_ball_needs_the_matrix_of_a_kernel():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(DomainError, match="not positive definite"):
        ball_correlation(K)
    with pytest.raises(DomainError, match="not symmetric"):
        ball_correlation(np.triu(K))
    ball_correlation(np.ones((3, 3)))
    ball_correlation(np.zeros((3, 3)))


@pytest.mark.parametrize("answer", [lambda: 0.0, lambda signs: 1 / 0, lambda signs: signs * np.nan, lambda signs: None])
def test_functions_of_users_are_checked(answer):
    for average in (rademacher_average, gaussian_average):
        with pytest.raises(ParameterError, match="best"):
            average(answer, 4, 5, 0)
    for combined in (hull_correlation(answer), union_correlation(answer)):
        with pytest.raises(ParameterError, match="best"):
            combined(np.ones((4, 2)))


def test_union_of_balls_over_all_signs():
    """The average over all signs lies between that of the best ball and the bound, which is an equality for one."""
    rng = np.random.default_rng(3)
    m, features = 8, [rng.normal(size=(8, 2)) for _ in range(3)]
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=m)))
    lengths = np.array([np.linalg.norm(signs @ F, axis=1) for F in features])  # (3, 2^m)
    exact = 2.0 / m * lengths.max(axis=0).mean()
    traces = [(F**2).sum() for F in features]
    assert exact <= union_rademacher(traces, m)
    assert union_rademacher(traces[:1], m) == pytest.approx(2.0 / m * math.sqrt(traces[0]), rel=1e-14)
    assert union_rademacher([m], m) == pytest.approx(2.0 / math.sqrt(m), rel=1e-14)  # diagonal K: attained
    with pytest.raises(DomainError, match="zero or more"):
        union_rademacher([-1.0], m)
