"""Change points against direct sums, singular vectors and changes that are known."""

import numpy as np
import pytest

from mercer.errors import DomainError, MemoryBudgetError, ParameterError, TimeBudgetError
from mercer.estimators.dependence.change_points import (
    ChangeScores,
    change_point_test,
    krylov_scan,
    mmd_scan,
    series_windows,
)
from mercer.inference.dependence_measures import mmd
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
JUMP = rng.normal(size=200) + np.repeat([0.0, 2.0], 100)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_the_scan_is_the_discrepancy_at_each_time(estimator):
    found = mmd_scan(JUMP, 7, Gaussian(1.0), future=5, estimator=estimator)
    np.testing.assert_array_equal(found.times, np.arange(7, 196))
    for t in (7, 8, 60, 103, 104, 195):
        expected = mmd(JUMP[t - 7 : t], JUMP[t : t + 5], Gaussian(1.0), estimator=estimator)
        assert found.scores[t - 7] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_jumps_are_found():
    assert abs(mmd_scan(JUMP, 40).peaks(1)[0] - 100) <= 5
    twice = np.concatenate([JUMP, JUMP[:100]])
    assert sorted(np.round(mmd_scan(twice, 40).peaks(2, distance=40), -1)) == [100, 200]
    texts = ["aab"] * 10 + ["bba"] * 10
    assert mmd_scan(texts, 4, Spectrum(2)).peaks(1)[0] == 10


def test_peaks_are_ordered_apart_and_high():
    scores = ChangeScores(np.arange(10, 17), np.array([5.0, 1.0, 4.0, 1.0, 2.0, 0.0, 3.0]))
    np.testing.assert_array_equal(scores.peaks(), [10, 12, 16, 14])
    np.testing.assert_array_equal(scores.peaks(2), [10, 12])
    np.testing.assert_array_equal(scores.peaks(threshold=3.5), [10, 12])
    np.testing.assert_array_equal(scores.peaks(distance=3), [10, 16, 14][:2])


def direct(past, future, rank):
    """1 - the squared length of the leading direction's projection, by singular vectors."""
    mu = np.linalg.svd(future)[2][0]
    U = np.linalg.svd(past)[2][:rank]
    return 1.0 - float(np.sum((U @ mu) ** 2))


def test_the_krylov_score_is_the_direct_one_with_all_steps():
    W = series_windows(np.sin(0.3 * np.arange(60)) + 0.3 * rng.normal(size=60), 6)
    all_steps = krylov_scan(W, 10, future=8, rank=2, steps=11)
    few = krylov_scan(W, 10, future=8, rank=2)
    exact = np.array([direct(W[t - 10 : t], W[t : t + 8], 2) for t in all_steps.times])
    np.testing.assert_allclose(all_steps.scores, exact, atol=1e-8)
    assert np.abs(few.scores - exact).max() < 0.1 * max(exact.max(), 0.1)  # four steps of six


def test_the_krylov_score_in_feature_space_is_that_of_the_images():
    W = rng.normal(size=(30, 2))
    images = np.linalg.cholesky(Gaussian(1.0)(W) + 1e-13 * np.eye(30))
    found = krylov_scan(W, 8, Gaussian(1.0), rank=3, steps=9)
    exact = [direct(images[t - 8 : t], images[t : t + 8], 3) for t in found.times]
    np.testing.assert_allclose(found.scores, exact, atol=1e-6)


def test_directions_that_are_not_there_are_not_counted():
    before, after = np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (4, 1)), np.tile([0.6, 0.0, 0.8], (8, 1))
    scores = krylov_scan(np.vstack([before, after]), 8, rank=3, steps=9).scores
    np.testing.assert_allclose(scores, [0.64], atol=1e-12)  # two directions before, and 0.6 of the third sample in them


def test_a_change_of_frequency_is_found():
    t = np.arange(300)
    x = np.sin(np.where(t < 150, 0.25, 0.5) * t) + 0.05 * rng.normal(size=300)
    peak = krylov_scan(series_windows(x, 20), 20, rank=2).peaks(1)[0]  # rows begin 20 values before they end
    assert 125 <= peak <= 155
    assert np.all(krylov_scan(series_windows(x, 20), 20, rank=3).scores >= 0.0)


def test_the_test_has_its_level_and_power():
    found = change_point_test(JUMP[60:140], n_permutations=99)
    assert found.p_value == 0.01 and abs(found.time - 40) <= 3
    t = found.time
    expected = t * (80 - t) / 80 * mmd(JUMP[60 : 60 + t], JUMP[60 + t : 140], Gaussian("median"), estimator="biased")
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    p = [change_point_test(np.random.default_rng(i).normal(size=30), n_permutations=19).p_value for i in range(100)]
    assert 1 <= np.sum(np.array(p) <= 0.1) <= 21  # binomial of 100 and 0.1, beyond one in a thousand
    assert change_point_test(np.ones(20), n_permutations=9).p_value == 1.0


def test_the_orders_may_come_from_a_generator():
    x = JUMP[80:120]
    for seed in (3, np.random.default_rng(3), np.random.RandomState(3), None):
        assert change_point_test(x, n_permutations=19, random_state=seed).p_value == 0.05
    again = [change_point_test(JUMP[:40], n_permutations=50, random_state=s).p_value for s in (None, 0)]
    assert again[0] == again[1]
    with pytest.raises(ParameterError, match="Generator is accepted"):
        change_point_test(x, random_state="yes")


@pytest.mark.parametrize(
    "call", [lambda **k: mmd_scan(np.tile(JUMP, 3), 7, **k), lambda **k: krylov_scan(np.tile(JUMP, 3), 7, **k),
             lambda **k: change_point_test(JUMP, n_permutations=9, **k)],
    ids=["mmd_scan", "krylov_scan", "change_point_test"],
)  # fmt: skip
def test_budgets_and_progress(call):
    told = []
    with_one, plain = call(n_threads=1, memory="100MB", monitor=told.append), call()
    scores = [getattr(found, "scores", found) for found in (with_one, plain)]
    np.testing.assert_array_equal(*(getattr(s, "scores", s) for s in scores))
    assert told[-1] == pytest.approx(1.0) and np.all(np.diff(told) >= 0.0)
    with pytest.raises(MemoryBudgetError):
        call(memory=1000)
    with pytest.raises(TimeBudgetError, match="stopped by its monitor"):
        call(monitor=lambda fraction: True)
    with pytest.raises(ParameterError, match="n_threads"):
        call(n_threads=0)


def test_windows_of_a_series():
    np.testing.assert_array_equal(series_windows(np.arange(8.0).reshape(4, 2), 2)[1], [2.0, 3.0, 4.0, 5.0])
    with pytest.raises(ParameterError, match="at most 3"):
        series_windows([1.0, 2.0, 3.0], 4)
    with pytest.raises(DomainError, match="are needed"):
        mmd_scan(JUMP[:9], 5)
    with pytest.raises(ParameterError, match="steps"):
        krylov_scan(JUMP[:, None], 9, rank=3, steps=2)
    with pytest.raises(DomainError, match="are needed"):
        change_point_test(JUMP[:5])
    np.testing.assert_array_equal(
        krylov_scan(np.zeros((12, 2)), 3, Linear()).scores, np.zeros(7)
    )  # nothing is there, nothing has changed
