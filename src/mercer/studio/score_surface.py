"""The score in folds over cost and width: a Gaussian kernel on the columns of numbers of the user's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.choosing import KernelSearchCV
from mercer.cli.inputs import pose
from mercer.errors import ParameterError
from mercer.estimators import SVC, KernelRidge
from mercer.io.tables import Table
from mercer.kernels import Gaussian
from mercer.selection.automatic import find_task, some_rows
from mercer.studio.form_fields import Form
from mercer.studio.pixels import packed_floats
from mercer.studio.snippets import command
from mercer.studio.user_files import dataset

__all__ = ["surface"]

Tell = Callable[[dict[str, Any]], None]

ROWS = 500  # rows that are scored
FOLDS = 5
WIDTHS = tuple(float(f"{2.0**p:.4g}") for p in np.arange(-3, 4))
COSTS = tuple(float(f"{10.0**p:.4g}") for p in np.arange(-2, 4))


def surface(fields: Any, tell: Tell) -> dict[str, Any]:
    """Return the score in folds over cost and width: a Gaussian kernel on the columns of numbers, each scaled."""
    data, target = dataset(fields), Form(fields).text("target")
    if not isinstance(data, Table):
        raise ParameterError(f"This file holds {data.kind}; a width is that of columns of numbers. Choose a table.")
    problem = pose(data, target, None, None, drop=True)
    assert problem.y is not None and isinstance(problem.data, Table)
    names = problem.data.of_kind("number", "boolean")
    if not names:
        raise ParameterError("No column holds numbers, so there is no width. Look at the leaderboard instead.")
    rows = some_rows(problem.n, ROWS)
    X = np.column_stack([np.asarray(problem.data.columns[name], dtype=float) for name in names])[rows]
    spread = X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    X = (X - X.mean(axis=0)) / spread
    y, task = problem.y[rows], find_task(problem.y)
    model: Any = SVC(Gaussian(1.0)) if task == "classification" else KernelRidge(Gaussian(1.0))
    unit = float(np.sqrt(len(names)))
    widths = [float(f"{unit * w:.4g}") for w in WIDTHS]
    cost = "C" if task == "classification" else "alpha"
    values = COSTS if cost == "C" else tuple(1.0 / (2.0 * c) for c in COSTS)
    folds = _folds(y, task)
    scores = []
    for done, width in enumerate(widths):
        grid = {cost: list(values), "kernel__length_scale": [width]}
        search = KernelSearchCV(model, grid, cv=folds, refit=False).fit(X, y)
        order = {params[cost]: place for place, params in enumerate(search.cv_results_["params"])}
        means = search.cv_results_["mean_test_score"]
        scores.append([float(means[order[value]]) for value in values])
        tell({"doing": "surface", "share": (done + 1) / len(widths)})
    table = np.array(scores).T[::-1]  # costs upwards, widths to the right
    best = np.unravel_index(np.argmax(table), table.shape)
    width, value = widths[int(best[1])], list(values)[::-1][int(best[0])]
    asked = _Surface(fields["name"], target, tuple(names), problem.n, y.dtype.kind in "iu", cost, values, tuple(widths),
                     type(folds).__name__)  # fmt: skip
    return {
        "numbers": table.ravel().tolist(),
        "python": asked.python(),
        "command": asked.commands(width, value, spread),
        "surface": packed_floats(table),
        "widths": widths,
        "costs": list(values),
        "cost_name": cost,
        "task": task,
        "rows": len(rows),
        "best": [width, value, float(table.max())],
        "words": (
            f"Mean score of {FOLDS} folds on {len(rows)} rows over {cost} and the width of a Gaussian kernel on "
            f"{len(names)} columns of numbers: best {table.max():.3f}, worst {table.min():.3f}."
        ),
    }


def _folds(y: Any, task: str) -> Any:
    """Return the folds of ``mercer fit``."""
    few = task != "classification" or np.unique(y, return_counts=True)[1].min() < FOLDS
    return (KFold if few else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)


# copies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Surface:
    """What was scored: a file, its target and columns, and the values of cost and width."""

    file: str
    target: str
    names: tuple[str, ...]
    n: int
    whole: bool
    cost: str
    costs: tuple[float, ...]
    widths: tuple[float, ...]
    folds: str

    @property
    def machine(self) -> str:
        return "SVC" if self.cost == "C" else "KernelRidge"

    def python(self) -> str:
        """Return a program that prints the scores row by row, the largest cost first."""
        drawn = f"rows = np.sort(np.random.default_rng(0).choice(len(y), size={ROWS}, replace=False))"
        lines = [
            "import numpy as np",
            f"from mercer import {self.machine}",
            "from mercer.choosing import KernelSearchCV",
            "from mercer.io import read",
            "from mercer.kernels import Gaussian",
            f"from sklearn.model_selection import {self.folds}",
            "",
            f"data = read({self.file!r})",
            'used = [*data.of_kind("number", "boolean", "category", "text"), ' + f"{self.target!r}]",
            f"rest, y = data.take(data.complete(used)).split_target({self.target!r})",
            *(["y = y.astype(int)"] if self.whole else []),
            f"X = np.column_stack([rest.columns[name] for name in {list(self.names)!r}])",
            *([drawn, "X, y = X[rows], y[rows]"] if self.n > ROWS else []),
            "spread = X.std(axis=0)",
            "X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)",
            f"folds = {self.folds}({FOLDS}, shuffle=True, random_state=0)",
            f"costs, columns = {list(self.costs)!r}, []",
            f"for width in {list(self.widths)!r}:",
            f'    grid = {{"{self.cost}": costs, "kernel__length_scale": [width]}}',
            f"    search = KernelSearchCV({self.machine}(Gaussian(1.0)), grid, cv=folds, refit=False).fit(X, y)",
            '    scores = search.cv_results_["mean_test_score"]',
            f'    order = [params["{self.cost}"] for params in search.cv_results_["params"]]',
            "    columns.append([float(scores[order.index(cost)]) for cost in costs])",
            "print(np.array(columns).T[::-1].ravel().tolist())",
        ]
        return "\n".join(lines) + "\n"

    def commands(self, width: float, cost: float, spread: Any) -> str:
        """Return the command that scores the best point in folds: with a width per column instead of scaled columns."""
        kernel = Gaussian([float(width * s) for s in spread])
        words = ["mercer", "fit", self.file, "--target", self.target, "--features", ",".join(self.names)]
        words += ["--estimator", f"{self.machine}({kernel!r}, {self.cost}={cost!r})", "--folds", str(FOLDS)]
        words += ["--metric", "accuracy" if self.cost == "C" else "r2"]  # the mean over folds
        words += ["--missing", "drop", "--no-report", "-o", "best.mercer", "--force", "--json"]
        note = [f"# The picture is of {ROWS} rows drawn from {self.n}; this is of all."] if self.n > ROWS else []
        return "\n".join([*note, command(*words)]) + "\n"
