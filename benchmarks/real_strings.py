"""String kernels on real sequences beside k-mer counts in a linear machine: `python -m benchmarks.real_strings`.

Accuracy by cross-validation (promoters: leave one out, the others ten stratified folds) and the seconds of one Gram
matrix. Kernels are normalised, C = 10 everywhere. Published figures: for the promoters Towell, Shavlik and Noordewier
(1990) report, by leaving one out, 4 errors of 106 for a network built from a domain theory, 8 for backpropagation, 13
for nearest neighbours and 19 for ID3, all from aligned positions. Kernels of substrings profit from how the data were
made: of the 53 sequences that are no promoters, 52 have 12 letters or more in common with another of them, since they
are overlapping pieces of one stretch of DNA. `--apart` keeps such sequences in one fold. The
folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import LeaveOneOut, StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

import mercer.kernels
from mercer import SVC
from mercer.kernels import Precomputed
from mercer.kernels.strings.spectrum import BlendedSpectrum, Spectrum
from mercer.kernels.strings.substrings import Substrings

DATA = ("promoters", "splice", "protein_families")
# other kernels: class, arguments for nucleotides and for amino acids; None where sequences are not aligned
OTHERS: tuple[Any, ...] = (
    ("Mismatch", ((5, 1), {"alphabet": "dna"}), ((4, 1), {"alphabet": "protein"})),
    ("Subsequence", ((4,), {"decay": 0.5}), ((3,), {"decay": 0.5})),
    ("GappySpectrum", ((4,), {}), ((3,), {})),
    ("LocalAlignment", ((), {}), ((), {})),
    ("EditDistance", ((10.0,), {}), ((1.0,), {"relative": True})),
    ("WeightedDegree", ((5,), {}), None),
    ("WeightedDegree", ((20,), {}), None),
    ("WeightedDegree", ((20, 2), {}), None),
    ("WeightedDegree", ((20, 10), {}), None),
)


def read(name: str) -> tuple[list[str], np.ndarray]:
    """Return the sequences in capitals and their labels."""
    with gzip.open(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [row["sequence"].strip().upper() for row in rows], np.array([row["label"] for row in rows])


def kernels(protein: bool) -> dict[str, Any]:
    """Return the kernels by name."""
    short = (1, 2, 3) if protein else (3, 4, 5, 6)
    found: dict[str, Any] = {f"Spectrum({p})": Spectrum(p) for p in short}
    found |= {f"BlendedSpectrum({p}, 2)": BlendedSpectrum(p, decay=2.0) for p in short[-1:]}
    found |= {
        "Substrings(decay=0.5)": Substrings(decay=0.5),
        "Substrings(2, longest=8)": Substrings(decay=2.0, longest=8),
    }
    found["Substrings(shortest=3)"] = Substrings(shortest=3)
    found["Substrings(2 to 5)"] = Substrings(shortest=2, longest=5)
    for name, *choices in OTHERS:
        if choices[protein] is not None:
            positional, named = choices[protein]
            text = name + str(positional or "()").replace(",)", ")")
            found[text] = getattr(mercer.kernels, name)(*positional, **named)
    return found


def related(X: list[str]) -> np.ndarray:
    """Return a number for each sequence, the same for those that a chain of common substrings of 12 letters joins."""
    return connected_components(csr_array(Spectrum(12)(X)))[1]


def judge(data: str, who: str, seconds: float, y: np.ndarray, guesses: Any) -> None:
    errors = int(np.sum(guesses != y))
    print(f"{data:18}{who:32}{1 - errors / len(y):10.4f}{errors:8} of {len(y):5}{seconds:10.3f} s", flush=True)


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA))
    parser.add_argument("--cost", type=float, default=10.0)
    parser.add_argument("--only", default="", help="kernels whose text begins like this")
    parser.add_argument("--apart", action="store_true", help="sequences with 12 common letters stay in one fold")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'data':18}{'contender':32}{'accuracy':>10}{'errors':>16}{'Gram':>12}")
    for name in options.names:
        X, y = read(name)
        folds: Any = LeaveOneOut() if len(y) < 200 else StratifiedKFold(10, shuffle=True, random_state=0)
        if options.apart:
            folds = list(StratifiedGroupKFold(10, shuffle=True, random_state=0).split(X, y, related(X)))
        protein = name == "protein_families"
        for who, kernel in kernels(protein).items():
            if not who.startswith(options.only):
                continue
            began = time.perf_counter()
            K = kernel.normalized()(X)
            taken = time.perf_counter() - began
            judge(name, who, taken, y, cross_val_predict(SVC(Precomputed(), C=options.cost), K, y, cv=folds))
        for p in (3,) if protein else (4, 6):
            counts = CountVectorizer(analyzer="char", ngram_range=(p, p), lowercase=False)
            peer = make_pipeline(counts, Normalizer(), LinearSVC(C=options.cost))
            began = time.perf_counter()
            F = make_pipeline(counts, Normalizer()).fit_transform(X)
            _ = (F @ F.T).toarray()
            taken = time.perf_counter() - began
            judge(name, f"CountVectorizer({p}) + LinearSVC", taken, y, cross_val_predict(peer, X, y, cv=folds))


if __name__ == "__main__":
    main()
