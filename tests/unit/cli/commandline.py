"""Commands run in this process, and small data files for them."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from mercer.cli.application import application


def run(*arguments, code=0):
    """Run a command; return its result, whose exit code must be the one expected."""
    result = CliRunner().invoke(application, [str(argument) for argument in arguments], prog_name="mercer")
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    """Run a command with --json; return what it printed on stdout."""
    return json.loads(run(*arguments, "--json", code=code).stdout)


def write_table(path: Path, n=90, missing=(), seed=0):
    """Write a table of numbers, a truth value, a category, a text, a constant, names, and targets of both kinds."""
    rng = np.random.default_rng(seed)
    lines = ["id,age,dose,smoker,city,note,same,y,group"]
    for i in range(n):
        age, dose = rng.uniform(20, 80), 100 * rng.normal()
        smoker, city = rng.choice(["yes", "no"]), rng.choice(["Oslo", "Rome", "Lima"])
        note = f"{rng.choice(['felt fine', 'some pain', 'no complaint'])} on day {i}"
        y = np.sin(age / 15) + (city == "Rome") + ("pain" in note) + 0.05 * rng.normal()
        group = "high" if y > 0.6 else "low"
        shown = "" if i in missing else f"{age:.3f}"
        lines.append(f"S{i:03},{shown},{dose:.4f},{smoker},{city},{note},x,{y:.5f},{group}")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_fasta(path: Path, n=40, seed=0):
    """Write sequences of two families that differ in their letters."""
    rng = np.random.default_rng(seed)
    share = {"a": [0.4, 0.1, 0.1, 0.4], "b": [0.1, 0.4, 0.4, 0.1]}
    with path.open("w") as stream:
        for i in range(n):
            family = "ab"[i % 2]
            stream.write(f">s{i} family={family}\n{''.join(rng.choice(list('ACGT'), p=share[family], size=50))}\n")
    return path


def write_svmlight(path: Path, n=60, seed=0):
    """Write sparse vectors of two classes."""
    rng = np.random.default_rng(seed)
    with path.open("w") as stream:
        for i in range(n):
            label = 1 if i % 2 else -1
            values = rng.normal(size=6) + label
            pairs = " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(values) if abs(value) > 0.3)
            stream.write(f"{label} {pairs}\n")
    return path


def write_texts(path: Path, n=40, seed=0):
    """Write JSON lines of short reviews, good and bad ones."""
    rng = np.random.default_rng(seed)
    words = {"good": ["lovely", "fine", "great", "moving"], "bad": ["dull", "poor", "weak", "boring"]}
    with path.open("w") as stream:
        for i in range(n):
            label = ("good", "bad")[i % 2]
            text = (
                f"A {rng.choice(words[label])} and {rng.choice(words[label])} film about {rng.choice(['love', 'war'])}."
            )
            stream.write(json.dumps({"text": text, "label": label}) + "\n")
    return path


def brackets(n=40, seed=0):
    """Return trees of two kinds, in turns: with one verb and with another."""
    rng = np.random.default_rng(seed)
    nouns = ["cat", "dog", "child"]
    return [
        f"(S (NP (D the) (N {rng.choice(nouns)})) (VP {('sits', 'runs')[i % 2]} (PP on {rng.choice(nouns)}) (CD {i})))"
        for i in range(n)
    ]


def write_trees(folder: Path, n=40, seed=0):
    """Write a folder of treebanks, one in each of two folders."""
    trees = brackets(n, seed)
    for kind, name in enumerate(("sits", "runs")):
        (folder / name).mkdir(parents=True)
        (folder / name / "bank.mrg").write_text("\n".join(trees[kind::2]) + "\n")
    return folder


def tu_files(n=20, seed=0):
    """Return the files of graphs in the TU Dortmund format: rings and paths of labelled nodes."""
    rng = np.random.default_rng(seed)
    edges, owners, labels, total = [], [], [], 0
    for i in range(n):
        size = int(rng.integers(4, 8))
        for j in range(size - i % 2):
            a, b = total + j + 1, total + (j + 1) % size + 1
            edges += [f"{a}, {b}", f"{b}, {a}"]
        owners += [str(i + 1)] * size
        labels += ["8"] + ["6"] * (size - 1)
        total += size
    targets = [str((-1, 1)[i % 2]) for i in range(n)]
    parts = {"A": edges, "graph_indicator": owners, "graph_labels": targets, "node_labels": labels}
    return {f"TOY_{part}.txt": "\n".join(lines) + "\n" for part, lines in parts.items()}


def write_tu(folder: Path, n=20, seed=0):
    """Write a folder of graphs in the TU Dortmund format."""
    folder.mkdir(parents=True)
    for name, text in tu_files(n, seed).items():
        (folder / name).write_text(text)
    return folder
