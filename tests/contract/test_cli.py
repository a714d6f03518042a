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
from contextlib import chdir

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.cli.application import application
from mercer.cli.commands import COMMANDS
from tests.broken_files import broken_files
from tests.broken_structures import GRAPH, TU, zipped
from tests.clock import allowed
from tests.unit.cli.commandline import (
    brackets,
    run,
    run_json,
    tu_files,
    write_fasta,
    write_svmlight,
    write_table,
    write_texts,
    write_trees,
    write_tu,
)

FIX = re.compile(r"[.?)] [A-Z][^.]*")  # after what is wrong, another sentence: what to do
HEAVY = {"numpy", "scipy", "sklearn", "numba", "rich", "pandas", "pyarrow", "matplotlib", "jinja2"}


def mercer(*arguments, folder, code=0, timeout=600):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "mercer", *map(str, arguments)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    return result


def within(*arguments, folder, code=0):
    """Run the command in this process, which takes a fraction of the time."""
    with chdir(folder):
        return run(*arguments, code=code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_table(folder / "table.csv", n=120)
    write_table(folder / "new.csv", n=15, seed=1)
    write_fasta(folder / "proteins.fasta")
    write_svmlight(folder / "sparse.svmlight")
    return folder


# starting -----------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    pages = [["--help"], *([name, "--help"] for name in COMMANDS)]
    code = (
        "import sys\n"
        "from mercer.cli import main\n"
        f"for arguments in {pages!r}:\n"
        "    try: main(arguments)\n"
        "    except SystemExit: pass\n"
        "    print(arguments[0], *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0 and result.stdout.count("Example:") == len(pages)
    for line in result.stderr.splitlines():
        page, *loaded = line.split()
        assert not HEAVY & set(loaded), page


@pytest.mark.timing
def test_help_takes_a_fifth_of_a_second(folder):
    times = []
    for _ in range(5):  # of the processor, so that other processes do not count
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        mercer("--help", folder=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < allowed(0.2)


# fit and predict -----------------------------------------------------------------------------------------


def test_a_table_from_data_to_predictions(folder):
    result = mercer("fit", "table.csv", "--target", "y", "--report", "table.html", "--max-time", 3000, folder=folder)
    assert "R2" in result.stdout and "120 rows in 4 folds" in result.stdout and result.stderr == ""
    page = (folder / "table.html").read_text()
    assert len(page) < 2_000_000 and "<script" not in page.lower()
    told = mercer("predict", "table.mercer", "new.csv", "-o", "predictions.csv", "--json", folder=folder)
    assert json.loads(told.stdout)["scores"]["r2"] > 0.7
    rows = list(csv.DictReader((folder / "predictions.csv").open()))
    assert len(rows) == 15 and rows[0]["id"] == "S000" and np.isfinite(float(rows[0]["prediction"]))
    again = mercer("predict", "table.mercer", "new.csv", "-q", folder=folder)  # another process, the same bits
    assert again.stdout == (folder / "predictions.csv").read_text() and again.stderr == ""


def test_classes_sequences_and_sparse_vectors(folder):
    options = ("-e", "SVC(Gaussian(2.0))", "--no-report", "--json")
    told = json.loads(within("fit", "sparse.svmlight", *options, folder=folder).stdout)
    assert told["task"] == "classification" and told["scores"]["accuracy"] > 0.9
    text = "KernelMeanClassifier(0.7 * Spectrum(3) + 0.3 * Spectrum(1))"
    told = within(
        "fit", "proteins.fasta", "-t", "family", "-e", text, "--no-report", "-o", "p.mercer", "--json", folder=folder
    )
    assert json.loads(told.stdout)["scores"]["accuracy"] > 0.9


def test_classes_of_a_table_with_probabilities(folder):
    told = json.loads(within("fit", "table.csv", "-t", "group", "-o", "group.mercer", "--json", folder=folder).stdout)
    assert told["task"] == "classification" and told["scores"]["accuracy"] > told["scores"]["baseline_accuracy"]
    assert any("3 machines were compared in folds by the probabilities" in step for step in told["steps"])
    text = "SVC(Gaussian(20.0).on(['age']) + Match().on('city'), C=10.0, probability=True)"
    within("fit", "table.csv", "-t", "group", "-e", text, "-o", "svc.mercer", "--no-report", folder=folder)
    first = within("predict", "svc.mercer", "new.csv", "--proba", "-q", folder=folder).stdout
    assert first == mercer("predict", "svc.mercer", "new.csv", "--proba", "-q", folder=folder).stdout  # to the bit
    rows = list(csv.DictReader(first.splitlines()))
    assert all(abs(float(row["probability_high"]) + float(row["probability_low"]) - 1.0) < 1e-12 for row in rows)


# texts, trees and graphs ---------------------------------------------------------------------------------


def _rings_and_paths():
    """JSON lines of graphs in two classes."""
    for i in range(30):
        size = 4 + i % 4
        links = [{"source": j, "target": (j + 1) % size} for j in range(size - i % 2)]
        yield json.dumps({"nodes": [{"id": j} for j in range(size)], "links": links, "kind": ("ring", "path")[i % 2]})


@pytest.fixture(scope="module")
def structures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("structures")
    write_fasta(folder / "proteins.fasta")
    write_texts(folder / "reviews.jsonl")
    write_trees(folder / "bank")
    write_tu(folder / "TOY")
    (folder / "toy.zip").write_bytes(
        zipped({name.removeprefix("TOY_").removesuffix(".txt"): text for name, text in tu_files().items()})
    )
    (folder / "questions.mrg").write_text("\n".join(brackets()) + "\n")
    (folder / "kinds.csv").write_text("kind\n" + "sit\nrun\n" * 20)
    rows = [f"{('sit', 'run')[i % 2]},{text}" for i, text in enumerate(brackets())]
    (folder / "parsed.csv").write_text("\n".join(["kind,tree", *rows]) + "\n")
    (folder / "graphs.jsonl").write_text("\n".join(_rings_and_paths()) + "\n")
    return folder


TREES, GRAPHS = "PartialTree(0.4).normalized()", "WeisfeilerLehman(3).normalized()"
CASES = {  # the data, options, the target, and the kernel that is chosen, or given where another file shows the choice
    "proteins.fasta": ((), "family", "Spectrum("),
    "reviews.jsonl": (("--target", "label"), "label", "TfIdf().normalized().on('text')"),
    "bank": ((), "folder", TREES),
    "questions.mrg": (("--labels", "kinds.csv", "-e", f"SVC({TREES})"), "kind", TREES),
    "parsed.csv": (("-t", "kind"), "kind", f"{TREES}.on('tree')"),
    "TOY": ((), "label", GRAPHS),
    "toy.zip": (("-e", f"SVC({GRAPHS})"), "label", GRAPHS),
    "graphs.jsonl": ((), "kind", GRAPHS),
}


@pytest.mark.parametrize("name", CASES)
def test_structures_from_data_to_predictions(structures, monkeypatch, name):
    monkeypatch.chdir(structures)
    options, target, kernel = CASES[name]
    plain = name not in ("reviews.jsonl", "bank", "TOY")  # one report of each kind is enough
    files = ["-o", f"{name}.mercer", *(["--no-report"] if plain else ["--report", f"{name}.html"])]
    told = run_json("fit", name, *options, *files)
    assert told["task"] == "classification" and told["target"] == target and told["kernel"].startswith(kernel)
    assert told["scores"]["accuracy"] > 0.9
    if not plain:
        assert "<script" not in (structures / f"{name}.html").read_text().lower()
    told = run_json("predict", f"{name}.mercer", name)
    labels = told["columns"]["prediction"]
    assert len(labels) == told["samples"] >= 20 and len(set(labels)) == 2
    assert name == "questions.mrg" or told["scores"]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("reviews.jsonl", "TfIdf() + Spectrum(2)"),
        ("bank", "SubsetTree().normalized()"),
        ("TOY", "ShortestPath()"),
        ("graphs.jsonl", "VertexHistogram()"),
    ],
)
def test_gram_matrices_of_structures(structures, monkeypatch, tmp_path, name, kernel):
    monkeypatch.chdir(structures)
    drop = ["-t", "label"] if name == "reviews.jsonl" else []
    told = run_json("gram", name, "-k", kernel, "-o", tmp_path / "k.npy", *drop)
    K = np.load(tmp_path / "k.npy")
    assert told["shape"] == list(K.shape) and np.array_equal(K, K.T)
    figures = run_json("check", name, "-k", kernel, *drop)["gram"]
    assert figures["used"] == len(K) and figures["largest_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(K)[-1])


def test_graphs_are_the_same_from_a_folder_and_an_archive(structures, monkeypatch, tmp_path):
    monkeypatch.chdir(structures)
    for name in ("TOY", "toy.zip"):
        run("gram", name, "-k", "WeisfeilerLehman(2)", "-o", tmp_path / f"{name}.npy")
    assert (tmp_path / "TOY.npy").read_bytes() == (tmp_path / "toy.zip.npy").read_bytes()


def test_models_refuse_other_kinds_of_samples(structures, monkeypatch, tmp_path):
    monkeypatch.chdir(structures)
    run("fit", "TOY", "-e", "SVC(VertexHistogram())", "-o", tmp_path / "m.mercer", "--no-report", "--folds", "2")
    for name, held in (("bank", "trees"), ("reviews.jsonl", "table"), ("proteins.fasta", "sequences")):
        error = run("predict", tmp_path / "m.mercer", name, code=3).stderr
        assert name in error and f"that is {held}" in error and "that is graphs" in error and FIX.search(error)
    error = run("fit", "bank", "-e", "SVC(Gaussian(1.0))", "-o", tmp_path / "n.mercer", code=3).stderr
    assert "Trees were given where Vectors are needed" in error


# exit codes ----------------------------------------------------------------------------------------------


def test_exit_codes(folder):
    within(folder=folder, code=2)
    within("fit", "table.csv", "-t", "y", "--threads", "none", folder=folder, code=2)
    result = mercer("check", "nothing.csv", "--json", folder=folder, code=3)
    assert "nothing.csv" in result.stderr and json.loads(result.stdout)["error"]["code"] == 3
    within("fit", "table.csv", "-t", "y", "--memory", "2kB", "-o", "x.mercer", folder=folder, code=4)
    within("test", "table.csv", "new.csv", "--max-time", "0.05", "-n", "100000000", folder=folder, code=4)
    (folder / "precious.mercer").write_text("precious")
    within("fit", "table.csv", "-t", "y", "-o", "precious.mercer", folder=folder, code=2)
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
    for seed, name in enumerate(("before", "after")):
        write_table(folder / f"{name}.csv", n=30, seed=seed)
    return folder


# but for the studio, which answers until it is stopped: tests/unit/studio and tests/browser start it
EXAMPLES = {name: (command.epilog or "").splitlines()[-1] for name, command in COMMANDS.items() if name != "studio"}


@pytest.mark.parametrize("name", sorted(EXAMPLES, key=lambda name: (name in ("certificate", "predict", "show"), name)))
def test_examples_run(clinic, monkeypatch, name):
    monkeypatch.chdir(clinic)
    if name in ("certificate", "predict", "show") and not (clinic / "patients.mercer").exists():
        run(*shlex.split(EXAMPLES["fit"])[1:], "--no-report")
    if name != "warmup":  # which takes long, and is the same with and without --json
        result = run(*shlex.split(EXAMPLES[name])[1:])
        assert result.stdout or name == "predict"
    assert json.loads(run(*shlex.split(EXAMPLES[name])[1:], "--json", *_again(name)).stdout)


def _again(name):
    return ["--force"] if name in ("fit", "predict", "convert", "gram") else []


# tests ---------------------------------------------------------------------------------------------------


def test_two_files_are_tested(folder):
    told = within("test", "table.csv", "new.csv", "--stat", "mmd", "--json", folder=folder)
    result = json.loads(told.stdout)
    assert (
        0.0 < result["p_value"] <= 1.0 and result["samples"] == [120, 15] and result["null"]["method"] == "permutation"
    )
    told = within(
        "test", "table.csv", "table.csv", "--stat", "hsic", "-k", "Gaussian('median').on('age')", folder=folder
    )
    assert "rejected at 0.05" in told.stdout and told.stderr == ""
    result = within("test", "table.csv", "new.csv", "--stat", "hsic", folder=folder, code=2)
    assert "120 rows" in result.stderr
    within("test", "table.csv", "proteins.fasta", folder=folder, code=2)
    within("test", "table.csv", "nothing.csv", folder=folder, code=3)


# interruption --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
def test_gram_goes_on_after_an_interrupt(tmp_path):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c,d", comments="", fmt="%.6f")
    command = [sys.executable, "-m", "mercer", "gram", "x.csv", "-k", "Matern(20.2)", "--dtype", "float32"]
    command += ["--threads", "1"]
    part = tmp_path / "cut.npy.part"
    for _ in range(10):  # again if it was done before the signal came
        process = subprocess.Popen([*command, "-o", "cut.npy"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (part.exists() and part.stat().st_blocks > 12300):
            time.sleep(0.02)  # until the first block is written, and some of the second
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=300)[1]
        if process.returncode != 0:
            break
        (tmp_path / "cut.npy").unlink()
    assert process.returncode == 130 and "same command again" in stderr and "Traceback" not in stderr
    done = json.loads((tmp_path / "cut.npy.progress").read_text())["done"]
    assert 0 < done < 3 and not (tmp_path / "cut.npy").exists()
    resumed = mercer(*command[3:], "-o", "cut.npy", folder=tmp_path)
    assert f"Going on after {done} of 3 blocks" in resumed.stderr
    mercer(*command[3:-2], "-o", "whole.npy", folder=tmp_path)  # on all threads
    assert (tmp_path / "cut.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.npy", "whole.npy", "x.csv"]


@pytest.mark.skipif(os.name != "posix", reason="limits of Unix")
def test_memory_of_gram_does_not_grow_with_the_matrix(tmp_path):
    for n in (1200, 5000):  # 6 and 100 MB in float32
        X = np.random.default_rng(0).normal(size=(n, 2))
        np.savetxt(tmp_path / f"x{n}.csv", X, delimiter=",", header="a,b", comments="", fmt="%.4f")
    code = (
        "import resource, sys\n"
        "from mercer.cli import main\n"
        "for n in (1200, 5000):\n"  # one process: the peak of the first is that of the second, or less
        "    words = ['gram', f'x{n}.csv', '-k', 'Linear()', '-o', f'k{n}.npy', '--dtype', 'float32', '-q', '--json']\n"
        "    try: main(words)\n"
        "    except SystemExit as left: code = left.code\n"
        "    print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    (before, less), (status, more) = (map(int, line.split()) for line in result.stderr.splitlines())
    assert before == status == 0
    assert (more - less) / 1024 < 40  # MB


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


BROKEN_FOLDERS = {
    "nothing": ({}, "neither graphs in the TU Dortmund format"),
    "texts": ({"a.txt": "hello"}, "nor files of trees"),
    "no_edges": ({"T_graph_indicator.txt": "1\n"}, r"no file ending in _A\.txt"),
    "no_indicator": ({"T_A.txt": "1, 2\n", "T_graph_labels.txt": "1\n"}, r"no file ending in _graph_indicator\.txt"),
    "two_sets": ({"T_A.txt": "1, 2\n", "U_A.txt": "1, 2\n", "T_graph_indicator.txt": "1\n1\n"}, "2 files ending in _A"),
    "short_indicator": (
        {f"T_{part}.txt": text for part, text in (TU | {"graph_indicator": "1\n1\n"}).items()},
        "line 3",
    ),
    "few_labels": ({f"T_{part}.txt": text for part, text in (TU | {"graph_labels": "1\n"}).items()}, "1 lines for 2"),
    "latin1": ({f"T_{part}.txt": text for part, text in (TU | {"A": "1, \xe9\n"}).items()}, "2 numbers are expected"),
    "bad_tree": ({"good/a.mrg": "(S a)", "bad/b.mrg": "(S\n(NP b)"}, r"b\.mrg, line 1: 1 brackets are not closed"),
    "bad_xml": ({"a.xml": "<a/>", "b.xml": "<a>"}, r"b\.xml.*not XML"),
    "empty_file": ({"a.xml": "<a/>", "b.xml": ""}, r"b\.xml, line 1: The file is empty"),
}


@pytest.mark.parametrize("name", BROKEN_FOLDERS)
def test_broken_folders_are_refused_with_their_name_and_a_fix(tmp_path, name):
    files, told = BROKEN_FOLDERS[name]
    folder = tmp_path / name
    folder.mkdir()
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(text.encode("latin-1"))
    for command in (["check", folder], ["fit", folder, "--target", "label", "--no-report"]):
        error = run(*command, code=3).stderr
        assert re.search(told, error) and name in error and error.count("\n") == 1 and FIX.search(error), error
    assert not list(tmp_path.rglob("*.mercer"))


def test_json_that_may_be_trees_or_graphs_has_to_be_named(tmp_path):
    path = tmp_path / "unclear.json"
    path.write_text(json.dumps({"edges": GRAPH["links"]}))
    assert "name the format: graph-json or json" in run("check", path, code=3).stderr
    assert run_json("check", path, "--format", "graph-json")["kind"] == "graphs"
    assert run_json("check", path, "--format", "json")["kind"] == "trees"
