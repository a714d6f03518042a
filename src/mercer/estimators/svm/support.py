"""Common to all support vector machines: one box-constrained quadratic program or several, and one expansion.

Symbols: beta the signed coefficients, rho the multipliers of the program, b the bias.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import kernels  # whose names are imported when they are used
from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources, budget, parse_bytes
from mercer.constraints import AnyOf, Boolean, Integer, OneOf, Optional, Positive
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, foreign, unwatched
from mercer.estimators.fits import Run
from mercer.gram import Dense, Expansion, Gram, GramSpec, Tiles
from mercer.gram.gram import is_streamed, is_undecided
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.runtime.tiling import run_tasks, thread_count
from mercer.solvers import SMO, Solver

__all__ = ["SupportVectorMachine", "in_one_thread", "centered_variance"]

_AT_ONCE = 8  # programs among which memory is divided
_STORED = 2048  # samples up to which the matrix is held
_SINGLE_TOL = 1e-4  # tolerance down to which tiles may be in float32
_LEAST = 2**21  # bytes of a working set below which a machine is not worth starting


class SupportVectorMachine(KernelEstimator):
    """Base of the support vector machines.

    Parameters
    ----------
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of the decision values.
    max_iter : int, optional
        The most pairs of variables to move, of each program; None or -1 is the solver's own limit.
    shrinking : bool, default True
        Whether variables that stay at an end of their box are set aside for a while.
    cache_size : float, default 512
        Memory for rows of K in MB, used where computing them again costs more.
    """

    _default_length = "columns"

    highest_order = 1
    constraints = {
        "gamma": Optional(AnyOf(Positive(), OneOf("scale", "auto"))),
        "tol": Positive(),
        "max_iter": Optional(AnyOf(Integer(1), OneOf(-1))),
        "shrinking": Boolean(),
        "cache_size": Positive(),
    }
    tol: float
    max_iter: Any
    shrinking: bool
    cache_size: float
    support_: Any
    dual_coef_: Floats
    intercept_: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver is not None:
            changed = [n for n, v in (("tol", 1e-3), ("max_iter", None), ("cache_size", 512)) if getattr(self, n) != v]
            if changed:
                raise ParameterError(
                    f"{', '.join(changed)} and solver={self.solver!r} were given; they are options of the default "
                    "solver. Write them into the solver, for example SMO(tol=1e-4)."
                )

    def _kernel_of_word(self, word: str, S: Vectors, weight: Floats | None = None) -> Kernel:
        """Return what scikit-learn's support vector machines mean by a name: gamma="scale", coef0=0."""
        gamma = foreign().GAMMA.get(word) if self.gamma is None else self.gamma
        if gamma is None or gamma == "scale":
            gamma = 1.0 if word == "linear" else _scale(S, weight)
        elif gamma == "auto":
            gamma = 1.0 / max(S.width, 1)
        return foreign().kernel_from_word(word, S.width, gamma, self.degree, 0.0 if self.coef0 is None else self.coef0)

    def _learned_kernel(self, kernel: Kernel, S: Samples, y: Any, w: Floats) -> Kernel:
        """Return the kernel with what is learned from the samples that count, each by its weight."""
        if isinstance(self.kernel, str) and isinstance(S, Vectors):
            kernel = self._kernel_of_word(self.kernel, S, w)
        return kernel.learn(S, y, w)

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held: stored for few samples, else in tiles, of float32 where that is enough."""
        spec = self.gram
        if spec is not None and not (is_undecided(spec) and spec.tol is None):
            return spec
        return self._default_gram(len(S), isinstance(S, Similarities))

    def _default_gram(self, n: int, stored: bool = False) -> GramSpec:
        if stored or (n <= _STORED and 8 * n * n <= budget(self.memory) // 2):
            return Dense()
        return Tiles(precision="mixed" if self.tol >= _SINGLE_TOL and self._is_bounded() else "double")

    def _is_bounded(self) -> bool:
        """Return whether no coefficient can grow so large that float32 would show."""
        return True

    def _default_solver(self, gram: Gram) -> Solver:
        limit = None if self.max_iter in (None, -1) else self.max_iter
        return SMO(self.tol, limit, f"{self.cache_size:g}MB", self.shrinking)

    def _solve_all(self, problems: Sequence[Any], run: Run, until: float = 0.9) -> list[Solution]:
        """Solve programs that do not depend on each other, as many at a time as there are threads."""
        for problem in problems:
            unwatched(problem.gram)
        if len(problems) == 1:
            return [self._solve(problems[0], run, until)]
        solver = self.solver if self.solver is not None else self._default_solver(problems[0].gram)
        threads = min(thread_count(self.n_threads), len(problems))
        if isinstance(solver, SMO) and self.solver is None:  # not by the threads: their number must not show
            solver = solver.replace(cache=f"{self.cache_size / min(len(problems), _AT_ONCE):g}MB")
        solver.check()  # here, not by each thread
        solutions: list[Solution | None] = [None] * len(problems)
        stop = threading.Event()

        monitors = [_Stoppable(run.solver_monitor(getattr(solver, "tol", 1e-3), reports=False), stop) for _ in problems]

        def work(k: int) -> None:
            solutions[k] = solver.solve(problems[k], monitor=monitors[k])

        def progress(fraction: float) -> bool:
            run.monitor(fraction)
            return False  # each program ends on its own, with the best it has

        with run.stage("solver", until):
            run_tasks(range(len(problems)), work, n_threads=threads, monitor=progress, stop=stop)
        found = [solution for solution in solutions if solution is not None]
        worst = max(found, key=lambda s: (s.status is not Status.CONVERGED, s.residual))
        if worst.status is not Status.CONVERGED and not self._explains(worst):
            count = sum(s.status is not Status.CONVERGED for s in found)
            warn_caller(
                f"{type(solver).__name__} stopped in {count} of {len(found)} programs, at residuals up to "
                f"{worst.residual:.3g}. {worst.status.value}",
                ConvergenceWarning,
            )
        self.solver_ = solver
        self.solution_ = dataclasses.replace(worst, state=None)
        return found

    def _quick_values(self, X: Any) -> Floats:
        """Return the fitted functions at new data; by float32 only as far as their signs are certain."""
        T = self._pack_new(X)
        sums = self.expansion_
        values = (sums.signed if isinstance(sums, Expansion) else sums)(T, self._resources())
        if not np.isfinite(values).all():
            raise overflow_error(self.kernel_)
        return values

    # what scikit-learn's users look for ---------------------------------------------------------------

    def _store_support(self, coef: Floats, used: Indices, S: Samples, order: Indices | None = None) -> None:
        """Keep which samples are support vectors, by their place in the training data, and the vectors."""
        chosen = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
        if order is not None:  # by class
            chosen = chosen[np.argsort(order[chosen], kind="stable")]
        self._chosen = chosen
        self.support_ = used[chosen].astype(np.int32)
        vectors = S.take(chosen)
        self.support_vectors_ = vectors.X if isinstance(vectors, Vectors) and not vectors.is_streamed else vectors

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, one row per function; only for the linear kernel."""
        if not isinstance(getattr(self, "kernel_", None), kernels.Linear) or not isinstance(self.expansion_, Expansion):
            raise AttributeError("coef_ exists only after fit with kernel=Linear()")
        coef = self.expansion_.coef
        samples = cast(Vectors, self.expansion_.samples)
        samples.require_columns(3 * coef.size // len(coef), "weights of the columns", memory=self.memory)
        weights = np.array(np.asarray(samples.X.T @ coef.reshape(len(coef), -1)).T)
        weights.flags.writeable = False  # computed at each call: what is written to it would be lost
        return weights

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        given = self.gram is not None and not is_undecided(self.gram)
        spec: Any = self.gram if given else self._default_gram(n_samples)
        kernel = self._known_kernel(lambda: kernels.Linear())
        side = Resources(self.memory).largest_order(min(n_samples, 3072))
        own = {
            "packed samples": 8 * n_samples * n_features,
            "gradient and coefficients": 8 * n_samples * (12 + 2 * n_targets),
        }
        elastic = {"working set": max(8 * side**2, 24 * min(side, 2000) ** 2)}
        if is_streamed(spec) and n_features > 200:
            elastic["row cache"] = min(int(self.cache_size * 2**20), 4 * n_samples * n_samples)
        plan = spec.plan(kernel, n_samples, n_features, self.memory)
        if self.memory is not None:  # the solver makes do with what is left of it, if that is not next to nothing
            left = max(parse_bytes(self.memory) - sum(own.values()) - plan.total, _LEAST)
            share = min(1.0, left / sum(elastic.values()))
            elastic = {name: int(share * size) for name, size in elastic.items()}
        return Plan(f"{type(self).__name__} on {n_samples} samples", {**own, **elastic, **plan.buffers}, plan.options)


class _Stoppable:
    """The monitor of a program that ends with the others when one of them fails."""

    def __init__(self, monitor: Any, stop: threading.Event) -> None:
        self.monitor, self.stop = monitor, stop
        self.keeping = monitor.keeping

    def __call__(self, iteration: int, residual: float) -> bool | Status:
        return self.monitor(iteration, residual) or (Status.STOPPED if self.stop.is_set() else False)


def in_one_thread(gram: Gram, memory: Any) -> Gram:
    """Return a Gram that computes in the calling thread: the problems themselves, and the memory, are shared."""
    share = None if memory is None else parse_bytes(memory) // _AT_ONCE
    gram.resources = dataclasses.replace(gram.resources, memory=share, n_threads=1, monitor=None)
    return gram


def _scale(S: Vectors, weight: Floats | None) -> float:
    """Return what gamma="scale" means: 1 / (d variance), and 1 where nothing varies."""
    unit = math.ldexp(1.0, math.frexp(S.largest)[1] - 1) if not 1e-100 < S.largest < 1e100 else 1.0
    variance = centered_variance(Vectors(S.X / unit) if unit != 1.0 else S, weight)  # whose squares stay in range
    if variance == 0.0:
        return 1.0
    inverse = 1.0 / (max(S.width, 1) * variance)
    gamma = inverse / unit / unit
    if not np.finfo(float).tiny <= gamma < np.inf:
        raise DomainError(
            f"Input X has numbers whose variance is too {'large' if unit > 1.0 else 'small'} for floating-point "
            "numbers; its inverse, gamma='scale', must be finite and positive. Scale the data, for example with "
            "StandardScaler."
        )
    return gamma


def centered_variance(S: Vectors, weight: Floats | None = None) -> float:
    """Return the variance of all numbers of the samples together, a row of weight w counting as w rows.

    Their squares must be in the range of floating-point numbers.
    """
    w = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
    w = w / (w.sum() * max(S.width, 1))
    X: Any = S.X
    mean = float(w @ np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1))
    if S.is_sparse:
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
        found = float(w @ squares) - mean * mean
        return 0.0 if found <= 1e-12 * mean * mean else found  # less is rounding
    total = 0.0
    for piece in range(0, len(S), 4096):  # no copy of all of X
        block = np.asarray(X[piece : piece + 4096], dtype=float) - mean
        total += float(w[piece : piece + 4096] @ np.einsum("ij,ij->i", block, block))
    return 0.0 if total <= 1e-24 * mean * mean else total
