"""``mercer fit --search``: a kernel of sums and products, grown for a table within a budget, and its parts."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer.estimators  # whose names are imported when they are used
from mercer.arrays import Array
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Problem, samples
from mercer.io.tables import Table
from mercer.selection.automatic import base_kernels, some_rows

__all__ = ["grown"]

ROWS = 300  # at most this many decide: each kernel that is tried is a Gaussian process with a search of its own


def grown(
    problem: Problem, y: Array, tries: int, max_time: float | None, progress: Callable[[float], Any], *, classes: bool
) -> tuple[Any, list[str]]:
    """Return a Gaussian process that is not fitted, with the best kernel found, and sentences about its parts."""
    if not isinstance(problem.data, Table):
        raise UsageFault(
            f"--search was given with {problem.data.path}, which is no table; kernels of columns are composed. Leave "
            "it out, or name the kernel with --estimator."
        )
    rows = some_rows(problem.n, ROWS)
    some = problem.take(rows)
    assert isinstance(some.data, Table)
    kinds = {name: "number" if kind == "boolean" else kind for name, kind in problem.data.kinds.items()}
    codes = np.unique(y[rows], return_inverse=True)[1].astype(float) if classes else y[rows]
    bases = base_kernels(some.data.columns, kinds, codes)
    grammar = importlib.import_module("mercer.choosing.grammar")
    done = [0]

    def show(expression: str, value: float) -> None:
        done[0] += 1
        progress(min(1.0, done[0] / tries))

    # the sum of all reads the columns that any of them does
    X = samples(some.data, sum(bases[1:], bases[0]))[0]
    found = grammar.compose_kernel(X, y[rows], bases, classes=classes, max_fits=tries, max_time=max_time, progress=show)
    if classes:
        process: Any = mercer.estimators.GaussianProcessClassifier(found.kernel, fixed="all")
    else:
        noise = float(np.mean(found.process.noise_))
        process = mercer.estimators.GaussianProcessRegressor(found.kernel, noise, fixed="all")
    steps = [
        f"{len(found.tried)} kernels, composed of {len(bases)}, were compared by the evidence of a Gaussian process "
        f"less half of log n for each parameter{'' if found.complete else '; the budget ended the search'}"
    ]
    if len(rows) < problem.n:
        steps.append(f"{len(rows)} of {problem.n} rows, drawn at random once, decided")
    shares = found.shares(X)
    steps += [f"{share:.1%} of the function: {text}" for text, share in shares.items()]
    return process, steps
