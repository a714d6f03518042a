"""Lengths of columns by the evidence of least squares."""

import numpy as np
import pytest

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.selection.tables.column_lengths import (
    PROFILES,
    Lengths,
    Rows,
    evidence,
    held_together,
    left_out,
    same_length,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
Y = np.column_stack([np.sin(X[:, 0]) + 0.1 * rng.normal(size=40), X[:, 1] ** 2])
Y = Y - Y.mean(axis=0)
GROUPS = np.array([0, 1, 1, 2])
T = np.array([0.3, 0.8, 1.5])
WEIGHT = rng.uniform(0.5, 1.5, size=40)
ROWS = Rows(X, Y, GROUPS, WEIGHT)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_criterion_is_the_evidence_of_processes_at_their_best_amplitude(profile):
    y = Y[:, :1]
    value, _, _ = evidence(T, np.log(0.2), Rows(X, y, GROUPS, WEIGHT), profile)
    noise = 0.2 / WEIGHT
    lengths = tuple(np.exp(T)[GROUPS])
    K = profile.kernel(lengths)(X)
    amplitude = float(y[:, 0] @ np.linalg.solve(K + np.diag(noise), y[:, 0])) / 40
    process = GaussianProcessRegressor(
        amplitude * profile.kernel(lengths), noise=noise * amplitude, fixed="all", mean=None
    )
    process = process.fit(X, y[:, 0])
    # half of n (1 + log 2 pi) does not depend on lengths
    assert -process.log_marginal_likelihood_ == pytest.approx(value + 20.0 * (1.0 + np.log(2.0 * np.pi)), rel=1e-9)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_derivatives(profile):
    _, gradient, noise = evidence(T, -1.5, ROWS, profile, 0.7)
    h = 1e-5  # differences are off by h^2 and by 1e-16 / h times values of some hundred
    for j, step in enumerate(h * np.eye(3)):
        up, down = (evidence(T + sign * step, -1.5, ROWS, profile, 0.7)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((up - down) / (2.0 * h), abs=1e-5 * max(1.0, abs(gradient[j])))
    up, down = (evidence(T, -1.5 + sign * h, ROWS, profile, 0.7)[0] for sign in (1, -1))
    assert noise == pytest.approx((up - down) / (2.0 * h), abs=1e-5 * max(1.0, abs(noise)))


def test_searches_go_down():
    profile = PROFILES[0]
    same = same_length(ROWS, profile)
    assert np.ptp(same.log_lengths) == 0.0
    free = held_together(ROWS, profile, 0.0, same)
    tight = held_together(ROWS, profile, 1e9, same)
    assert free.value <= same.value
    assert np.ptp(tight.log_lengths) < 1e-3 < np.ptp(free.log_lengths)
    assert free.log_lengths[2] > free.log_lengths[0]  # the last column says nothing


def test_rows_left_out_are_predicted_by_ridge_regression():
    at, profile = Lengths(T, np.log(0.3), 0.0), PROFILES[1]
    rows, kept = np.arange(10), np.arange(10, 40)
    ridge = KernelRidge(profile.kernel(tuple(np.exp(T)[GROUPS])), alpha=0.3, fit_intercept=False)
    ridge.fit(X[kept], Y[kept], WEIGHT[kept])
    np.testing.assert_allclose(left_out(ROWS, profile, at, kept, rows), ridge.predict(X[rows]), rtol=1e-9, atol=1e-10)


def test_equal_rows_and_constant_targets_end():
    same = same_length(Rows(np.zeros((30, 2)), rng.normal(size=(30, 1)), np.array([0, 1]), np.ones(30)), PROFILES[0])
    assert np.isfinite(same.log_lengths).all()
