"""Experiments of the gallery on real sets: `python -m benchmarks.experiments [digits objects series]`.

digits: 5620 digits of 8 x 8 pixels (optdigits; the first 3823 are the official training part), errors of class means
and of three machines. objects: 6000 training and 2000 test pictures of Fashion-MNIST, the same machines. series: one
step ahead of monthly sunspots (the last fifth) and of the logarithm of airline passengers (the last three years) from
windows of the past, beside a linear model and saying that nothing changes; errors over the deviation of the test
part. Texts, proteins and recordings of several channels have scripts of their own: real_texts, real_strings,
real_models, real_series. The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer import LSSVR, SVC, KernelMeanClassifier, KernelRidge, series_windows
from mercer.choosing import KernelSearchCV
from mercer.kernels import Gaussian, Linear, Polynomial


def stored(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file of the data folder."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as file:
        return dict(file)


def classified(X: np.ndarray, y: np.ndarray, n: int, width: float) -> None:
    """Print errors on the samples after the first n, and the CPU seconds of fitting and predicting."""
    machines = {
        "class means": KernelMeanClassifier(Linear()),
        "linear machine": SVC(Linear(), C=0.1),
        "polynomial, degree 3": SVC(Polynomial(3, offset=1.0, scale=1.0 / width**2), C=10.0),
        "Gaussian": SVC(Gaussian(width), C=10.0),
    }
    for name, machine in machines.items():
        start = time.process_time()
        wrong = np.mean(machine.fit(X[:n], y[:n]).predict(X[n:]) != y[n:])
        print(f"  {name:22} {100 * wrong:5.2f} % errors on {len(X) - n}, {time.process_time() - start:.1f} s")


def digits() -> None:
    """All digits of the set."""
    data = stored("optdigits")
    classified(data["X"] / 16.0, data["y"], 3823, 1.8)


def objects() -> None:
    """Articles of clothing."""
    train, test = stored("fashion_mnist_train_a"), stored("fashion_mnist_test")
    X = np.concatenate([train["X"][:6000], test["X"][:2000]]) / 255.0
    classified(X, np.concatenate([train["y"][:6000], test["y"][:2000]]), 6000, 7.0)


def series() -> None:
    """Sunspots, and the logarithm of airline passengers."""
    for name, width, held in (("sunspots_monthly", 24, 564), ("air_passengers", 13, 36)):
        table = np.loadtxt(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", delimiter=",", skiprows=1)
        x = np.log(table[:, 1]) if name == "air_passengers" else np.sqrt(table[:, 1])
        predicted_from(x, name, width, held)


def predicted_from(x: np.ndarray, name: str, width: int, held: int) -> None:
    """Print errors of the next value, relative to the deviation of the values that are held back."""
    X, y = series_windows(x, width)[:-1], x[width:]
    centre, scale = x[:-held].mean(), x[:-held].std()
    X, y = (X - centre) / scale, (y - centre) / scale
    lengths = [2.0, 5.0, 10.0, 20.0, 50.0]
    grid = {"kernel__length_scale": lengths, "C": [1.0, 10.0, 100.0, 1000.0]}
    models: dict[str, Any] = {
        "least-squares machine": KernelSearchCV(LSSVR(Gaussian(5.0)), grid, cv=5),
        "linear": KernelRidge(Linear(), alpha=1e-2, fit_intercept=True),
    }
    spread = y[-held:].std()
    print(f"  {name}: no change {np.sqrt(np.mean((X[-held:, -1] - y[-held:]) ** 2)) / spread:.3f}", end="")
    for title, model in models.items():
        error = model.fit(X[:-held], y[:-held]).predict(X[-held:]) - y[-held:]
        print(f", {title} {np.sqrt(np.mean(error**2)) / spread:.3f}", end="")
    print()


def main() -> None:
    """Run the experiments that are named; all of them without a name."""
    known = {"digits": digits, "objects": objects, "series": series}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*known, []], default=[])
    for name in parser.parse_args().names or known:
        print(name)
        known[name]()


if __name__ == "__main__":
    main()
