"""Scores that a search knows, and the file it goes on from."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer.choosing import Effort
from mercer.choosing.progress import Ledger

X, Y = np.arange(8.0)[:, None], np.arange(8) % 2
CANDIDATES = [{"C": 1.0}, {"C": 2.0}]
SPLITS = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]


def asked(scoring=None, told=None):
    return SimpleNamespace(
        estimator="SVC()", scoring=scoring, error_score=np.nan, progress=told, return_train_score=False
    )


@dataclass
class Work:
    splits: Any
    report: Any = None


def row(score):
    return {"test_scores": score, "fit_error": None, "fit_time": 0.0, "score_time": 0.0, "n_test_samples": 4}


def test_what_is_begun_and_what_is_finished():
    shares = []
    ledger = Ledger.of(asked(told=shares.append), Effort(), X, Y, CANDIDATES, SPLITS)
    ledger.keep([0, 1], [0, 1], {(0, 0): row(0.5), (0, 1): row(0.7), (1, 0): row(0.2)})
    assert ledger.finished() == [0] and ledger.begun(1) and shares == [0.75]
    assert np.isnan(ledger.result(1, 1)["test_scores"]) and ledger.result(0, 1)["test_scores"] == 0.7


def test_scores_are_kept_and_only_what_is_missing_is_computed(tmp_path):
    calls = []

    def scored(work, candidates):
        calls.append(len(candidates) * len(work.splits))
        work.report({(i, j): row(float(i)) for i in range(len(candidates)) for j in range(len(work.splits))})

    for expected in ([4], [4]):  # the second search finds all scores in the file
        ledger = Ledger.of(asked(), Effort(checkpoint=tmp_path / "scores.json"), X, Y, CANDIDATES, SPLITS)
        ledger.score(Work(SPLITS), CANDIDATES, [0, 1], [0, 1], scored)
        assert calls == expected and ledger.finished() == [0, 1]
    other = Ledger.of(asked("f1"), Effort(checkpoint=tmp_path / "scores.json"), X, Y, CANDIDATES, SPLITS)
    assert not other.results  # the scores of another search
