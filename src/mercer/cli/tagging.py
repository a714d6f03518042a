"""Labels of the words of sentences: how a model of them is found, judged and applied on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

import mercer.estimators  # whose names are imported when they are used
from mercer.arrays import Array
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Problem
from mercer.cli.score_lines import scores
from mercer.kernels import Spectrum

__all__ = ["default_tagger", "held_out_scores", "require_tagger", "word_columns"]

_SHARE = 5  # a fifth of the sentences are held out


def default_tagger() -> tuple[Any, str]:
    """Return the model of sentences, not fitted, and a sentence that says what it is."""
    space = mercer.estimators.LabelSequences(window=1)
    model = mercer.estimators.KernelCRF(Spectrum(1), outputs=space, tol=1e-4)
    return model, "a label for each word: a conditional random field on the fields of a word and of its neighbours"


def require_tagger(estimator: Any) -> None:
    """Raise unless an estimator predicts sequences of labels."""
    space = getattr(estimator, "outputs", None)
    if not getattr(space, "has_sites", False):
        raise UsageFault(
            f"{type(estimator).__name__} was given with sentences, of which every word has a label; a machine with "
            "outputs=LabelSequences() predicts these. Write for example --estimator 'StructuredSVC(Spectrum(1), "
            "outputs=LabelSequences())'."
        )


def held_out_scores(estimator: Any, problem: Problem, progress: Callable[[float], Any]) -> tuple[dict[str, float], str]:
    """Fit an estimator without a fifth of the sentences, and judge their words; nothing if sentences are few."""
    n, y = problem.n, problem.y
    assert y is not None
    order = np.random.default_rng(0).permutation(n)
    test, train = order[: n // _SHARE], order[n // _SHARE :]
    known = set(np.unique(np.concatenate(list(y[train]))))
    test = np.array([i for i in test if set(y[i]) <= known], dtype=np.intp)  # a label never seen is no error to count
    if not len(test):
        return {}, "not validated: there are too few sentences"
    X = problem.data.X
    model: Any = clone(estimator)
    model.fit([X[i] for i in train], [y[i] for i in train])
    progress(1.0)
    guesses = model.predict([X[i] for i in test])
    truth = np.concatenate([y[i] for i in test])
    return scores("classification", truth, np.concatenate(guesses)), f"words of {len(test)} sentences left out"


def word_columns(model: Any, X: Sequence[Sequence[Any]], *, proba: bool) -> dict[str, Array]:
    """Return the predictions, a row for each word: which sentence, which word, what label."""
    lengths = [len(sentence) for sentence in X]
    columns = {
        "sentence": np.repeat(np.arange(1, len(X) + 1), lengths),
        "word": np.concatenate([np.arange(1, length + 1) for length in lengths]),
        "prediction": np.concatenate(model.predict(X)),
    }
    if not proba:
        return columns
    if not hasattr(model, "marginals"):
        raise UsageFault(
            f"--proba was given, and {type(model).__name__} has no probabilities. Leave it out, or fit a KernelCRF."
        )
    table = np.concatenate(model.marginals(X))
    labels = np.asarray(model.target_.classes)
    return columns | {f"probability_{label}": table[:, j] for j, label in enumerate(labels)}
