"""Five walks through the house: which files a call runs through. ``python -m docs.walks`` prints them.

A file counts if one function of it is called between the data and the answer, however short, compiled loops included;
what is only imported, and what ran before in the same process to warm up, does not.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer

SOURCES = Path(mercer.__file__).resolve().parent


def _vectors() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)


def machine() -> None:
    """SVC on vectors."""
    X, y = _vectors()
    mercer.SVC().fit(X, y > 0).predict(X)


def strings() -> None:
    """Ridge on strings with landmarks."""
    from mercer.gram import Nystrom
    from mercer.kernels import Spectrum

    texts = ["".join(word) for word in np.random.default_rng(0).choice(list("acgt"), size=(60, 12))]
    y = np.array([text.count("a") for text in texts], dtype=float)
    mercer.KernelRidge(Spectrum(2), gram=Nystrom(20)).fit(texts, y).predict(texts)


def process() -> None:
    """Gaussian process with evidence."""
    X, y = _vectors()
    mercer.GaussianProcessRegressor().fit(X, y).predict(X)


def two_samples() -> None:
    """Two-sample test."""
    from mercer.inference import mmd_test

    X, _ = _vectors()
    mmd_test(X, X + 0.5, random_state=0)


def command() -> None:
    """Command line, from a file to the report."""
    from click.testing import CliRunner

    from mercer.cli.application import application

    X, y = _vectors()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
        result = CliRunner().invoke(application, ["fit", str(path), "--target", "y"])
        if result.exit_code:
            raise RuntimeError(result.output)


# A walk may not grow longer.
WALKS: dict[Callable[[], None], int] = {machine: 25, strings: 25, process: 25, two_samples: 21, command: 120}


def files(walk: Callable[[], None]) -> list[str]:
    """Return the files that a walk runs through, in the order of the first call."""
    found: dict[str, None] = {}

    def see(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code.co_filename)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walk()  # imports, compiled code and caches
        sys.setprofile(see)
        try:
            walk()
        finally:
            sys.setprofile(None)
    paths = [Path(name) for name in found]
    return [str(path.relative_to(SOURCES)) for path in paths if path.is_relative_to(SOURCES)]


def main() -> None:
    """Print the walks."""
    for walk, most in WALKS.items():
        steps = files(walk)
        print(f"{walk.__doc__} {len(steps)} files (at most {most})")
        print(f"    {'  '.join(steps)}\n")


if __name__ == "__main__":
    main()
