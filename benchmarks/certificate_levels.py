"""How often bounds hold, by simulation: samples of known distributions, and the truth beside each bound.

    python -m benchmarks.certificate_levels                1000 draws of each, some minutes
    python -m benchmarks.certificate_levels --runs 100     a quick look

A bound with delta = 0.1 may fail in a tenth of the draws; a row is in order if the failures are not more than the
binomial distribution allows but for one in a thousand. How loose a bound is shows in the mean of bound minus truth.
Exit code 1 if a row is not in order.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import binom, norm

from mercer import SVC, KernelRidge, LPBoostClassifier, MultipleKernelClassifier, OneClassSVM
from mercer.kernels import Gaussian, Linear
from mercer.theory import (
    boosting_bound,
    clopper_pearson,
    finite_rademacher,
    hoeffding_width,
    kernel_ball_rademacher,
    margin_bound,
    mcdiarmid_width,
    mkl_bound,
    noise_exponent,
    novelty_bound,
    rademacher_bound,
    svm_bound,
    svm_pac_bayes,
    symmetrized_width,
    transductive_bound,
    vc_bound,
)

DELTA = 0.1
CENTRE = np.array([1.5, 0.0])
Draw = Callable[[np.random.Generator], tuple[float, float]]


def coins(rng: np.random.Generator, n: int = 50, p: float = 0.3) -> np.ndarray:
    return (rng.random(n) < p).astype(float)


def hoeffding(rng: np.random.Generator) -> tuple[float, float]:
    return abs(coins(rng).mean() - 0.3), hoeffding_width(50, DELTA)


def mcdiarmid(rng: np.random.Generator) -> tuple[float, float]:
    return coins(rng).mean() - 0.3, mcdiarmid_width(1.0 / 50, DELTA, 50)


def clopper(rng: np.random.Generator) -> tuple[float, float]:
    low, high = clopper_pearson(int(coins(rng).sum()), 50, DELTA)
    return float(not low <= 0.3 <= high), 0.5


def sphere(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


def ball(rng: np.random.Generator) -> tuple[float, float]:
    """All linear functions of norm one: the largest deviation is the length of the mean, whose expectation is zero."""
    x = sphere(rng, 100)
    return float(np.linalg.norm(x.mean(axis=0))), float(
        rademacher_bound(0.0, kernel_ball_rademacher(np.ones(100)), 100, DELTA, width=2.0)
    )


def stumps(rng: np.random.Generator) -> tuple[float, float]:
    """All thresholds on the line: the largest deviation is Kolmogorov's distance."""
    u = np.sort(rng.random(200))
    grid = np.arange(201) / 200
    distance = max(np.abs(u - grid[1:]).max(), np.abs(u - grid[:-1]).max())
    return float(distance), float(vc_bound(0.0, 200, 1, DELTA))


def symmetric(rng: np.random.Generator) -> tuple[float, float]:
    return stumps(rng)[0], symmetrized_width(200, math.log(401.0), DELTA)


def transductive(rng: np.random.Generator) -> tuple[float, float]:
    wrong = rng.permutation(np.r_[np.ones(20), np.zeros(80)])
    return float(wrong[50:].mean()), float(transductive_bound(int(wrong[:50].sum()), 50, 50, delta=DELTA))


def classes(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.choice([-1.0, 1.0], m)
    return y[:, None] * CENTRE + rng.normal(size=(m, 2)), y


def linear_error(w: np.ndarray, b: float = 0.0) -> float:
    size = float(np.linalg.norm(w))
    return float(0.5 * (norm.cdf(-(w @ CENTRE + b) / size) + norm.cdf(-(w @ CENTRE - b) / size)))


def direction(rng: np.random.Generator, m: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = classes(rng, m)
    w = (y[:, None] * X).mean(axis=0)
    return X, y, w / np.linalg.norm(w)


def printed_svm(rng: np.random.Generator) -> tuple[float, float]:
    X, y, w = direction(rng)
    slacks = np.maximum(0.0, 1.0 - y * (X @ w))
    return linear_error(w), float(svm_bound(slacks, (X**2).sum(axis=1), 1.0, DELTA))


def learned_margin(rng: np.random.Generator) -> tuple[float, float]:
    X, y, w = direction(rng)
    return linear_error(w), float(
        margin_bound(y * (X @ w), 1.0, kernel_ball_rademacher((X**2).sum(axis=1)), delta=DELTA)
    )


def pac_bayes(rng: np.random.Generator) -> tuple[float, float]:
    X, y, w = direction(rng)
    return linear_error(w), float(svm_pac_bayes(y * (X @ w) / np.linalg.norm(X, axis=1), DELTA))


def machine(rng: np.random.Generator) -> tuple[float, float]:
    X, y = classes(rng, 150)
    model = SVC(Linear()).fit(X, y)
    return linear_error(model.coef_[0], float(model.intercept_[0])), float(
        model.certificate(X, y, delta=DELTA, cv=None).best
    )


def chosen(rng: np.random.Generator) -> tuple[float, float]:
    """The kernel of the smallest training error of five, and a certificate that pays for the choice."""
    X, y = classes(rng, 60)
    models = [SVC(Gaussian(width)).fit(X, y) for width in (0.1, 0.3, 1.0, 3.0, 10.0)]
    model = max(models, key=lambda one: one.score(X, y))
    new, truth = classes(np.random.default_rng(1), 2000)
    found = model.certificate(X, y, delta=DELTA, cv=None, prior=None, candidates=5).best
    return float(np.mean(model.predict(new) != truth)), float(found)


def boosted(rng: np.random.Generator) -> tuple[float, float]:
    """The best of 40 stumps on noisy labels; its error is known."""
    x = rng.random((150, 2))
    y = np.where(x[:, 0] > 0.5, 1.0, -1.0) * np.where(rng.random(150) < 0.2, -1.0, 1.0)
    best = max(((j, k / 20, s) for j in (0, 1) for k in range(20) for s in (1.0, -1.0)),
               key=lambda h: np.mean(h[2] * np.where(x[:, h[0]] > h[1], 1.0, -1.0) == y))  # fmt: skip
    j, threshold, s = best
    slacks = np.maximum(0.0, 1.0 - y * s * np.where(x[:, j] > threshold, 1.0, -1.0))
    off = abs(threshold - 0.5) if j == 0 else 0.5
    agree = 1.0 - off if s > 0 else off
    return 0.2 * agree + 0.8 * (1.0 - agree), float(boosting_bound(slacks, 1.0, finite_rademacher(80, 150), DELTA))


def many_kernels(rng: np.random.Generator) -> tuple[float, float]:
    """The better of two columns, each a kernel of its own, cut to [-1, 1]."""
    X, y = classes(rng, 150)
    columns = np.clip(X / 3.0, -1.0, 1.0)
    j, s = max(((j, s) for j in (0, 1) for s in (1.0, -1.0)), key=lambda h: np.mean(h[1] * columns[:, h[0]] * y))
    slacks = np.maximum(0.0, 0.5 - y * s * columns[:, j])
    return float(norm.cdf(-s * CENTRE[j])), float(mkl_bound(slacks, (columns**2).sum(axis=0), 0.5, DELTA))


def novelty(rng: np.random.Generator) -> tuple[float, float]:
    """A ball around the mean of points on a sphere: |c - x|^2 = 1 + |c|^2 - 2 <c, x>, and <c, x> is uniform."""
    x = sphere(rng, 400)
    c, gamma = x.mean(axis=0), 0.5
    distances = ((x - c) ** 2).sum(axis=1)
    r2 = float(np.quantile(distances, 0.9))
    size = float(np.linalg.norm(c))
    outside = float(np.clip(((1.0 + size**2 - r2 - gamma) / (2.0 * size) + 1.0) / 2.0, 0.0, 1.0))
    return outside, float(novelty_bound(np.maximum(0.0, distances - r2), 1.0, gamma, DELTA))


def boosted_machine(rng: np.random.Generator) -> tuple[float, float]:
    """Stumps on a line, voting for the side of a half; a tenth of the labels is turned."""
    x = rng.random((400, 1))
    y = np.where((x[:, 0] > 0.5) != (rng.random(400) < 0.1), 1, -1)
    model = LPBoostClassifier(nu=0.5).fit(x, y)
    points = (np.arange(4000.0) + 0.5) / 4000
    agree = float(np.mean((model.predict(points[:, None]) > 0) == (points > 0.5)))
    return 0.1 * agree + 0.9 * (1.0 - agree), float(model.certificate(x, y, delta=DELTA, cv=None).best)


def mixed_machine(rng: np.random.Generator) -> tuple[float, float]:
    """Two columns, each a kernel of its own, and their weights learned."""
    X, y = classes(rng, 300)
    model = MultipleKernelClassifier([Linear().on([0]), Linear().on([1])]).fit(X, y)
    b, *ends = model.decision_function(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    return linear_error(np.array(ends) - b, float(b)), float(model.certificate(X, y, delta=DELTA, cv=None).best)


def detector(rng: np.random.Generator) -> tuple[float, float]:
    X = rng.normal(size=(150, 2))
    model = OneClassSVM(Gaussian(2.0), nu=0.1).fit(X)
    new = np.random.default_rng(1).normal(size=(2000, 2))
    return float(np.mean(model.predict(new) < 0)), float(model.certificate(X, delta=DELTA, cv=None).best)


def regression(rng: np.random.Generator) -> tuple[float, float]:
    def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(-3.0, 3.0, (n, 1))
        return x, np.sin(x[:, 0]) + rng.uniform(-0.5, 0.5, n)

    X, y = drawn(rng, 100)
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    new, truth = drawn(np.random.default_rng(1), 4000)
    error = float(np.abs(truth - np.clip(model.predict(new), -1.5, 1.5)).mean())
    return error, float(model.certificate(X, y, delta=DELTA, cv=None, target_range=(-1.5, 1.5)).best)


def exponent(rng: np.random.Generator) -> tuple[float, float]:
    found = noise_exponent(0.5 + 0.5 * np.sqrt(rng.random(500)), delta=DELTA)
    return float(not found.low <= 2.0 <= found.high), 0.5


ROWS: dict[str, Draw] = {
    "Hoeffding, mean of coins": hoeffding,
    "McDiarmid, mean of coins": mcdiarmid,
    "Clopper-Pearson": clopper,
    "Rademacher, all of a ball": ball,
    "VC, all thresholds": stumps,
    "symmetrisation, all thresholds": symmetric,
    "transductive": transductive,
    "SVM, fixed margin": printed_svm,
    "margin, learned": learned_margin,
    "PAC-Bayes, prior at zero": pac_bayes,
    "boosting, best of 80 stumps": boosted,
    "many kernels": many_kernels,
    "novelty, fixed gamma": novelty,
    "certificate of SVC": machine,
    "certificate of the best of 5 SVC": chosen,
    "certificate of LPBoostClassifier": boosted_machine,
    "certificate of MultipleKernel": mixed_machine,
    "certificate of OneClassSVM": detector,
    "certificate of KernelRidge": regression,
    "Tsybakov's exponent": exponent,
}


def main() -> None:
    """Print failures of each bound, and what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("rows", nargs="*", help="beginnings of the names of rows; all if none is given")
    given = parser.parse_args()
    allowed, bad = int(binom.isf(1e-3, given.runs, DELTA)), 0
    print(f"{given.runs} draws, delta = {DELTA}; at most {allowed} failures are in order")
    print(f"{'bound':34}{'failures':>10}{'mean bound':>12}{'mean truth':>12}{'seconds':>9}")
    for name, draw in ROWS.items():
        if given.rows and not any(name.startswith(one) for one in given.rows):
            continue
        began = time.perf_counter()
        rng = np.random.default_rng(0)
        found = np.array([draw(rng) for _ in range(given.runs)])
        failures = int((found[:, 0] > found[:, 1] + 1e-12).sum())
        bad += failures > allowed
        means = found.mean(axis=0)
        took = time.perf_counter() - began
        print(f"{name:34}{failures:>10}{means[1]:>12.3f}{means[0]:>12.3f}{took:>9.1f}", flush=True)
    sys.exit(int(bad > 0))


if __name__ == "__main__":
    main()
