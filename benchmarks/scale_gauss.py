"""Rows of the fast Gauss transform, beside the direct product of the same run, which is also its oracle.

The direct product takes all pairs in float32 tiles with float64 sums. The transform's tolerance is 1e-6 of the sum of
the absolute weights; what is compared are products over that sum. `python -m benchmarks.scale_gauss` prints how seconds
and memory grow from 10^4 to 10^6 samples, and what each method takes in one to eight dimensions.
"""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Memory, Peer, Row, Table, Timing, times_faster, times_the_cost
from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import FastGauss, Gram, GramSpec, Tiles
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient

TOL = 1e-6
DIRECT = Tiles(precision="mixed")


@dataclass(frozen=True)
class Cloud:
    """Standard normal points, weights, and a Gaussian of some length scale; Grams are built once, as in a solver."""

    n: int
    d: int
    length: float

    def make(self) -> Case:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.d))
        y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(self.n)
        return Case(X, y, rng.standard_normal(self.n), self.length)

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, length scale {self.length:g}"


@dataclass(frozen=True, eq=False)
class Case(Table):
    """Points with a kernel, and Grams that are built when they are first asked for."""

    length: float

    def gram(self, spec: GramSpec) -> Gram:
        held = vars(self).setdefault("_grams", {})
        if repr(spec) not in held:
            held[repr(spec)] = spec.build(Gaussian(self.length), Vectors.pack(self.X))
        return held[repr(spec)]


def fast(data: Case) -> Any:
    return data.gram(FastGauss(TOL)) @ data.v


def from_nothing(data: Case) -> Any:
    return FastGauss(TOL).build(Gaussian(data.length), Vectors.pack(data.X)) @ data.v


def direct(data: Case) -> Any:
    return data.gram(DIRECT) @ data.v


def fast_tenth(data: Case) -> Any:
    """The product of every tenth point."""
    if "_tenth" not in vars(data):
        vars(data)["_tenth"] = Case(data.X[::10].copy(), data.y[::10], data.v[::10].copy(), data.length)
    return fast(vars(data)["_tenth"])


def relative(result: Any, data: Case) -> np.ndarray:
    """Products over the sum of the absolute weights: that these differ by no more than 1e-6 is what is promised."""
    return np.asarray(result) / np.sum(np.abs(data.v))


def ridge(gram: GramSpec) -> Any:
    solver = ConjugateGradient(tol=1e-4, max_iter=30)

    def fit(data: Case) -> Any:
        return KernelRidge(Gaussian(data.length), alpha=100.0, gram=gram, solver=solver).fit(data.X, data.y)

    return fit


def predictions(model: Any, data: Case) -> np.ndarray:
    return model.predict(data.X[:500] + 0.1)


ROWS: tuple[Row, ...] = (
    Timing(
        "fast-gauss",
        "Gaussian product, tolerance 1e-6",
        Cloud(100_000, 2, 0.2),
        Cloud(10_000, 2, 0.2),
        ours=fast,
        peers=(Peer("mercer Tiles, float32", direct, times_faster(50.0)),),
        outcome=relative,
        fewest=1,
    ),
    Timing(
        "fast-gauss-million",
        "Gaussian product, tolerance 1e-6: linear growth",
        Cloud(1_000_000, 2, 0.2),
        Cloud(100_000, 2, 0.2),
        ours=fast,
        peers=(Peer("ten products of a tenth", fast_tenth, times_the_cost(1.5), same=False, repeats=10),),
        outcome=relative,
    ),
    Timing(
        "fast-gauss-wide",
        "Gaussian product, tolerance 1e-6, wide kernel",
        Cloud(50_000, 6, 8.0),
        Cloud(10_000, 6, 8.0),
        ours=fast,
        peers=(Peer("mercer Tiles, float32", direct, times_faster(20.0)),),
        outcome=relative,
        fewest=1,
    ),
    Timing(
        "fast-gauss-narrow",
        "Gaussian product, tolerance 1e-6, narrow kernel",
        Cloud(100_000, 2, 0.01),
        Cloud(10_000, 2, 0.01),
        ours=fast,
        peers=(Peer("mercer Tiles, float32", direct, times_faster(50.0)),),
        outcome=relative,
        fewest=1,
    ),
    Timing(
        "fast-gauss-build",
        "Gaussian product, choice and sorting included",
        Cloud(100_000, 2, 0.2),
        Cloud(10_000, 2, 0.2),
        ours=from_nothing,
        peers=(Peer("mercer, without them", fast, times_the_cost(6.0)),),
        outcome=relative,
    ),
    Timing(
        "fast-gauss-ridge",
        "KernelRidge.fit by conjugate gradients",
        Cloud(20_000, 2, 0.3),
        Cloud(4_000, 2, 0.3),
        ours=ridge(FastGauss(TOL)),
        peers=(Peer("gram=Tiles, float32", ridge(DIRECT), times_faster(5.0)),),
        outcome=predictions,
        fewest=1,
    ),
    Memory(
        "fast-gauss-memory",
        "Gaussian product, choice and sorting included",
        Cloud(1_000_000, 2, 0.2),
        Cloud(100_000, 2, 0.2),
        ours=from_nothing,
        unit=lambda data: 8 * data.X.size,
        unit_name="copies of the points",
        bar=times_the_cost(12.0),
    ),
)


def main() -> None:
    """Print seconds and memory against the number of samples, and seconds of each method against the dimension."""
    print("growth, d = 2, tolerance 1e-6, one product (seconds per 10^6 samples in brackets)")
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        for length in (0.05, 0.2, 1.0):
            data = Cloud(n, 2, length).make()
            fast(data)
            began, cpu = time.perf_counter(), time.process_time()
            for _ in range(3):
                fast(data)
            seconds, cpu = (time.perf_counter() - began) / 3, (time.process_time() - cpu) / 3
            tracemalloc.start()
            fast(data)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            gram: Any = data.gram(FastGauss(TOL))
            print(
                f"  n = {n:>9}  l = {length:<5g} {gram.method:8} {seconds:.4f} s ({seconds / n * 1e6:.3f}), cpu "
                f"{cpu:.4f} s, {peak / n:.0f} bytes a sample, error {gram.measured(data.v, 20):.1e} of {gram.bound:.1e}"
            )
    print("methods, n = 20 000, tolerance 1e-6, milliseconds of one product")
    for d, length in ((1, 0.1), (2, 0.01), (2, 0.2), (3, 0.05), (3, 0.5), (4, 1.0), (4, 5.0), (6, 8.0), (8, 20.0)):
        data = Cloud(20_000, d, length).make()
        print(f"  d = {d}  l = {length:<5g} " + "  ".join(described(data, spec) for spec in specs()))


def specs() -> tuple[GramSpec, ...]:
    return (DIRECT, *(FastGauss(TOL, method) for method in ("auto", "hermite", "taylor", "tree")))


def described(data: Case, spec: GramSpec) -> str:
    """One cell of the table: milliseconds of a product, or that the method does not apply."""
    name = spec.method if isinstance(spec, FastGauss) else "direct"
    try:
        gram: Any = data.gram(spec)
    except TypeError:  # CapabilityError: series would have too many terms
        return f"{name} -"
    if name not in ("direct", "auto") and min(gram.costs[name], 5e9) == 5e9:
        return f"{name} > 5000"
    gram @ data.v
    began = time.perf_counter()
    gram @ data.v
    chosen = f" ({gram.method})" if name == "auto" else ""
    return f"{name}{chosen} {1e3 * (time.perf_counter() - began):.1f}"


if __name__ == "__main__":
    main()
