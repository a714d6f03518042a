"""Many kernels: `python -m benchmarks.many_kernels [row ...]`.

Seconds of the wall clock and of the processor of `MultipleKernelClassifier` beside what a user would write instead, to
the same duality gap of the same problem (weights on the simplex, hinge loss): SimpleMKL around scikit-learn's SVC with
precomputed matrices, and the quadratically constrained program given to clarabel by cvxpy. EasyMKL of MKLpy, which
solves another problem, is timed beside them (both are left out where they are not installed). Gram matrices are
computed beforehand for both where two are compared; else their time is included. What is compiled is compiled before.
The bars are for an idle machine.
"""

from __future__ import annotations

import argparse
import importlib
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
        while (value - self.lower) / value > self.gap and self.machines < 5000:
            mu = int(np.argmax(d))
            D = 0.5 * (s - s[mu])
            D[(d <= 0.0) & (D < 0.0)] = 0.0
            D[mu] = 0.0
            D[mu] = -D.sum()
            before, far = value, 0.0
            while (D < 0.0).any():  # to the next face as long as the objective falls
                falling = np.flatnonzero(D < 0.0)
                which = falling[np.argmin(-d[falling] / D[falling])]
                far = -d[which] / D[which]
                trial = np.maximum(d + far * D, 0.0)
                trial[which] = 0.0
                end, after = self.solve(trial / trial.sum())
                if end >= value:
                    break
                d, value, s, far = trial / trial.sum(), end, after, 0.0
                mu = int(np.argmax(d))
                D[which] = 0.0
                D[mu] = 0.0
                D[mu] = -D.sum()
            if far > 0.0:
                d, value, s = self.line(d, D, far, value, s)
            if value >= before:
                break
        return value, d

    def line(self, d: np.ndarray, D: np.ndarray, far: float, value: float, s: np.ndarray) -> Any:
        """Golden sections, until they are short and there is something better than the beginning."""
        best, high, low = (d, value, s), far, 0.0
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        places = [high - golden * (high - low), low + golden * (high - low)]
        found = [self.solve(np.maximum(d + step * D, 0.0)) for step in places]
        while high - low > 1e-6 * far and (high - low > 0.1 * far or best[1] >= value):
            better = int(found[1][0] < found[0][0])
            if found[better][0] < best[1]:
                best = np.maximum(d + places[better] * D, 0.0), *found[better]
            if better:
                low, places[0], found[0] = places[0], places[1], found[1]
                places[1] = low + golden * (high - low)
            else:
                high, places[1], found[1] = places[1], places[0], found[0]
                places[0] = high - golden * (high - low)
            fresh = better
            found[fresh] = self.solve(np.maximum(d + places[fresh] * D, 0.0))
        return best


def against_simple() -> None:
    X, y = data(2000)
    A, B = slice(0, 1000), slice(1000, None)
    kernels = [Gaussian(w) for w in np.geomspace(0.2, 15.0, 50)]
    matrices, new = [k(X[A]) for k in kernels], [k(X[B], X[A]) for k in kernels]
    rounds = [timed(lambda: MixtureNewton(1e-3).solve(problem(matrices, y[A]))) for _ in range(3)]
    ours, wall, cpu = min(rounds, key=lambda found: found[2])
    other = SimpleMKL(matrices, y[A], 1e-3)
    (value, _), slow, slow_cpu = timed(other.run)
    f = np.tensordot(ours.state.weights, new, axes=1) @ ours.coef - ours.multipliers[0]
    print(
        f"50 kernels, n = 1000, gap 1e-3: ours {wall:.2f} s ({cpu:.2f} s CPU, {ours.details['machines']} machines, "
        f"objective {ours.state.objective:.4f}, gap {ours.residual:.1e}, accuracy {np.mean(np.sign(f) == y[B]):.3f}); "
        f"SimpleMKL on SVC {slow:.1f} s ({slow_cpu:.1f} s CPU, {other.machines} machines, {value:.4f}, gap "
        f"{(value - other.lower) / value:.1e}): {slow_cpu / cpu:.0f} times by CPU; at least 10"
    )
    try:
        easy: Any = importlib.import_module("MKLpy.algorithms").EasyMKL(learner=SVC(C=C))
    except ImportError:
        print("  EasyMKL: MKLpy is not installed")
        return
    _, slow, slow_cpu = timed(lambda: easy.fit(matrices, y[A]))
    right = float(np.mean(np.asarray(easy.predict(new)) == y[B]))
    print(f"  EasyMKL of MKLpy: {slow:.1f} s ({slow_cpu:.1f} s CPU), accuracy {right:.3f}; another problem")


def against_cones() -> None:
    X, y = data(200)
    matrices = [Gaussian(w)(X) for w in np.geomspace(0.2, 15.0, 20)]
    given = problem(matrices, y)
    rounds = [timed(lambda: MixtureNewton(1e-6).solve(given)) for _ in range(3)]
    ours, wall, cpu = min(rounds, key=lambda found: found[2])
    try:
        cvxpy: Any = importlib.import_module("cvxpy")
    except ImportError:
        name, (found, slow, slow_cpu) = "ConeProgram (cvxpy is not installed)", timed(
            lambda: ConeProgram(1e-6).solve(given).state.objective
        )  # fmt: skip
    else:
        name, (found, slow, slow_cpu) = "cvxpy and clarabel", timed(lambda: by_cvxpy(cvxpy, matrices, y))
    print(
        f"20 kernels, n = 200, gap 1e-6: ours {wall:.3f} s ({cpu:.3f} s CPU, {ours.state.objective:.6f}, gap "
        f"{ours.residual:.1e}); {name} {slow:.2f} s ({slow_cpu:.2f} s CPU, {found:.6f}): "
        f"{slow_cpu / cpu:.0f} times by CPU; at least 30"
    )


def by_cvxpy(cvxpy: Any, matrices: list[np.ndarray], y: np.ndarray) -> float:
    """The dual with one quadratic constraint for each kernel, as one writes it down."""
    beta, top = cvxpy.Variable(len(y)), cvxpy.Variable()
    bounds = [cvxpy.multiply(y, beta) >= 0.0, cvxpy.multiply(y, beta) <= C, cvxpy.sum(beta) == 0.0]
    bounds += [0.5 * cvxpy.quad_form(beta, K, assume_PSD=True) <= top for K in matrices]
    program = cvxpy.Problem(cvxpy.Maximize(y @ beta - top), bounds)
    return float(program.solve(solver="CLARABEL", tol_gap_rel=1e-6, tol_gap_abs=1e-6, tol_feas=1e-6))


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
    for machine in ("hinge", "squared"):
        model = MultipleKernelClassifier(kernels, machine=machine, gram=Nystrom(200, random_state=0))
        fitted(f"20 kernels of rank 200, n = 50 000, {machine}", "under 60 s", model, X, y)


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
