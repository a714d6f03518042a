"""`mercer fit` on every kind of file: `python -m benchmarks.command_line --to fits.jsonl`, with its seconds.

Each row is a command in a process of its own, with the report, on at most so many samples (`--rows`); its processor
seconds are those of the process, imports included. A line of JSON is written for each; what is in the file already is
not computed again, and `--only NAME` runs some. The table is printed at the end. Arrays are written as tables or as
svmlight first, since the command reads no .npz. The folder of the data is named by the environment variable
MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Maker = Callable[[Path, Path, int], Path]
SEED = 0


def table(name: str, columns: Sequence[str] = ()) -> Maker:
    """Some rows of a table, of all columns or of those named."""

    def make(data: Path, folder: Path, rows: int) -> Path:
        with gzip.open(data / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
            found = list(csv.DictReader(stream))
        if len(found) > rows:
            found = [found[i] for i in np.sort(np.random.default_rng(SEED).choice(len(found), rows, replace=False))]
        path = folder / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns or list(found[0]), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(found)
        return path

    return make


def file(name: str) -> Maker:
    """A file as it is."""
    return lambda data, folder, rows: data / name


def matrix(name: str) -> Maker:
    """The arrays X and y as a table."""

    def make(data: Path, folder: Path, rows: int) -> Path:
        arrays = np.load(data / f"{name}.npz")
        some = np.random.default_rng(SEED).permutation(len(arrays["y"]))[:rows]
        X, path = arrays["X"][some], folder / f"{name}.csv"
        header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
        np.savetxt(path, np.column_stack([X, arrays["y"][some]]), delimiter=",", header=header, comments="", fmt="%.6g")
        return path

    return make


def sparse(name: str) -> Maker:
    """Sparse rows of ones as svmlight."""

    def make(data: Path, folder: Path, rows: int) -> Path:
        arrays, path = np.load(data / f"{name}.npz"), folder / f"{name}.svmlight"
        start, columns, y = arrays["train_indptr"], arrays["train_indices"], arrays["train_y"]
        lines = []
        for i in range(min(rows, len(y))):
            lines.append(f"{int(y[i])} " + " ".join(f"{j + 1}:1" for j in sorted(columns[start[i] : start[i + 1]])))
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def trees(data: Path, folder: Path, rows: int) -> Path:
    """Questions as trees, a folder for each class."""
    with gzip.open(data / "trec_questions_trees.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    some = np.random.default_rng(SEED).permutation(len(found))[:rows]
    for label in sorted({found[i]["label"] for i in some}):
        (folder / "trec" / label).mkdir(parents=True)
        lines = [found[i]["tree_grct"] for i in some if found[i]["label"] == label]
        (folder / "trec" / label / "questions.mrg").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "trec"


def molecules(data: Path, folder: Path, rows: int) -> Path:
    """Graphs of atoms as node-link JSON, a graph a line."""
    with gzip.open(data / "acyclic_boiling_points.json.gz", "rt", encoding="utf-8") as stream:
        found = json.load(stream)
    path = folder / "molecules.json"
    graphs = [
        {
            "graph": {"y": one["y"]},
            "nodes": [{"id": i, "label": atom} for i, atom in enumerate(one["atoms"])],
            "links": [{"source": a, "target": b, "label": kind} for a, b, kind in one["bonds"]],
        }
        for one in found[:rows]
    ]
    path.write_text("\n".join(map(json.dumps, graphs)))
    return path


FITS: dict[str, tuple[str, Maker, list[str]]] = {
    "concrete": ("table of numbers", table("concrete"), ["-t", "strength"]),
    "heart": ("table, two classes", table("heart"), ["-t", "class"]),
    "adult": ("table with categories and missing values", table("adult"), ["-t", "class", "--drop", "part"]),
    "vehicle": ("table, four classes", table("vehicle"), ["-t", "class"]),
    "edm": ("table, two targets", table("edm"), ["-t", "DFlow", "-t", "DGap"]),
    "mcycle": ("table of one input", table("mcycle"), ["-t", "accel"]),
    "sms_spam": ("texts", table("sms_spam"), ["-t", "label"]),
    "reuters_r8": ("texts, eight classes", table("reuters_r8", ("label", "text")), ["-t", "label"]),
    "promoters": ("sequences in a table", table("promoters"), ["-t", "label"]),
    "trec": ("folder of trees, six classes", trees, []),
    "MUTAG": ("graphs, archive", file("MUTAG.zip"), []),
    "molecules": ("graphs, JSON", molecules, ["-t", "y"]),
    "optdigits": ("matrix, ten classes", matrix("optdigits"), ["-t", "y"]),
    "a8a": ("sparse vectors, svmlight", sparse("a8a"), []),
}


def fitted(name: str, data: Path, rows: int) -> dict[str, Any]:
    """Run the command; return its seconds and what it says."""
    kind, make, options = FITS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = make(data, Path(folder), rows)
        command = [sys.executable, "-m", "mercer", "fit", str(path), *options, "--json", "--quiet"]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([*command, "-o", f"{folder}/m.mercer"], capture_output=True, text=True, check=False)
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
        row = {"name": name, "kind": kind, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
        row |= {"seconds": seconds, "code": done.returncode}
        if done.returncode:
            return row | {"error": done.stderr.strip()[-300:]}
        told = json.loads(done.stdout)
        first = told if "targets" not in told else next(iter(told["targets"].values()))
        pages = [one.stat().st_size for one in Path(folder).glob("*.html")]
        machine = first["estimator"].partition("(")[0]
        row |= {"samples": first["data"]["samples"], "machine": machine, "verdict": first["verdict"]}
        return row | {"report_kB": round(max(pages) / 1000), "scores": first["scores"]}


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--only", nargs="*", choices=list(FITS))
    options = parser.parse_args()
    data = Path(os.environ["MERCER_DATA"])
    known = [json.loads(line) for line in options.to.read_text().splitlines()] if options.to.exists() else []
    for name in options.only or FITS:
        if any(row["name"] == name for row in known):
            continue
        row = fitted(name, data, options.rows)
        known.append(row)
        with options.to.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
    print("| File | Samples | Model | Score, held out | Processor seconds | Report, kB |")
    print("|---|---|---|---|---|---|")
    for row in known:
        if row["code"]:
            print(f"| {row['kind']} ({row['name']}) | | exit code {row['code']} | | {row['cpu']:.1f} | |")
            continue
        score, value = next(iter(row["scores"].items()), ("", float("nan")))
        print(
            f"| {row['kind']} ({row['name']}) | {row['samples']} | {row['machine']} | {score} {value:.3f} | "
            f"{row['cpu']:.1f} | {row['report_kB']} |"
        )


if __name__ == "__main__":
    main()
