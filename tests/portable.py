"""The numeric tests under other processors, threads, interpreters and versions, one factor at a time: `make portable`.

The libraries under mercer choose their loops by the processor. Here each is told to take those of another one: OpenBLAS
by OPENBLAS_CORETYPE, NumPy by NPY_DISABLE_CPU_FEATURES, Numba by NUMBA_CPU_NAME. Memory that nobody wrote, of which
every machine has its own, is filled by MERCER_UNWRITTEN. Other versions and interpreters get environments of their own
in build/portable. ``--only`` takes names of factors, or beginnings of names. The table is kept, and a factor is not run
again before the source or a test has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "portable"
TABLE = FOLDER / "table.json"
# Of pytest: whatever compares numbers, or promises equal bits. Of the contract tests the others look at memory, words,
# interrupts and parameters, which no processor changes.
NUMERIC = (
    "tests/laws", "tests/equivalence", "tests/parity", "tests/golden", "tests/papers",
    *(f"tests/contract/test_{name}.py" for name in (
        "domains", "expansions", "ownership", "sklearn", "weights")),
    "tests/unit/io/test_model_file.py", *(f"tests/unit/{room}" for room in (
        "estimators", "gram", "hilbert", "inference", "kernels", "models", "networks", "numerics", "selection",
        "solvers", "theory")),
)  # fmt: skip
# The quickest of those that told processors apart: in every test run, see tests/architecture/test_portable.py.
SENSITIVE = (
    "tests/golden", "tests/parity", "tests/equivalence/test_ridge.py", "tests/unit/numerics/test_operands.py",
    "tests/unit/estimators/processes/test_bayesian_linear.py",
    "tests/unit/io/test_model_file.py::test_classes_of_a_user",
    "tests/unit/estimators/svm/test_svr.py::test_errors_may_cost_very_much", "tests/contract/test_weights.py",
)  # fmt: skip
CORES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
LOWEST = ("numpy==2.0.*", "scipy==1.15.*", "scikit-learn==1.9.*", "numba==0.61.*", "narwhals==2.0.*")


@dataclass(frozen=True)
class Factor:
    """One thing that is different: variables of the environment, or another interpreter or versions."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    python: str = ""  # of an environment that is made for it
    packages: tuple[str, ...] = ()  # which it is made with; none: those of constraints.txt
    newest: bool = False

    @property
    def needs_environment(self) -> bool:
        """Whether the environment of the project does not serve."""
        return bool(self.python or self.packages or self.newest)


def processor_has_avx512() -> bool:
    """Whether OpenBLAS can be told to take loops of AVX-512 here."""
    info = Path("/proc/cpuinfo")
    return info.exists() and " avx512f " in info.read_text(encoding="ascii", errors="replace")


def cores() -> list[str]:
    """Core types of OpenBLAS that this processor can play."""
    return [core for core in CORES if core != "SkylakeX" or processor_has_avx512()]


def factors() -> Iterator[Factor]:
    """Yield every factor that can be tried on this machine."""
    for core in cores():
        yield Factor(f"blas-{core}", {"OPENBLAS_CORETYPE": core})
    yield Factor("numpy-baseline", {"NPY_DISABLE_CPU_FEATURES": " ".join(_numpy_features())})
    yield Factor("numba-generic", {"NUMBA_CPU_NAME": "generic"})
    yield Factor("memory-unwritten", {"MERCER_UNWRITTEN": "1"})
    for count in ("1", "2", "4"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
        yield Factor(f"threads-{count}", dict.fromkeys(names, count))
    yield Factor("versions-lowest", packages=LOWEST)
    yield Factor("versions-newest", newest=True)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in ("3.11", "3.12", "3.13"):
        if version != here and (found := _interpreter(version)):
            yield Factor(f"python-{version}", python=found)


def _numpy_features() -> list[str]:
    """What NumPy would use here beyond what every processor has."""
    code = "import numpy._core._multiarray_umath as m; print(*[f for f in m.__cpu_dispatch__ if m.__cpu_features__[f]])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def _interpreter(version: str) -> str:
    """Path of an interpreter of this version with the venv module, or nothing."""
    found = shutil.which(f"python{version}")
    names = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in [*([found] if found else []), *map(str, names)]:
        told = subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False)
        if told.returncode == 0:
            return candidate
    return ""


def environment(factor: Factor) -> str:
    """Make the environment that a factor needs, once, and return its interpreter."""
    if not factor.needs_environment:
        return sys.executable
    folder = FOLDER / factor.name
    python = folder / "bin" / "python"
    if not (folder / ".made").exists():
        subprocess.run([factor.python or sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "-qq", "--disable-pip-version-check", "install", "--no-compile"]
        rules = [] if factor.packages or factor.newest else ["-c", str(ROOT / "constraints.txt")]
        subprocess.run([*install, *rules, "hatchling", "editables"], check=True)
        extras = "dev" if not factor.packages else "qp,graphs,excel"
        tools = ["pytest", "pytest-xdist", "hypothesis", "mpmath", "pandas", "polars", "pyarrow", "array-api-strict"]
        tools = tools if factor.packages else []
        wanted = ["--no-build-isolation", "-e", f"{ROOT}[{extras}]"]
        subprocess.run([*install, *rules, *wanted, *factor.packages, *tools], check=True)
        (folder / ".made").touch()
    return str(python)


def run(factor: Factor, tests: list[str], workers: str) -> dict[str, Any]:
    """Run the tests under a factor; return what pytest counted and the names of the tests that failed."""
    began = time.monotonic()
    try:
        python = environment(factor)
    except subprocess.CalledProcessError as error:
        return {"factor": factor.name, "seconds": 0, "told": f"no environment: {error}", "failed": []}
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "pytest", "-q", "-n", workers, "--dist", "worksteal", "-m", "not slow", "-rfE", *tests]
    variables = {**os.environ, **factor.variables}
    with (FOLDER / f"{factor.name}.log").open("w", encoding="utf-8") as log:
        subprocess.run(command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT, check=False)
    lines = (FOLDER / f"{factor.name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    failed = sorted({match[1] for line in lines if (match := re.match(r"(?:FAILED|ERROR) (\S+)", line))})
    told = next((line.strip("= ") for line in reversed(lines) if " in " in line), "no closing line")
    return {"factor": factor.name, "seconds": round(time.monotonic() - began), "told": told, "failed": failed}


def fingerprint(tests: list[str]) -> str:
    """Return a number that changes with the source, with any test, and with which tests are chosen."""
    found = hashlib.sha256("\n".join(tests).encode())
    for path in sorted(path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")):
        found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def kept_rows() -> dict[str, dict[str, Any]]:
    """Rows of the table as it was left, by factor."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["rows"] if TABLE.exists() else []
    return {row["factor"]: row for row in rows}


def main() -> int:
    """Print a table, a row for each factor; the exit status tells whether a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.portable", description=__doc__)
    parser.add_argument("tests", nargs="*", help="files or folders of tests; those of numbers by default")
    parser.add_argument("--only", default="", help="names of factors, or how they begin, with spaces between")
    parser.add_argument("--workers", default="2", help="processes")
    parser.add_argument("--list", action="store_true", help="print the factors that can be tried here")
    options = parser.parse_args()
    chosen = [f for f in factors() if not options.only or f.name.startswith(tuple(options.only.split()))]
    if options.list:
        print("\n".join(f"{f.name:18s} {f.variables or f.packages or f.python}" for f in chosen))
        return 0
    tests = options.tests or list(NUMERIC)
    state, kept = fingerprint(tests), kept_rows()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for factor in chosen:
        if kept.get(factor.name, {}).get("state") != state:
            row = run(factor, tests, options.workers)
            kept[factor.name] = {**row, "state": state if "passed" in row["told"] else "broken off"}
            machine = platform.processor() or platform.machine()
            TABLE.write_text(json.dumps({"machine": machine, "rows": [*kept.values()]}, indent=1), encoding="utf-8")
        print(f"{factor.name:18s} {kept[factor.name]['told']}", flush=True)
        for name in kept[factor.name]["failed"]:
            print(f"{'':18s}   {name}", flush=True)
    rows = [kept[factor.name] for factor in chosen]
    return int(any(row["failed"] or "passed" not in row["told"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
