"""Few labels: `python -m benchmarks.real_few_labels`.

"rates": accuracy in percent on the samples without a label, when 1, 5 or 10 % of the digits of optdigits, or of the
papers of cora and citeseer have one, mean and standard deviation over draws, in which each class has at least two
labels. Beside machines that see the other samples stand the supervised machine and scikit-learn's LabelSpreading and
SelfTrainingClassifier; a figure below that of the supervised machine is where samples without a label hurt. Columns of
the digits are divided by 16, the kernel is the Gaussian at the median distance, C = 10, and 1000 for LaplacianSVC,
where labels stand against the graph; the weight of that is chosen by left-out labels. Papers are compared by their
words, normalised, by a Gram of rank 500 for LaplacianSVC, and the graph is that of the citations. Papers of citeseer
whose topic is not known are in the graph, and are never scored.
Each draw of a contender is a line of benchmarks/results/real_few_labels.jsonl; those that are there are not made again,
so that what was stopped goes on, and more draws can be added. `rates --draws 0` prints the table of what is there.

"scale": seconds and the peak of memory that NumPy allocates for 10 000 and 100 000 points on two moons of which 100
have a label, with ten neighbours, by a Gram of rank 500, which never has n x n entries.

"links": the same for links between all pairs of 5 000 nodes of a graph of neighbours, of which 0.8 % are known.
The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC as Reference

from mercer import SVC, LabelPropagation, LaplacianRidge, LaplacianSVC, LinkPropagation, TransductiveSVC
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear

RESULTS = Path(__file__).parent / "results" / "real_few_labels.jsonl"
RATES = (0.01, 0.05, 0.1)
WEIGHTS = [1e-2, 1e-1, 1.0, 10.0]


def draw(y: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Return labels of a share of the samples, at least two of each class, and -1 for the others."""
    rng = np.random.default_rng(seed)
    known = (rng.random(len(y)) < rate) & (y >= 0)
    for c in np.unique(y[y >= 0]):
        known[rng.choice(np.flatnonzero(y == c), 2, replace=False)] = True
    return np.where(known, y, -1)


def digits(samples: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the classes of the digits, and who predicts them from labels with -1."""
    with np.load(Path(os.environ["MERCER_DATA"]) / "optdigits.npz") as data:
        X, y = data["X"][:samples] / 16.0, data["y"][:samples].astype(int)
    width = float(Gaussian("median").learn(X).length_scale)
    kernel, gamma = Gaussian(width), 0.5 / width**2
    equal = np.full(10, 0.1)  # what one knows of digits
    trainer = Reference(C=10, gamma=gamma, probability=True)
    return y, {
        "SVC on the labelled": lambda t: SVC(kernel, 10.0).fit(X[t >= 0], t[t >= 0]).predict(X),
        "LaplacianSVC": lambda t: LaplacianSVC(kernel, 1000.0, WEIGHTS).fit(X, t).transduction_,
        "TransductiveSVC": lambda t: TransductiveSVC(kernel, 10.0, tol=1e-2).fit(X, t).transduction_,
        "TransductiveSVC, shares": lambda t: (
            TransductiveSVC(kernel, 10.0, tol=1e-2, balance=equal).fit(X, t).transduction_
        ),
        "LabelPropagation": lambda t: LabelPropagation().fit(X, t).transduction_,
        "LabelSpreading": lambda t: LabelSpreading(kernel="knn", n_neighbors=10).fit(X, t).transduction_,
        "SelfTraining": lambda t: SelfTrainingClassifier(trainer).fit(X, t).predict(X),
    }


def papers(name: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the topics of papers, -1 if they are not known, and who predicts them from words and citations."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as data:
        y, edges = data["y"].astype(int), data["edges"]
        words = sp.csr_matrix(
            (data["x_data"].astype(float), data["x_indices"], data["x_indptr"]),
            shape=(len(y), int(data["n_features"][0])),
        )
    W = sp.csr_array((np.ones(len(edges)), edges.T), shape=(len(y), len(y)))
    W = sp.csr_array(((W + W.T) > 0).astype(float))
    X, nodes, gram = normalize(words), np.arange(len(y)), Nystrom(500, random_state=0)
    theirs = LabelSpreading(kernel=lambda a, b=None: sp.csr_matrix(W), alpha=0.9, max_iter=1000)
    K = (X @ X.T).toarray()  # looked up by the number of a paper: scikit-learn's products of sparse rows are slow
    trainer = Reference(C=10, kernel=lambda a, b: K[np.ix_(a.ravel(), b.ravel())], probability=True)
    return y, {
        "SVC on the labelled": lambda t: SVC(Linear(), 10.0).fit(X[t >= 0], t[t >= 0]).predict(X),
        "LaplacianSVC": lambda t: LaplacianSVC(Linear(), 1000.0, WEIGHTS, graph=W, gram=gram).fit(X, t).transduction_,
        "TransductiveSVC": lambda t: TransductiveSVC(Linear(), 10.0, tol=1e-2).fit(X, t).transduction_,
        "LabelPropagation": lambda t: LabelPropagation(graph=W).fit(nodes, t).transduction_,
        "LabelSpreading": lambda t: theirs.fit(nodes[:, None], t).transduction_,
        "SelfTraining": lambda t: SelfTrainingClassifier(trainer).fit(nodes[:, None], t).predict(nodes[:, None]),
    }


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def rates(names: list[str], draws: int, samples: int, to: Path, without: list[str]) -> None:
    """Make the draws that are not there, and print the tables of accuracies."""
    there = {(line["set"], line["rate"], line["who"], line["draw"]) for line in stored(to)}
    for name in names if draws else []:
        y, contenders = digits(samples) if name == "optdigits" else papers(name)
        for seed, rate, who in itertools.product(range(draws), RATES, contenders):
            if (name, rate, who, seed) in there or who in without:
                continue
            t, began = draw(y, rate, seed), time.process_time()
            found, asked = contenders[who](t), (t < 0) & (y >= 0)
            line = {"set": name, "rate": rate, "who": who, "draw": seed, "n": len(y)}
            line |= {"accuracy": 100.0 * np.mean(found[asked] == y[asked]), "seconds": time.process_time() - began}
            with to.open("a") as file:
                file.write(json.dumps(line) + "\n")
    table(stored(to))


def table(lines: list[dict[str, Any]]) -> None:
    """Print mean and deviation over draws, and seconds, for each set, contender and rate."""
    for name, who in dict.fromkeys((line["set"], line["who"]) for line in lines):
        cells = []
        for rate in RATES:
            mine = [line for line in lines if (line["set"], line["who"], line["rate"]) == (name, who, rate)]
            found = [line["accuracy"] for line in mine]
            seconds = np.mean([line["seconds"] for line in mine]) if mine else np.nan
            cells += [f"{np.mean(found):5.1f} +- {np.std(found):3.1f} ({len(found)}; {seconds:.1f} s)" if mine else "-"]
        print(f"{name:10s} {who:22s} " + "  ".join(cells))


def peak(call) -> tuple[float, float, float]:
    """Return seconds of the wall and of the processor, and the peak of memory in MB."""
    tracemalloc.start()
    began, used = time.perf_counter(), time.process_time()
    call()
    seconds, worked = time.perf_counter() - began, time.process_time() - used
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, worked, most


def scale(sizes: list[int]) -> None:
    """Print seconds and memory of large fits."""
    for n in sizes:
        X, y = make_moons(n, noise=0.1, random_state=0)
        some = np.random.default_rng(0).choice(n, 100, replace=False)
        labels, targets = np.full(n, -1), np.full(n, np.nan)
        labels[some], targets[some] = y[some], y[some]
        gram = Nystrom(500, random_state=0)
        for name, model, t in (
            ("LaplacianRidge", LaplacianRidge(Gaussian(0.3), 0.01, gram=gram), targets),
            ("LaplacianSVC", LaplacianSVC(Gaussian(0.3), 10.0, gram=gram), labels),
        ):
            seconds, worked, most = peak(lambda model=model, X=X, t=t: model.fit(X, t))
            right = np.mean((model.transduction_ > 0.5) == y)
            print(
                f"  {n:7d} rows  {name:15s} {seconds:6.1f} s ({worked:.1f} of the processor), {most:6.0f} MB "
                f"(n x n is {8e-6 * n * n:.0f}), {100 * right:.1f} % right",
                flush=True,
            )


def links(n: int) -> None:
    """Print seconds and memory of the links between all pairs of nodes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) + 6.0 * rng.integers(0, 3, size=(n, 1))
    group = np.digitize(X.sum(axis=1), [6.0, 18.0])
    Y = np.full((n, n), np.nan)
    i, j = rng.integers(0, n, size=(2, 20 * n))
    Y[i, j] = Y[j, i] = group[i] == group[j]
    model = LinkPropagation(Linear(), columns="rows")
    seconds, worked, most = peak(lambda: model.fit(X, Y))
    i, j = rng.integers(0, n, size=(2, 100_000))
    hidden = np.isnan(Y[i, j])
    area = roc_auc_score((group[i] == group[j])[hidden], model.transduction_[i, j][hidden])
    print(
        f"  {n} nodes, {n * n} pairs: {seconds:.0f} s ({worked:.0f} of the processor), {most:.0f} MB beside the links "
        f"that are given, {model.n_iter_} steps, area under the ROC curve of hidden links {100 * area:.1f} %",
        flush=True,
    )


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["rates", "scale", "links"])
    parser.add_argument("--names", nargs="*", default=["optdigits", "cora", "citeseer"])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--to", type=Path, default=RESULTS)
    parser.add_argument("--without", nargs="*", default=[], help="contenders to leave out, for their cost")
    parser.add_argument("--samples", type=int, default=1500)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--nodes", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "rates" in options.parts:
        rates(options.names, options.draws, options.samples, options.to, options.without)
    if "scale" in options.parts:
        scale(options.sizes)
    if "links" in options.parts:
        links(options.nodes)


if __name__ == "__main__":
    main()
