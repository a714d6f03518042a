"""Coverage of the files on which trust rests, by their own tests, with compiled loops run as Python.

Own tests are the unit tests of a file, the examples in its docstrings, and of readers the corpus of broken files.

``python -m tests.trust.covered`` prints lines and branches of each part and file, and which lines and branches no test
reaches; names of parts may be given. ``pragma: no cover`` is not used: what cannot be reached on this machine counts.
Some tests are about compiled loops and fail without them; what they reach counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.trust.core_files import BESIDE, PARTS, ROOT, SOURCE, unit_test

FOLDER = ROOT / "build"
# lines and branches; of what stands between users or files and compiled code, every branch
GOALS = {"guards": (0.97, 1.0), "persistence": (0.97, 1.0), "readers": (0.97, 1.0), "numerics": (0.97, 0.93)}


@dataclass(frozen=True)
class Reached:
    """Lines and branches of some files: how many there are, and how many are reached."""

    lines: int = 0
    covered_lines: int = 0
    branches: int = 0
    covered_branches: int = 0

    @classmethod
    def of(cls, summaries: Iterable[dict[str, Any]]) -> Reached:
        """Add up what coverage.py says of files."""
        names = ("num_statements", "covered_lines", "num_branches", "covered_branches")
        rows = [[summary[name] for name in names] for summary in summaries]
        return cls(*(sum(column) for column in zip(*rows, strict=True)))

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of lines and of branches."""
        return self.covered_lines / max(self.lines, 1), self.covered_branches / max(self.branches, 1)

    def __str__(self) -> str:
        lines, branches = self.shares
        return f"{100 * lines:.1f} / {100 * branches:.1f} %"


def measured(parts: Iterable[str]) -> dict[str, Any]:
    """Run the tests and return what coverage.py says of each file, by its path below src/mercer."""
    FOLDER.mkdir(exist_ok=True)
    data, report = FOLDER / "coverage.data", FOLDER / "coverage.json"
    files = [file for part in parts for file in PARTS[part]]
    include = ",".join(str(SOURCE / file) for file in files)
    run = (sys.executable, "-m", "coverage")
    tests = [str(path) for file in files for path in (unit_test(file), SOURCE / file)]
    tests += [str(ROOT / one) for part in parts for one in BESIDE.get(part, ())]
    pytest = ("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow", "--disable-warnings")
    subprocess.run(
        [*run, "run", "--branch", f"--data-file={data}", f"--include={include}", *pytest, *tests],
        cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
    )  # fmt: skip
    subprocess.run([*run, "json", "-q", f"--data-file={data}", "-o", str(report)], cwd=ROOT, check=True)
    found = json.loads(report.read_text(encoding="utf-8"))["files"]
    return {str((ROOT / path).resolve().relative_to(SOURCE)): one for path, one in found.items()}


def main() -> int:
    """Print what is reached and what is not; the exit status tells whether a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.covered", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parts = parser.parse_args().parts or list(PARTS)
    if importlib.util.find_spec("coverage") is None:
        print("not measured: coverage.py is not installed; `make setup` installs it")
        return 1
    files = measured(parts)
    told, good = [], True
    for part in parts:
        for name in PARTS[part]:
            one = files[name]
            missing = [
                *one["missing_lines"],
                *(f"{a}->{b}" for a, b in one["missing_branches"] if b not in one["missing_lines"]),
            ]
            print(f"{name:36s} {Reached.of([one['summary']])!s:>14s}  {', '.join(map(str, missing))}")
        reached = Reached.of(files[name]["summary"] for name in PARTS[part])
        told.append(f"{part} {reached}")
        good &= all(share >= goal for share, goal in zip(reached.shares, GOALS[part], strict=True))
    print(f"lines / branches: {', '.join(told)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
