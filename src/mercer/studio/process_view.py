"""Gaussian processes: draws before any data, what observations change, and the evidence over two parameters.

Observations are points of the plane; the first coordinate explains the second. Parameters are those of the kernel and
the variance of the noise, each positive, so that surfaces are drawn over their logarithms.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.estimators import GaussianProcessRegressor, sample_prior
from mercer.kernels import Kernel
from mercer.spec import free_names
from mercer.studio.form_fields import Form
from mercer.studio.pixels import packed_floats
from mercer.studio.snippets import command, data_file, python_rows

__all__ = ["evidence", "observe"]

HALF = 5.0
STEPS = 161  # places at which functions are shown
DRAWS = 8
SEED = 0
REACH = 2.5  # of a surface: natural logarithms to each side of the present value
DEPTH = 200.0  # below the largest evidence, surfaces are flat
FEWEST = 2  # observations for a search


@dataclass(frozen=True)
class _Asked:
    X: Floats
    y: Floats
    kernel: Kernel
    noise: float
    draws: int
    search: bool

    def model(self) -> GaussianProcessRegressor:
        """Return the process: with its parameters searched, or as they are."""
        return GaussianProcessRegressor(self.kernel, self.noise, fixed=() if self.search else "all", normalize_y=False)

    @property
    def written(self) -> str:
        fixed = "" if self.search else ", fixed='all'"
        return f"GaussianProcessRegressor({self.kernel!r}, noise={self.noise!r}{fixed}, normalize_y=False)"


def _asked(fields: Any) -> _Asked:
    form = Form(fields)
    points = form.points(width=2)
    kernel = form.kernel()
    search = form.flag("fit")
    if search and len(points) < FEWEST:
        raise ParameterError(f"{len(points)} observations are there; a search needs {FEWEST}. Click on the plane.")
    return _Asked(
        points[:, :1],
        points[:, 1],
        kernel,
        form.number("noise", 1e-6, 1e3),
        form.whole("draws", 0, DRAWS),
        search,
    )


def places() -> Floats:
    """Return where functions are shown, (m, 1)."""
    return np.linspace(-HALF, HALF, STEPS)[:, None]


def observe(fields: Any) -> dict[str, Any]:
    """Return mean, band and draws of a process: of the prior without observations, else of the posterior."""
    asked, T, begun = _asked(fields), places(), time.perf_counter()
    if len(asked.y) == 0:
        kernel = asked.kernel
        mean, std = np.zeros(STEPS), np.sqrt(np.maximum(np.asarray(kernel.diag(kernel.pack(T))), 0.0))
        paths = sample_prior(kernel, T, max(asked.draws, 1), random_state=SEED)
        fitted: dict[str, Any] = {"expression": repr(kernel), "noise": asked.noise, "evidence": None}
        words = f"Prior of a Gaussian process: {asked.draws} draws."
    else:
        model = asked.model().fit(asked.X, asked.y)
        mean, std = model.predict(T, return_std=True)
        paths = model.sample_y(T, max(asked.draws, 1), random_state=SEED)
        found = float(model.log_marginal_likelihood_)
        fitted = {"expression": repr(model.kernel_), "noise": float(model.noise_), "evidence": found}
        words = (
            f"Posterior of a Gaussian process given {len(asked.y)} observations, {asked.draws} draws; "
            f"log evidence {found:.4g}."
        )
    wide = float(np.mean(std))
    return {
        **fitted,
        "given": repr(asked.kernel),
        "x": T[:, 0].tolist(),
        "mean": np.asarray(mean).tolist(),
        "std": np.asarray(std).tolist(),
        "paths": np.asarray(paths)[:, : asked.draws].T.tolist(),
        "numbers": [*np.asarray(mean).tolist(), *np.asarray(std).tolist()],
        "names": [*free_names(asked.kernel), "noise"],
        "milliseconds": round(1e3 * (time.perf_counter() - begun), 1),
        "words": f"{words} The band is two standard deviations to each side, {2 * wide:.3g} on average.",
        "python": _python(asked),
        "command": _commands(asked),
    }


def evidence(fields: Any) -> dict[str, Any]:
    """Return the log evidence over two parameters about their present values, and where the search ends."""
    form, asked = Form(fields), _asked(fields)
    if len(asked.y) < FEWEST:
        raise ParameterError(f"{len(asked.y)} observations are there; the evidence needs {FEWEST}. Click some.")
    names = [*free_names(asked.kernel), "noise"]
    first, second = form.choice("first", names), form.choice("second", names)
    if first == second:
        raise ParameterError(f"{first} was given twice; a surface needs two parameters. Choose another.")
    side = form.whole("side", 5, 48)
    fixed = GaussianProcessRegressor(asked.kernel, asked.noise, fixed="all", normalize_y=False).fit(asked.X, asked.y)
    best = GaussianProcessRegressor(asked.kernel, asked.noise, normalize_y=False).fit(asked.X, asked.y)
    i, j = names.index(first), names.index(second)
    here, there = fixed.theta_, best.theta_
    spans = [_span(here[k], there[k], side) for k in (i, j)]
    values = np.full((side, side), np.nan)
    for row, down in enumerate(spans[1][::-1]):
        for column, across in enumerate(spans[0]):
            theta = there.copy()
            theta[i], theta[j] = across, down
            values[row, column] = fixed.log_marginal_likelihood(theta)
    top = float(best.log_marginal_likelihood_)
    shown = np.maximum(values, top - DEPTH)
    return {
        "numbers": [top, *shown.ravel().tolist()],
        "python": _surface_python(asked, names, (i, j), spans),
        "command": _surface_commands(asked),
        "names": names,
        "axes": [np.exp(span).tolist() for span in spans],
        "surface": packed_floats(shown),
        "here": [float(np.exp(here[i])), float(np.exp(here[j]))],
        "best": [float(np.exp(there[i])), float(np.exp(there[j]))],
        "evidence": top,
        "expression": repr(best.kernel_),
        "noise": float(best.noise_),
        "words": (
            f"Log evidence over {first} and {second}, the others at the optimum; the largest is {top:.4g} at "
            f"{np.exp(there[i]):.3g} and {np.exp(there[j]):.3g}."
        ),
    }


def _span(here: float, there: float, side: int) -> Floats:
    """Return logarithms about the present value and the optimum; an optimum at infinity does not hide the rest."""
    far = np.clip(there, here - 2.0 * REACH, here + 2.0 * REACH)
    return np.linspace(min(here, far) - REACH, max(here, far) + REACH, side)


def _surface_python(asked: _Asked, names: list[str], two: tuple[int, int], spans: list[Floats]) -> str:
    """Return a program that prints the largest evidence, and the surface row by row from the top."""
    searched = replace(asked, search=True)
    across, up = (f"np.linspace({float(span[0])!r}, {float(span[-1])!r}, {len(span)})" for span in spans)
    i, j = two
    lines = [
        "import numpy as np",
        "import mercer",
        "",
        python_rows("X", asked.X),
        python_rows("y", asked.y),
        f"model = mercer.parse({searched.written!r}).fit(X, y)",
        "top = model.log_marginal_likelihood_",
        f"theta = model.theta_.copy()  # logarithms of {', '.join(names)}",
        "values = []",
        f"for up in {up}[::-1]:  # {names[j]}",
        f"    for across in {across}:  # {names[i]}",
        f"        theta[{i}], theta[{j}] = across, up",
        f"        values.append(max(float(model.log_marginal_likelihood(theta)), top - {DEPTH}))",
        "print([float(top), *values])",
    ]
    return "\n".join(lines) + "\n"


def _surface_commands(asked: _Asked) -> str:
    """Return commands that find the optimum and show its kernel; no command computes a surface."""
    observed = data_file("observed.csv", {"x": asked.X[:, 0], "y": asked.y})
    fit = ["mercer", "fit", "observed.csv", "--target", "y", "--estimator", replace(asked, search=True).written]
    fit += ["--folds", "0", "--no-report", "-o", "process.mercer", "--force", "--quiet"]
    return "\n".join([observed, command(*fit), command("mercer", "show", "process.mercer", "--json")]) + "\n"


def _python(asked: _Asked) -> str:
    lines = ["import numpy as np", "import mercer", "", f"T = np.linspace({-HALF}, {HALF}, {STEPS})[:, None]"]
    if len(asked.y) == 0:
        lines += [
            f"kernel = mercer.parse({repr(asked.kernel)!r})",
            f"mean, std = np.zeros({STEPS}), np.sqrt(np.maximum(kernel.diag(kernel.pack(T)), 0.0))",
            f"paths = mercer.estimators.sample_prior(kernel, T, {max(asked.draws, 1)}, random_state={SEED})",
        ]
    else:
        lines += [
            python_rows("X", asked.X),
            python_rows("y", asked.y),
            f"model = mercer.parse({asked.written!r}).fit(X, y)",
            "mean, std = model.predict(T, return_std=True)",
        ]
    return "\n".join([*lines, "print([*mean.tolist(), *std.tolist()])"]) + "\n"


def _commands(asked: _Asked) -> str:
    """Return commands that print the mean; a prior has none to be fitted, so its kernel is looked at."""
    at = data_file("places.csv", {"x": places()[:, 0]})
    if len(asked.y) == 0:
        gram = ("mercer", "gram", "places.csv", "--kernel", repr(asked.kernel), "-o", "prior.npy", "--force")
        return "\n".join([at, command(*gram)]) + "\n"
    fit = ["mercer", "fit", "observed.csv", "--target", "y", "--estimator", asked.written, "--folds", "0"]
    fit += ["--no-report", "-o", "process.mercer", "--force", "--quiet"]
    observed = data_file("observed.csv", {"x": asked.X[:, 0], "y": asked.y})
    predict = command("mercer", "predict", "process.mercer", "places.csv", "--json")
    return "\n".join([observed, at, command(*fit), predict]) + "\n"
