import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from mercer.errors import ParameterError
from mercer.theory import (
    boosting_bound,
    kernel_ball_rademacher,
    margin_bound,
    mkl_bound,
    mkl_rademacher,
    novelty_bound,
    ramp_loss,
    regression_bound,
    svm_bound,
)
from mercer.theory.margin_bounds import _weight

LAST = 3.0 * math.sqrt(math.log(2.0 / 0.1) / 8.0)  # 3 sqrt(ln(2 / delta) / (2 m)) for m = 4, delta = 0.1


def test_svm_bound_by_hand():
    """m = 4, gamma = 1/2, slacks sum to 1, trace 16: 1 / 2 + 4 * 4 / 2 + the rest."""
    bound = svm_bound([0.25, 0.0, 0.75, 0.0], [1.0, 3.0, 4.0, 8.0], 0.5, 0.1)
    assert [term.value for term in bound.terms] == pytest.approx([0.5, 8.0, LAST], rel=1e-14)
    assert bound == pytest.approx(8.5 + LAST, rel=1e-14)
    assert bound.is_vacuous
    assert "the margin" in bound.unpaid


def test_svm_bound_of_a_gaussian_kernel():
    """[ST]: for the Gaussian kernel the second term is 4 / (sqrt(m) gamma)."""
    assert svm_bound(np.zeros(400), np.ones(400), 0.3).terms[1].value == pytest.approx(4.0 / (20.0 * 0.3), rel=1e-14)


def test_boosting_bound_by_hand():
    bound = boosting_bound([0.0, 1.0, 0.5, 0.5], 3.0, 0.25, 0.1)
    assert [term.value for term in bound.terms] == pytest.approx([0.5, 0.75, LAST], rel=1e-14)


def test_novelty_bound_by_hand():
    bound = novelty_bound([0.0, 2.0, 0.0, 0.0], 1.5, 0.5, 0.1)
    assert [term.value for term in bound.terms] == pytest.approx([1.0, 6.0 * 2.25 / (0.5 * 2.0), LAST], rel=1e-14)


def test_mkl_bound_by_hand_without_the_misprints():
    """The trace has its root, and the whole Rademacher part is divided by gamma."""
    bound = mkl_bound([0.0, 1.0, 0.0, 0.0], [16.0, 4.0], 0.5, 0.1)
    many = 8.0 * math.sqrt(math.log(2.0 * 3.0 / 0.1) / 8.0)
    expected = [0.5, 2.0 / 4.0 * 4.0 / 0.5, many / 0.5, 3.0 * math.sqrt(math.log(40.0) / 8.0)]
    assert [term.value for term in bound.terms] == pytest.approx(expected, rel=1e-14)
    assert mkl_rademacher([16.0, 4.0], 4, 0.1) == pytest.approx(2.0 + many, rel=1e-14)
    assert mkl_rademacher([16.0, 4.0], 4, 0.1, radius=3.0) == pytest.approx(2.0 + 3.0 * many, rel=1e-14)


def test_mkl_bound_grows_with_the_logarithm_of_the_number_of_kernels():
    """Ten times as many kernels (and one for the union) add 64 ln(10) / (2 m) to the square of the second term."""
    few, many = (mkl_rademacher(np.zeros(n), 10) ** 2 for n in (9, 99))
    assert many - few == pytest.approx(64.0 * math.log(10.0) / 20.0, rel=1e-12)


def test_weights_of_the_union_sum_to_one_at_most():
    assert sum(_weight(k) for k in range(-5000, 5001)) == pytest.approx(1.0, abs=2e-4)
    assert [round(1.0 / _weight(k)) for k in (0, 1, -1, 2, -2)] == [2, 6, 12, 20, 30]


def test_ramp_is_between_errors_and_hinge():
    t = np.linspace(-2.0, 2.0, 41)
    ramp = ramp_loss(t, 0.5)
    assert ((t <= 0.0) <= ramp).all()
    assert (ramp <= np.maximum(0.0, 1.0 - t / 0.5) + 1e-15).all()


def test_learned_margin_is_the_best_of_the_union_by_hand():
    t = np.array([0.1, 0.9, 2.0, 4.0] * 200)
    complexity = kernel_ball_rademacher(np.ones(800))
    found = margin_bound(t, 2.0, complexity, offset=0.7, delta=0.02, choices=5)
    tried = []
    for k in range(-20, 41):
        for l in range(-1, 3):  # 2^l >= 0.35
            share = 0.02 / 5.0 * _weight(k) * _weight(l)
            ramp = np.clip(1.0 - t / 2.0 * 2.0**k, 0.0, 1.0).mean()
            rest = 3.0 * math.sqrt(math.log(2.0 / share) / 1600.0)
            tried.append(ramp + 2.0**k * (complexity + 2.0 * 2.0**l * math.sqrt(2.0 * math.log(2.0) / 800.0)) + rest)
    assert found == pytest.approx(min(tried), rel=1e-12)
    assert sum(term.value for term in found.terms) == pytest.approx(float(found), rel=1e-15)
    assert len(found.paid) == 3


def test_learned_margin_does_not_depend_on_the_scale_of_the_function():
    t = np.random.default_rng(0).normal(1.0, 1.0, 500)
    first, second = (margin_bound(s * t, s * 3.0, 0.05, offset=s * 0.4) for s in (1.0, 1000.0))
    assert first == pytest.approx(float(second), rel=1e-12)


def test_offset_and_choices_cost_something():
    t = np.full(1000, 1.0)
    plain, offset, chosen = (margin_bound(t, 1.0, 0.05, **k) for k in ({}, {"offset": 0.5}, {"choices": 50}))
    assert plain < offset
    assert plain < chosen


def test_a_constant_function_is_covered():
    assert margin_bound(np.full(5000, 1.0), 0.0, 0.02, offset=1.0) < 1.0


def test_regression_bound_by_hand():
    """m = 4, norm 3 < 2^2, L = 2, M = 5; -2 is the fifth of 0, 1, -1, 2, -2: the share of 2^2 is 1 / 30."""
    found = regression_bound([1.0, 2.0, 0.0, 5.0], 3.0, 0.5, width=5.0, lipschitz=2.0, delta=0.1)
    rest = 15.0 * math.sqrt(math.log(2.0 * 30.0 / 0.1) / 8.0)
    assert [term.value for term in found.terms] == pytest.approx([2.0, 4.0, rest], rel=1e-14)
    assert found.is_vacuous  # losses are at most 5 anyway


def test_losses_beyond_the_width_are_refused():
    with pytest.raises(ParameterError, match="Clip the"):
        regression_bound([1.0, 2.0], 1.0, 0.1, width=1.5)
    with pytest.raises(ParameterError, match="per sample"):
        svm_bound([1.0], [1.0, 1.0], 1.0)
    with pytest.raises(ParameterError, match="zero or more"):
        boosting_bound([-1.0], 1.0, 0.1)


def test_bounds_hold_where_the_truth_is_known():
    """Two normal classes and the difference of their means; the error of a direction is a normal probability.

    Each bound fails with probability 0.02 at most; of 40 draws more than the quantile fail once in a million.
    """
    rng = np.random.default_rng(0)
    draws, m, delta, centre = 40, 300, 0.02, np.array([1.5, 0.0, 0.0])
    failures = 0
    for _ in range(draws):
        y = rng.choice([-1.0, 1.0], m)
        X = y[:, None] * centre + rng.normal(size=(m, 3))
        w = (y[:, None] * X).mean(axis=0)
        w /= np.linalg.norm(w)
        truth = norm.cdf(-w @ centre)
        bound = margin_bound(y * (X @ w), 1.0, kernel_ball_rademacher((X**2).sum(axis=1)), delta=delta)
        failures += truth > bound
    assert failures <= binom.isf(1e-6, draws, delta)
