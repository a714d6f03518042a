from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC
from mercer.choosing import Effort, KernelSearchCV
from mercer.choosing.effort import survivors
from mercer.errors import ParameterError
from mercer.kernels import Gaussian


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "luck"}, {"calls": 0}, {"restarts": -1}, {"max_time": 0.0}, {"memory": "much"}, {"n_threads": 0},
        {"checkpoint": 3}, {"random_state": -1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_arguments_are_checked(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Effort(**wrong).check()


def test_it_is_a_parameter_like_others():
    search = clone(KernelSearchCV(SVC(Gaussian(1.0)), {"C": [1.0]}, effort=Effort(max_time=3.0)))
    assert search.effort == Effort(max_time=3.0) and search.set_params(effort__max_time=5.0).effort.max_time == 5.0
    with pytest.raises(ParameterError, match="an Effort or None"):
        search.set_params(effort="much").fit([[0.0], [1.0]], [0, 1])


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
