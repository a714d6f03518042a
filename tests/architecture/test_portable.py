"""The tests most sensitive to rounding, as other processors run them; `make portable` runs many more."""

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

from tests import portable
from tests.portable import ROOT, SENSITIVE, cores, factors


def others():
    """Two core types of OpenBLAS: one without fused multiply-adds, and one that is not the one at work here."""
    import scipy.linalg  # noqa: F401  (with its BLAS)

    here = {library.get("architecture") for library in threadpool_info()}
    return ["Prescott", *[core for core in ("Haswell", "SkylakeX") if core in cores() and core not in here][:1]]


@pytest.mark.parametrize("core", ["Prescott", "another"])
def test_rounding_of_another_processor(core):
    found = others()
    core = core if core == "Prescott" else found[-1]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *SENSITIVE]
    variables = {**os.environ, "OPENBLAS_CORETYPE": core}
    variables.pop("PYTEST_XDIST_WORKER", None)
    run = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"OPENBLAS_CORETYPE={core}\n{run.stdout[-5000:]}{run.stderr[-2000:]}"


def test_factors_have_names_of_their_own():
    names = [factor.name for factor in factors()]
    assert len(set(names)) == len(names)
    assert {"blas-Prescott", "blas-Haswell", "numpy-baseline", "numba-generic", "threads-4", "versions-lowest"} <= {
        *names
    }


def test_what_has_run_is_not_run_again(monkeypatch, tmp_path, capsys):
    ran = []

    def run(factor, tests, workers):
        ran.append(factor.name)
        told = "no closing line" if factor.name == "threads-2" else "7 passed in 1s"
        return {"factor": factor.name, "seconds": 1, "told": told, "failed": []}

    monkeypatch.setattr(portable, "run", run)
    monkeypatch.setattr(portable, "FOLDER", tmp_path)
    monkeypatch.setattr(portable, "TABLE", tmp_path / "table.json")
    monkeypatch.setattr(sys, "argv", ["portable", "--only", "threads-1 threads-2"])
    assert [portable.main(), portable.main()] == [1, 1]
    assert ran == ["threads-1", "threads-2", "threads-2"]  # what was broken off is run again
    monkeypatch.setattr(portable, "fingerprint", lambda tests: "another source")
    portable.main()
    assert ran[3:] == ["threads-1", "threads-2"]
    assert capsys.readouterr().out.count("threads-1") == 3
