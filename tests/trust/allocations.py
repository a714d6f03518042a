"""Allocations that fail: the k-th array that a fit, a prediction or a save asks NumPy for cannot be had.

NumPy's functions that make arrays are exchanged for ones that raise MemoryError at the k-th call, wherever it is made:
in mercer, SciPy or scikit-learn; compiled loops have their own. What fails has to fail by a memory error, leave no half
file and no half model, and the same object, asked again, has to give what one that was left alone gives, to the bit.
``python -m tests.trust.allocations 5000`` prints one line of JSON with counts.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np

from mercer.errors import MercerError
from mercer.io.model_file import load, save
from mercer.kernels import Gaussian, Polynomial
from tests.contract.test_ownership import ESTIMATORS, NUMBERS, OF_FEATURES, made, said, target

__all__ = ["Failing", "main", "trial", "trials"]

MAKERS = ("array", "ascontiguousarray", "concatenate", "empty", "empty_like", "full", "ones", "zeros", "zeros_like")
STEPS = ("fit", "predict", "save")
GOOD = ("refused", "answered")


class Failing:
    """NumPy whose arrays can be had but for one: the one of a given number, counted from 1; 0 for none."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.count = number, 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Exchange the functions for a while."""
        kept = {name: getattr(np, name) for name in MAKERS}
        for name, maker in kept.items():
            setattr(np, name, functools.wraps(maker)(functools.partial(self._made, maker)))
        try:
            yield
        finally:
            for name, maker in kept.items():
                setattr(np, name, maker)

    def _made(self, maker: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.count += 1
        if self.count == self.number:
            raise MemoryError(f"Unable to allocate array number {self.number}")
        return maker(*args, **options)


def _model(estimator: type) -> Any:
    return made(estimator, kernel=Polynomial(2) if estimator in OF_FEATURES else Gaussian(1.0))


def _done(model: Any, step: str, y: Any, folder: Path, failing: Failing | None = None) -> Any:
    """Do one step with allocations that may fail, the steps before it without; return what it comes to."""
    if step != "fit":
        model.fit(NUMBERS, y)
    path = folder / "m"
    with contextlib.nullcontext() if failing is None else failing():
        if step == "fit":
            model.fit(NUMBERS, y)
        elif step == "predict":
            said(model)
        else:
            save(model, path, force=True)
    return said(load(path) if step == "save" else model)


def trial(estimator: type, step: str, number: int) -> tuple[str, int, str]:
    """Return what came of one allocation that failed, how many there were, and what was wrong."""
    y = target(estimator)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # few iterations
        folder, model, failing = Path(name), _model(estimator), Failing(number)
        expected = _done(_model(estimator), step, y, folder)  # and what is compiled is compiled
        for file in folder.iterdir():
            file.unlink()
        verdict = "answered"
        try:
            found = _done(model, step, y, folder, failing)
        except (MemoryError, MercerError):
            verdict = "refused"
            if left := [file.name for file in folder.iterdir()]:
                return "half a file", failing.count, ", ".join(left)
            left = [] if step != "fit" else sorted(set(vars(model)) - set(vars(_model(estimator))))
            if left := [attribute for attribute in left if not attribute.startswith("_")]:
                return "half a model", failing.count, ", ".join(left)
            found = _done(model, step, y, folder)
        except Exception as error:
            return "another error", failing.count, f"{type(error).__name__}: {str(error)[:200]}"
        wrong = [key for key in expected if not np.array_equal(found[key], expected[key], equal_nan=True)]
        return ("other bits", failing.count, ", ".join(wrong)) if wrong else (verdict, failing.count, "")


def trials(count: int, seed: int = 0) -> dict[str, Any]:
    """Return counts over estimators and steps in turn, each with a failure at a place drawn at random."""
    began, rng = time.monotonic(), np.random.default_rng(seed)
    cases = [(e, step) for step in STEPS for e in ESTIMATORS if step == "fit" or hasattr(e, "predict") or _says(e)]
    totals: dict[tuple[type, str], int] = {}
    counts: Counter[str] = Counter()
    wrong = []
    order = rng.permutation(len(cases))
    for turn in range(count):
        case = cases[order[turn % len(cases)]]
        try:
            if case not in totals:
                totals[case] = trial(*case, 0)[1]
            number = int(rng.integers(1, max(totals[case], 1) + 1))
            verdict, _, detail = trial(*case, number)
        except MercerError:  # what cannot be saved, or does not take these data
            verdict, number, detail = "left out", 0, ""
        counts[verdict] += 1
        if verdict not in (*GOOD, "left out"):
            wrong.append(f"{case[0].__name__}, {case[1]}, array {number}: {verdict} {detail}")
    told = {"failures": count, **counts, "wrong": len(wrong), "first": wrong[:50]}
    return {**told, "seconds": round(time.monotonic() - began, 1)}


def _says(estimator: type) -> bool:
    return any(inspect.isfunction(getattr(estimator, name, None)) for name in ("transform", "score_samples"))


def main(arguments: list[str]) -> int:
    """Let some allocations fail and print the counts as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    told = trials(given.count, given.seed)
    print(json.dumps(told))
    return 1 if told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
