"""Many kernels: `python -m benchmarks.many_kernels [row ...]`.

Seconds of the wall clock and of the processor of `MultipleKernelClassifier` beside what a user would write instead, to
the same duality gap of the same problem (weights on the simplex, hinge loss): SimpleMKL around scikit-learn's SVC with
precomputed matrices, and the cone program given to clarabel. Gram matrices are computed beforehand for both where two
are compared; else their time is included. What is compiled is compiled before. The bars are for an idle machine.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from mercer import MultipleKernelClassifier
from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.mixtures import Simplex
from mercer.solvers import ConeProgram, MixtureNewton
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program
from mercer.solvers.mixtures.stack import Matrix

rng = np.random.default_rng(0)
C = 1.0


def data(n: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, d))
    return X, np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def problem(matrices: list[np.ndarray], y: np.ndarray) -> MixtureQP:
    program = Program(-y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0))
    return MixtureQP([Matrix(K) for K in matrices], Simplex(), (program,))


class SimpleMKL:
    """The reduced gradient of Rakotomamonjy et al. (2008), as one writes it with scikit-learn."""

    def __init__(self, matrices: list[np.ndarray], y: np.ndarray, gap: float) -> None:
        self.K, self.y, self.gap, self.machines = matrices, y, gap, 0
        self.lower = -np.inf

    def solve(self, d: np.ndarray) -> tuple[float, np.ndarray]:
        K = np.zeros_like(self.K[0])
        for weight, matrix in zip(d, self.K, strict=True):
            if weight > 0.0:
                K += weight * matrix
        machine = SVC(C=C, kernel="precomputed", tol=1e-5, cache_size=1000).fit(K, self.y)
        self.machines += 1
        beta = np.zeros(len(self.y))
        beta[machine.support_] = machine.dual_coef_[0]
        s = np.array([beta @ (matrix @ beta) for matrix in self.K])
        gain = np.abs(beta).sum()
        self.lower = max(self.lower, gain - 0.5 * s.max())
        return gain - 0.5 * float(d @ s), s

    def run(self) -> tuple[float, np.ndarray]:
        d = np.full(len(self.K), 1.0 / len(self.K))
        value, s = self.solve(d)
        while (value - self.lower) / value > self.gap and self.machines < 2000:
            mu = int(np.argmax(d))
            D = 0.5 * (s - s[mu])
            D[(d <= 0.0) & (D < 0.0)] = 0.0
            D[mu] = 0.0
            D[mu] = -D.sum()
            if not D.any():
                break
            while True:  # to the next face as long as the objective falls
                falling = np.flatnonzero(D < -1e-14)
                which = falling[np.argmin(-d[falling] / D[falling])]
                far = -d[which] / D[which]
                trial = np.maximum(d + far * D, 0.0)
                trial[which] = 0.0
                end, after = self.solve(trial / trial.sum())
                if end >= value:
                    break
                d, value, s = trial / trial.sum(), end, after
                mu = int(np.argmax(d))
                D[which] = D[mu] = 0.0
                D[mu] = -D.sum()
                if not (D < -1e-14).any():
                    break
            low, high = 0.0, far
            for _ in range(12):  # golden sections
                a, b = high - 0.618 * (high - low), low + 0.618 * (high - low)
                va, vb = (self.solve(np.maximum(d + step * D, 0.0))[0] for step in (a, b))
                low, high = (low, b) if va < vb else (a, high)
            step = np.maximum(d + 0.5 * (low + high) * D, 0.0)
            found, t = self.solve(step)
            if found >= value * (1.0 - 1e-9):
                break
            d, value, s = step, found, t
        return value, d


def against_simple() -> None:
    X, y = data(1000)
    matrices = [Gaussian(w)(X) for w in np.geomspace(0.2, 15.0, 50)]
    ours, wall, cpu = timed(lambda: MixtureNewton(1e-3).solve(problem(matrices, y)))
    other = SimpleMKL(matrices, y, 1e-3)
    (value, _), slow, slow_cpu = timed(other.run)
    print(
        f"50 kernels, n = 1000, gap 1e-3: ours {wall:.2f} s ({cpu:.2f} s CPU, {ours.details['machines']} machines, "
        f"objective {ours.state.objective:.4f}, gap {ours.residual:.1e}); SimpleMKL on SVC {slow:.1f} s "
        f"({slow_cpu:.1f} s CPU, {other.machines} machines, {value:.4f}, gap {(value - other.lower) / value:.1e}): "
        f"{slow_cpu / cpu:.0f} times by CPU; at least 10"
    )


def against_cones() -> None:
    X, y = data(200)
    matrices = [Gaussian(w)(X) for w in np.geomspace(0.2, 15.0, 20)]
    given = problem(matrices, y)
    ours, wall, cpu = timed(lambda: MixtureNewton(1e-6).solve(given))
    cones, slow, slow_cpu = timed(lambda: ConeProgram(1e-6).solve(given))
    print(
        f"20 kernels, n = 200, gap 1e-6: ours {wall:.3f} s ({cpu:.3f} s CPU, {ours.state.objective:.6f}, gap "
        f"{ours.residual:.1e}); clarabel {slow:.2f} s ({slow_cpu:.2f} s CPU, {cones.state.objective:.6f}): "
        f"{slow_cpu / cpu:.0f} times by CPU; at least 30 beside cvxpy, which adds its own time"
    )


def fitted(name: str, bar: str, model: MultipleKernelClassifier, X: np.ndarray, y: np.ndarray) -> Any:
    found, wall, cpu = timed(lambda: model.fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name}: {wall:.1f} s ({cpu:.1f} s CPU), gap {found.solution_.residual:.1e}, {found.solution_.details}, peak "
        f"{peak:.2f} GiB; {bar}"
    )
    return found


def many() -> None:
    X, y = data(1000, 100)
    kernels = [Gaussian(w).on(j) for j in range(100) for w in np.geomspace(0.2, 10.0, 10)]
    model = fitted("1000 kernels, n = 1000", "under 60 s", MultipleKernelClassifier(kernels), X, y)
    exact = MultipleKernelClassifier(kernels, tol=1e-7).fit(X, y)
    near = exact.squares_ >= exact.squares_.max() * (1.0 - 1e-4)
    differs = (model.weights_ > 0) != (exact.weights_ > 0)
    print(f"  support against gap 1e-7: {int(np.sum(differs & ~near))} kernels differ that are not on the edge")


def large() -> None:
    X, y = data(5000)
    kernels = [Gaussian(w) for w in np.geomspace(0.2, 15.0, 50)]
    bar = f"under 60 s and {1.3 * 50 * 4 * 5000**2 / 2**30:.2f} GiB"
    fitted("50 kernels, n = 5000", bar, MultipleKernelClassifier(kernels, memory="5.8GB"), X, y)


def low_rank() -> None:
    X, y = data(50_000)
    kernels = [Gaussian(w) for w in np.geomspace(0.7, 15.0, 20)]
    model = MultipleKernelClassifier(kernels, machine="squared", gram=Nystrom(200, random_state=0))
    fitted("20 kernels of rank 200, n = 50 000, squared loss", "under 60 s", model, X, y)


ROWS = {"simple": against_simple, "cones": against_cones, "many": many, "large": large, "low_rank": low_rank}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], default=[])
    chosen = parser.parse_args().rows or list(ROWS)
    X, y = data(100)
    MultipleKernelClassifier().fit(X, y)
    for name in chosen:
        ROWS[name]()


if __name__ == "__main__":
    main()
