"""``mercer certificate``: how far a saved model can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from sklearn.base import is_classifier, is_regressor
from threadpoolctl import threadpool_limits

from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Reading, as_target
from mercer.cli.predict import budgeted, guessed, new_samples, opened
from mercer.cli.terminal import Terminal
from mercer.io.datasets import Dataset
from mercer.io.model_file import load

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    model: Path
    data: Path
    target: str | None
    delta: float
    candidates: int | None
    held_out: Path | None
    folds: int
    max_time: float | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Certify a model and print the certificate."""
    request = Request(**options)
    if request.folds == 1:
        raise UsageFault("--folds 1 was given; 0 for none, or at least 2 are accepted. Give --folds 5.")
    click.get_current_context().meta["mercer.subject"] = request.model
    model = load(request.model)
    if not hasattr(model, "certificate"):
        raise UsageFault(
            f"There are no bounds for a {type(model).__name__}; there are for support vector machines, least squares "
            "and other machines whose function is in the space of a kernel. Compare models by their scores."
        )
    known = getattr(model, "data_", None) or guessed(model)
    X, y = _read(request, model, known)
    held = None
    if request.held_out is not None:
        new, truth = _read(replace(request, data=request.held_out), model, known)
        held = new if truth is None else (new, truth)
    with threadpool_limits(request.threads, user_api="blas"):
        found = budgeted(model, request).certificate(
            X, y, delta=request.delta, candidates=request.candidates, held_out=held, cv=request.folds or None
        )
    terminal.result(found.to_dict(), lambda: str(found))


def _read(request: Request, model: Any, known: dict[str, Any]) -> tuple[Any, Any]:
    """The samples of a file, and the target where the model has one."""
    click.get_current_context().meta["mercer.subject"] = request.data
    data: Dataset = opened(request, model, known)
    X = new_samples(data, model, known)
    if not (is_classifier(model) or is_regressor(model)):
        return X, None
    target = request.target or known.get("target")
    if target not in data.targets:
        raise UsageFault(
            f"{request.data} has no {target!r} to compare with; the column that the model predicts is needed. Name it "
            "with --target."
        )
    return X, as_target(data.split_target(target)[1])
