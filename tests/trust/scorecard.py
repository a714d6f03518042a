"""The scorecard: thirty goals of trust, what was measured of each, and by which command.

``python -m tests.trust.scorecard`` (`make trust`) measures, prints a table and writes ``build/scorecard.json``; numbers
of goals may be given. A goal that nothing measures yet says so. A figure that was not taken now is never shown, but for
probes, which go on from the journal of `make probes` as long as no source has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "build" / "scorecard.json"
NOT_MEASURED = "not measured"
Measure = Callable[[], tuple[bool, str]]
PRINTED = ("test_numbers_of_hyppo",)  # tests that assert numbers which another library gave for their seeds


def command(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run a program in the root; return its exit status and what it printed, its output after its complaints."""
    run = subprocess.run(
        arguments, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return run.returncode, f"{run.stderr}\n{run.stdout}"


def python(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run Python with these arguments."""
    return command(sys.executable, *arguments, **variables)


def tests(*selection: str, **variables: str) -> Measure:
    """Measure by tests: passed, failed, skipped."""

    def measure() -> tuple[bool, str]:
        status, told = python("-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *selection, **variables)
        closing = next((line.strip("= ") for line in reversed(told.splitlines()) if " in " in line), "no closing line")
        return status == 0, closing

    return measure


def seeds(count: int, *selection: str) -> Measure:
    """Measure by tests that draw random numbers, each run with other seeds; those that assert printed numbers fail."""

    def measure() -> tuple[bool, str]:
        told = []
        for shift in range(1, count + 1):
            status, lines = python("-m", "pytest", "-q", *selection, MERCER_SEEDS=str(shift))
            failed = re.findall(r"^FAILED \S+::(\S+)", lines, re.MULTILINE)
            told += [(status, name) for name in failed if name not in PRINTED] + [(status, "")] * (status > 1)
        return not told, f"{count} other seeds; failed: {', '.join(sorted({name for _, name in told})) or 'none'}"

    return measure


def probes(*groups: str) -> Measure:
    """Measure by probes of bad input."""

    def measure() -> tuple[bool, str]:
        journal = str(RESULT.with_name("probes.jsonl"))
        _, told = python("-m", "tests.trust.probes", *groups, "--json", "--processes", "2", "--journal", journal)
        found = json.loads(told.splitlines()[-1])
        return not found["bad"], f"{found['probes']} probes, {len(found['bad'])} bad"

    return measure


def closing_line(*arguments: str) -> Measure:
    """Measure by the last line that a module prints."""

    def measure() -> tuple[bool, str]:
        status, told = python("-m", *arguments)
        return status == 0, (told.strip().splitlines() or ["nothing"])[-1]

    return measure


def examples() -> tuple[bool, str]:
    """Count the examples of laws, and try them."""
    from tests.laws.test_kernels import EACH, ENTRIES, _claimed

    count = EACH * sum(len(_claimed(entry)) for entry in ENTRIES.values())
    good, told = tests("tests/laws/test_kernels.py")()
    return good, f"{count} examples; {told}"


def static() -> tuple[bool, str]:
    """Count what linters and the type checker find, and calls that run text or pickles."""
    folder = Path(sys.executable).parent
    told = command(str(folder / "ruff"), "check", "--quiet", "--output-format", "concise", ".")[1]
    ruff = sum(bool(line.strip()) for line in told.splitlines())
    told = command(str(folder / "basedpyright"), "--threads", "2", "--level", "error")[1]
    types = int(match[1]) if (match := re.search(r"(\d+) errors?", told)) else -1
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    calls = len(re.findall(r"(?<![\w.])(?:eval|exec)\(|pickle\.loads?\(", sources))
    return not (ruff or types or calls), f"ruff {ruff}, types of all of src {types}, eval, exec or pickle {calls}"


def lines() -> tuple[bool, str]:
    """Compare the lines of tests with those of the source."""
    count = {
        folder: sum(len(p.read_text(encoding="utf-8").splitlines()) for p in (ROOT / folder).rglob("*.py"))
        for folder in ("tests", "src")
    }
    ratio = count["tests"] / count["src"]
    return ratio >= 1.5, f"{count['tests']} : {count['src']} = {ratio:.2f} (goal 1.5)"


def start() -> tuple[bool, str]:
    """Time ``--help`` and a cold import beside that of scikit-learn's machines; the best of five."""

    def best(*arguments: str) -> float:
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            python(*arguments)
            taken.append(time.perf_counter() - began)
        return min(taken)

    page, ours, theirs = best("-m", "mercer", "--help"), best("-c", "import mercer"), best("-c", "import sklearn.svm")
    told = f"--help {1000 * page:.0f} ms, import {ours:.2f} s beside {theirs:.2f} s of sklearn.svm"
    return page <= 0.2 and ours <= theirs + 0.15, told


CHECKS, LAWS, NUMERICS = "tests/contract/test_sklearn.py", "tests/laws", "tests/unit/numerics"
GOALS: dict[int, tuple[str, Measure | None]] = {
    1: ("scikit-learn's checks of every estimator", tests(CHECKS)),
    2: ("weights are repetitions", tests("tests/contract/test_weights.py")),
    3: ("bad input, vectors", probes("kernels", "parameters", "estimators", "settings", "functions")),
    4: ("bad input, structures", probes("structures")),
    5: ("broken files", probes("readers")),
    6: ("examples of the laws of kernels", examples),
    7: ("accuracy against 50 digits", tests(f"{LAWS}/test_accuracy.py")),
    8: ("certificates of optimisers", tests(f"{LAWS}/test_solvers.py", "tests/unit/solvers/box/test_optimality.py")),
    9: ("random seeds", seeds(3, "tests/unit/inference", "tests/unit/hilbert", "-m", "not slow")),
    10: ("equal bits over threads and runs", tests("tests/equivalence", "-k", "bits or threads or goes_on")),
    11: ("Ctrl-C is answered", tests("-m", "timing", "-k", "interrupt or ctrl", "-n", "0", MERCER_TIMING="1")),
    12: ("peak memory in units of 8 n^2", tests("tests/contract/test_memory.py", "-k", "fits_in")),
    13: ("memory plans", tests("tests/contract/test_memory.py", "tests/contract/test_budgets.py")),
    14: ("allocations that fail", closing_line("tests.trust.allocations", "5000")),
    15: ("writes that fail", tests("tests/unit/io/test_atomic.py", "tests/unit/io/test_checkpoint.py")),
    16: ("kill -9 and going on", closing_line("tests.trust.kills", "300")),
    17: ("workers that are killed", closing_line("tests.trust.dask_kills", "60", "300")),
    18: ("forged model files", closing_line("tests.trust.mutants", "20000")),
    19: ("models come back to the bit", tests("tests/golden", f"{LAWS}/test_model_file.py", "tests/unit/io")),
    20: ("attacks on the studio", tests("tests/unit/studio", "tests/browser/test_studio.py")),
    21: ("static checks", static),
    22: ("coverage", closing_line("tests.trust.covered")),
    23: ("mutation score", closing_line("tests.trust.mutations", "500")),
    24: ("bounds are checked in compiled loops", tests(f"{LAWS}/test_kernels.py", NUMBA_BOUNDSCHECK="1")),
    25: (
        "threads, forks, nesting",
        tests("tests/unit/runtime/test_tiling.py", "tests/unit/runtime/test_compiled.py"),
    ),
    26: ("soak", closing_line("tests.trust.soak", "300")),
    27: ("random order", tests("-m", "not slow", MERCER_ORDER="1")),
    28: ("lines of tests to lines of source", lines),
    29: ("cross-checks with other libraries", tests("tests/parity", "tests/papers")),
    30: ("start-up", start),
}


def main() -> int:
    """Measure the goals asked for, print the table and keep it; the exit status tells whether one is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.scorecard", description=__doc__)
    parser.add_argument("goals", nargs="*", type=int, help="numbers of goals; all by default")
    chosen = parser.parse_args().goals or list(GOALS)
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for number, (name, measure) in GOALS.items():
        began = time.monotonic()
        good, told = (None, NOT_MEASURED) if measure is None or number not in chosen else measure()
        taken = round(time.monotonic() - began)
        rows.append({"goal": number, "name": name, "met": good, "figure": told, "seconds": taken})
        mark = {True: "met", False: "MISSED", None: ""}[good]
        print(f"{number:3d}  {name:42s} {mark:7s} {told}", flush=True)
        RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1), encoding="utf-8")
    return int(any(row["met"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
