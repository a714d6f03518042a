"""Which candidates are scored on which folds."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.choosing.strategies import survivors


def played(strategy, S, metric=None):
    """Play a search whose scores are known; return how often each candidate was scored."""
    ledger, counts = SimpleNamespace(results={}), np.zeros(len(S), dtype=int)
    for places, folds in survivors(strategy, *S.shape, ledger, metric):
        for i in places:
            for j in folds:
                score = S[i, j] if metric is None else {metric: S[i, j]}
                ledger.results[i, j] = {"test_scores": score}
                counts[i] += 1
    return counts


@pytest.mark.parametrize("metric", [None, "r2"])
def test_everybody_or_the_better_half(metric):
    S = np.repeat(np.arange(8.0)[:, None], 5, axis=1)
    assert played("all", S, metric).tolist() == [5] * 8
    halved = played("halving", S, metric)
    assert halved[-1] == 5 and halved[0] == 1 and np.all(np.diff(halved) >= 0)


def test_a_race_is_lost_by_more_than_chance():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(3, 10)) * 1e-3 + np.array([[1.0], [0.5], [1.0]])
    counts = played("racing", S)
    assert counts[1] == 3 and max(counts[0], counts[2]) == 10


def test_a_fit_that_failed_has_lost():
    S = np.array([[np.nan] * 4, [0.1] * 4])
    assert played("halving", S).tolist() == [1, 4]
