"""The distribution of the test error on the original Wisconsin table: `python -m benchmarks.error_distribution`.

Mean classifier, linear and Gaussian support vector machine on random training sets of ten sizes, [ST] "Breast cancer";
the gallery has the same experiment on scikit-learn's table. The folder of the data is named by the environment variable
MERCER_DATA. Samples with missing values are left out; 683 remain.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from mercer import SVC, KernelMeanClassifier
from mercer.kernels import Gaussian, Linear
from mercer.theory import error_distribution

LEARNERS = {
    "class means": KernelMeanClassifier(Linear()),
    "linear SVM": SVC(Linear(), C=1.0),
    "Gaussian SVM": SVC(Gaussian(3.0), C=1.0),
}


def read() -> tuple[np.ndarray, np.ndarray]:
    """Return standardised columns and labels of the samples without missing values."""
    table = np.genfromtxt(
        Path(os.environ["MERCER_DATA"]) / "breast_cancer_wisconsin_original.csv.gz", delimiter=",", skip_header=1
    )
    table = table[np.isfinite(table).all(axis=1)]
    X, y = table[:, :-1], table[:, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def main() -> None:
    """Print mean and 95 % quantile of the error for each learner and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    count = parser.parse_args().repetitions
    X, y = read()
    print(f"{len(y)} samples, {count} repetitions")
    print(error_distribution(LEARNERS, X, y, repeats=count).table())


if __name__ == "__main__":
    main()
