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
