"""Rows of distributed runs: two workers beside one, each with one thread, on work that is all arithmetic.

``python -m benchmarks.scale_cluster`` prints what distribution itself costs: starting workers, a task, a product whose
arithmetic is nothing, and the same work in this process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.domains import Vectors
from mercer.gram import Distributed, Nystrom
from mercer.kernels import Gaussian


@dataclass(frozen=True)
class Blocks:
    """Standard normal rows in blocks; the factor has so many landmarks, 0 is K itself."""

    n: int
    d: int
    landmarks: int = 0
    block: int = 2048

    def make(self) -> Crews:
        rng = np.random.default_rng(0)
        return Crews(self, Vectors.pack(rng.standard_normal((self.n, self.d))), rng.standard_normal(self.n))

    def __str__(self) -> str:
        held = f", {self.landmarks} landmarks" if self.landmarks else ""
        return f"n = {self.n}, d = {self.d}{held}, blocks of {self.block} rows"


class Crews:
    """The same Gram with one worker, with two, and in this process; made, and warm, when first asked for."""

    def __init__(self, size: Blocks, samples: Vectors, v: np.ndarray) -> None:
        self.size, self.samples, self.v = size, samples, v
        self.grams: dict[int, Any] = {}

    def gram(self, workers: int) -> Any:
        if workers not in self.grams:
            inner = Nystrom(self.size.landmarks) if self.size.landmarks else None
            address = None if workers else "here"
            spec = Distributed(address, block=self.size.block, gram=inner, workers=workers or None)
            self.grams[workers] = spec.build(Gaussian(np.sqrt(self.size.d)), self.samples)
            self.work(workers)
        return self.grams[workers]

    def work(self, workers: int) -> np.ndarray:
        """A product with K, or the normal equations of a factor."""
        gram = self.gram(workers)
        return gram.normal(1.0, self.v)[0] if self.size.landmarks else gram @ self.v


def with_workers(count: int) -> Any:
    return lambda crews: crews.work(count)


ROWS: tuple[Row, ...] = (
    Timing(
        "cluster-products",
        "K @ v by 2 workers of one thread",
        Blocks(24_576, 10),
        Blocks(2_000, 10, block=512),
        ours=with_workers(2),
        peers=(
            Peer("1 worker", with_workers(1), times_faster(1.5)),
            Peer("this process, all cores", with_workers(0)),
        ),
        fewest=3,
    ),
    Timing(
        "cluster-statistics",
        "F^T F of a factor by 2 workers of one thread",
        Blocks(80_000, 10, 1000, 4096),
        Blocks(4_000, 10, 50, 1024),
        ours=with_workers(2),
        peers=(
            Peer("1 worker", with_workers(1)),
            Peer("this process, all cores", with_workers(0)),
        ),
        fewest=3,
    ),
)


def main() -> None:
    """Print seconds of one worker, two, and this process, and the overheads."""
    began = time.perf_counter()
    with Distributed(workers=2).open() as crew:
        print(f"two workers start in {time.perf_counter() - began:.1f} s", flush=True)
        crew.gather([crew.submit(abs, -1) for _ in range(10)])
        began = time.perf_counter()
        crew.gather([crew.submit(abs, -i) for i in range(200)])
        print(f"an empty task takes {(time.perf_counter() - began) / 200 * 1e3:.1f} ms", flush=True)
        small = Blocks(64, 2, block=32).make()
        small.work(2)
        began = time.perf_counter()
        for _ in range(10):
            small.work(2)
        print(f"a product of nothing takes {(time.perf_counter() - began) / 10 * 1e3:.0f} ms", flush=True)
        del small
    for row in ROWS:
        crews = row.size.make()
        for workers in (0, 1, 2):
            crews.work(workers)
        best = {}
        for _ in range(3):
            for workers in (0, 1, 2):
                began = time.perf_counter()
                crews.work(workers)
                best[workers] = min(best.get(workers, np.inf), time.perf_counter() - began)
        print(
            f"{row.name}, {row.size}: this process {best[0]:.2f} s, one worker {best[1]:.2f} s, two {best[2]:.2f} s: "
            f"{best[1] / best[2]:.2f} times as fast",
            flush=True,
        )


if __name__ == "__main__":
    main()
