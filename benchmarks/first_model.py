"""The first model against others: `python -m benchmarks.first_model --to first.jsonl --rows 700`.

`mercer.automatic` without any option, beside scikit-learn's gradient boosting with its defaults and a support vector
machine behind a `StandardScaler`, tuned over a grid of 5 x 5. The error is the share of wrong classes, or the mean
squared error over the variance of y. `said` is the error that the model itself says it has, from rows it held out.

A line of JSON is written for each set and split; what is in the file already is not computed again. The table is
printed at the end. The sets are in two halves, by their names alone, so that a rule chosen on one half can be reported
on the other. The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import mercer
from benchmarks.defaults import half, read, sets

COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMAS = (0.001, 0.01, 0.03, 0.1, 0.3)
BEHIND = 1.02  # of the error of the better rival: more is counted as a loss


def tuned(machine: Any) -> Any:
    """A support vector machine with the best of 25 settings."""
    name = type(machine).__name__.lower()
    grid = {f"{name}__C": COSTS, f"{name}__gamma": GAMMAS}
    return GridSearchCV(make_pipeline(StandardScaler(), machine), grid)


def errors(X: np.ndarray, y: np.ndarray, kind: str, rows: int, split: int) -> dict[str, Any]:
    """Errors and processor seconds of the three on one split."""
    order = np.random.default_rng(split).permutation(len(y))
    n = min(rows, int(0.7 * len(y)))
    train, test = order[:n], order[n : n + 5000]
    a, b = X[train], X[test]
    centre, unit = (0.0, 1.0) if kind == "classes" else (float(y[train].mean()), float(y[train].std()))
    t = y[train] if kind == "classes" else (y[train] - centre) / unit

    def error(guess: np.ndarray) -> float:
        if kind == "classes":
            return float(np.mean(guess != y[test]))
        return float(np.mean((centre + unit * guess - y[test]) ** 2) / y[test].var())

    boosting = HistGradientBoostingClassifier() if kind == "classes" else HistGradientBoostingRegressor()
    fits: dict[str, Callable[[], Any]] = {
        "mercer": lambda: mercer.automatic(a, t, task="classification" if kind == "classes" else "regression"),
        "boosting": lambda: boosting.fit(a, t),
        "machine": lambda: tuned(SVC() if kind == "classes" else SVR()).fit(a, t),
    }
    found: dict[str, Any] = {"n": n, "columns": X.shape[1], "tested": len(test)}
    for name, fit in fits.items():
        begun = time.process_time()
        model = fit()
        found[f"{name} seconds"] = round(time.process_time() - begun, 2)
        found[name] = error(model.predict(b))
        if name == "mercer":
            found["said"] = 1.0 - model.score_
            found["chosen"], found["said error"] = model.leaderboard_[0].name, model.score_error_
    return found


def table(lines: list[dict[str, Any]]) -> str:
    """The mean errors of each set, ranks, and losses by more than two per cent, for both halves."""
    names = ("mercer", "boosting", "machine")
    rows = ["| set | half | rows | mercer | boosting | tuned machine | said |", "|---|---|---|---|---|---|---|"]
    ranks: dict[int, list[list[float]]] = {0: [], 1: []}
    losses = {0: 0, 1: 0}
    for name in sorted({line["set"] for line in lines}):
        own = [line for line in lines if line["set"] == name]
        means = [float(np.mean([line[who] for line in own])) for who in (*names, "said")]
        side = half(name)
        ranks[side].append(list(rankdata(means[:3])))
        losses[side] += means[0] > BEHIND * min(means[1:3])
        rows.append(f"| {name} | {side} | {own[0]['n']} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |")
    for side, found in ranks.items():
        if found:
            mean = ", ".join(f"{who} {rank:.2f}" for who, rank in zip(names, np.mean(found, axis=0), strict=True))
            rows.append(f"\nHalf {side}: mean ranks {mean}; behind the better rival on {losses[side]} of {len(found)}.")
    near = sum(abs(line["said"] - line["mercer"]) <= 2.0 * line["said error"] for line in lines)
    rows.append(f"\nSaid within two of its standard errors of the test error on {near} of {len(lines)} splits.")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("build/first_model.jsonl"))
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--minutes", type=float, default=np.inf, help="of processor time, after which it stops")
    asked = parser.parse_args()
    asked.to.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in asked.to.read_text().splitlines()] if asked.to.exists() else []
    done = {(line["set"], line["split"]) for line in lines}
    for kind in ("classes", "numbers"):
        for name in sets(kind):
            for split in range(asked.splits):
                late = time.process_time() > 60.0 * asked.minutes
                if late or (name, split) in done or (asked.only and name not in asked.only):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    line = {"set": name, "split": split, **errors(*read(name), kind, asked.rows, split)}
                lines.append(line)
                with asked.to.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
                print(line, flush=True)
    print(table(lines))


if __name__ == "__main__":
    main()
