"""The command line end to end, as a stranger uses it: real processes, exit codes, files, interruption.

Most of what commands do is tested in ``tests/unit/cli`` in one process; here are the promises that need a
process of their own, the examples of the help pages, and every broken file that the readers know.
"""

import csv
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.cli.application import COMMANDS, application
from mercer.cli.commands import EXAMPLES
from tests.broken_files import broken_files
from tests.unit.cli.commandline import run, write_fasta, write_svmlight, write_table

FIX = re.compile(r"[.?)] [A-Z][^.]*")  # after what is wrong, another sentence: what to do
HEAVY = {"numpy", "scipy", "sklearn", "numba", "rich", "pandas", "pyarrow", "matplotlib", "jinja2"}


def mercer(*arguments, folder, code=0, timeout=60):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "mercer", *map(str, arguments)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_table(folder / "table.csv", n=120)
    write_table(folder / "new.csv", n=15, seed=1)
    write_fasta(folder / "proteins.fasta")
    write_svmlight(folder / "sparse.svmlight")
    return folder


# starting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)], ids="-".join)
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from mercer.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0 and "Example:" in result.stdout
    assert not HEAVY & set(result.stderr.split())


def test_help_takes_a_fifth_of_a_second(folder):
    times = []
    for _ in range(5):  # of the processor, so that other processes do not count
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        mercer("--help", folder=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.2


# fit and predict -----------------------------------------------------------------------------------------


def test_a_table_from_data_to_predictions(folder):
    result = mercer("fit", "table.csv", "--target", "y", "--report", "table.html", folder=folder)
    assert "R2" in result.stdout and "leave-one-out on 120 rows" in result.stdout and result.stderr == ""
    page = (folder / "table.html").read_text()
    assert len(page) < 2_000_000 and "<script" not in page.lower()
    told = mercer("predict", "table.mercer", "new.csv", "-o", "predictions.csv", "--json", folder=folder)
    assert json.loads(told.stdout)["scores"]["r2"] > 0.7
    rows = list(csv.DictReader((folder / "predictions.csv").open()))
    assert len(rows) == 15 and rows[0]["id"] == "S000" and np.isfinite(float(rows[0]["prediction"]))
    again = mercer("predict", "table.mercer", "new.csv", "-q", folder=folder)  # another process, the same bits
    assert again.stdout == (folder / "predictions.csv").read_text() and again.stderr == ""


def test_classes_sequences_and_sparse_vectors(folder):
    told = json.loads(mercer("fit", "sparse.svmlight", "--no-report", "--json", folder=folder).stdout)
    assert told["task"] == "classification" and told["scores"]["accuracy"] > 0.9
    text = "KernelMeanClassifier(0.7 * Spectrum(3) + 0.3 * Spectrum(1))"
    told = mercer(
        "fit", "proteins.fasta", "-t", "family", "-e", text, "--no-report", "-o", "p.mercer", "--json", folder=folder
    )
    assert json.loads(told.stdout)["scores"]["accuracy"] > 0.9


def test_classes_of_a_table_with_probabilities(folder):
    told = json.loads(mercer("fit", "table.csv", "-t", "group", "-o", "group.mercer", "--json", folder=folder).stdout)
    assert told["task"] == "classification" and told["scores"]["accuracy"] > told["scores"]["baseline_accuracy"]
    assert any("by SVC" in step and "by KernelMeanClassifier" in step for step in told["steps"])
    text = "SVC(Gaussian(20.0).on(['age']) + Match().on('city'), C=10.0, probability=True)"
    mercer("fit", "table.csv", "-t", "group", "-e", text, "-o", "svc.mercer", "--no-report", folder=folder)
    first = mercer("predict", "svc.mercer", "new.csv", "--proba", "-q", folder=folder).stdout
    assert first == mercer("predict", "svc.mercer", "new.csv", "--proba", "-q", folder=folder).stdout  # to the bit
    rows = list(csv.DictReader(first.splitlines()))
    assert all(abs(float(row["probability_high"]) + float(row["probability_low"]) - 1.0) < 1e-12 for row in rows)


def test_exit_codes(folder):
    mercer(folder=folder, code=2)
    mercer("fit", "table.csv", "-t", "y", "--threads", "none", folder=folder, code=2)
    result = mercer("check", "nothing.csv", "--json", folder=folder, code=3)
    assert "nothing.csv" in result.stderr and json.loads(result.stdout)["error"]["code"] == 3
    mercer("fit", "table.csv", "-t", "y", "--memory", "2kB", "-o", "x.mercer", folder=folder, code=4)
    (folder / "precious.mercer").write_text("precious")
    mercer("fit", "table.csv", "-t", "y", "-o", "precious.mercer", folder=folder, code=2)
    assert (folder / "precious.mercer").read_text() == "precious"


# the examples of the help pages --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """The files that examples speak of."""
    folder = tmp_path_factory.mktemp("clinic")
    text = write_table(folder / "patients.csv").read_text().replace(",y,group", ",progression,group")
    (folder / "patients.csv").write_text(text)
    (folder / "new.csv").write_text("\n".join(text.splitlines()[:9]) + "\n")
    write_fasta(folder / "proteins.fasta")
    return folder


@pytest.mark.parametrize("name", sorted(EXAMPLES, key=lambda name: (name == "predict", name)))
def test_examples_run(clinic, monkeypatch, name):
    monkeypatch.chdir(clinic)
    if name == "predict" and not (clinic / "patients.mercer").exists():
        run(*shlex.split(EXAMPLES["fit"])[1:], "--no-report")
    result = run(*shlex.split(EXAMPLES[name])[1:])
    assert result.stdout or name == "predict"
    assert json.loads(run(*shlex.split(EXAMPLES[name])[1:], "--json", *_again(name)).stdout)


def _again(name):
    return ["--force"] if name in ("fit", "predict", "convert", "gram") else []


# interruption --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
def test_gram_goes_on_after_an_interrupt(tmp_path):
    X = np.random.default_rng(0).normal(size=(2600, 4))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c,d", comments="", fmt="%.6f")
    command = [sys.executable, "-m", "mercer", "gram", "x.csv", "-k", "Matern(0.8)", "--dtype", "float32"]
    command += ["--threads", "1"]
    process = subprocess.Popen([*command, "-o", "cut.npy"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    part = tmp_path / "cut.npy.part"
    began = time.monotonic()
    while not (part.exists() and part.stat().st_blocks > 17000):  # the first block, and some of the second
        assert process.poll() is None and time.monotonic() - began < 50
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=30)[1]
    assert process.returncode == 130 and "same command again" in stderr and "Traceback" not in stderr
    done = json.loads((tmp_path / "cut.npy.progress").read_text())["done"]
    assert 0 < done < 6 and not (tmp_path / "cut.npy").exists()
    resumed = mercer(*command[3:], "-o", "cut.npy", folder=tmp_path)
    assert f"Going on after {done} of 6 blocks" in resumed.stderr
    mercer(*command[3:-2], "-o", "whole.npy", folder=tmp_path)  # on all threads
    assert (tmp_path / "cut.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.npy", "whole.npy", "x.csv"]


@pytest.mark.skipif(os.name != "posix", reason="limits of Unix")
def test_memory_of_gram_does_not_grow_with_the_matrix(tmp_path):
    peaks = {}
    for n in (1200, 5000):  # 6 and 100 MB in float32
        X = np.random.default_rng(0).normal(size=(n, 2))
        np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b", comments="", fmt="%.4f")
        code = (
            "import resource, sys\n"
            "from mercer.cli import main\n"
            f"try: main(['gram', 'x.csv', '-k', 'Linear()', '-o', 'k{n}.npy', '--dtype', 'float32', '-q', '--json'])\n"
            "except SystemExit as left: code = left.code\n"
            "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        status, peak = map(int, result.stderr.split())
        assert status == 0
        peaks[n] = peak / 1024  # MB
        (tmp_path / f"k{n}.npy").unlink()
    assert peaks[5000] - peaks[1200] < 40


# broken files --------------------------------------------------------------------------------------------


def test_every_broken_file_is_refused_with_its_name_and_a_fix(tmp_path):
    runner = CliRunner()
    wrong = []
    files = broken_files(tmp_path)
    assert len(files) >= 250
    for path, reason in files:
        for arguments in (["check", str(path)], ["fit", str(path), "--target", "y", "--no-report"]):
            result = runner.invoke(application, arguments, prog_name="mercer")
            text = result.stderr
            good = result.exit_code in (3, 4) and path.stem.partition(".")[0] in text
            good = good and "Traceback" not in text and text.count("\n") == 1 and FIX.search(text)
            if not good or result.stdout:
                wrong.append((arguments[0], path.name, reason, result.exit_code, text[:200]))
    assert not wrong
    assert not list(tmp_path.rglob("*.mercer"))
