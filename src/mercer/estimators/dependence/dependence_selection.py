"""Choosing columns by how much the targets depend on them.

Symbols: X the samples, (n, d); s a set of q columns; K_s the Gram matrix of those columns and L that of the targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.arrays import Bools, Floats, real_numbers
from mercer.budget import Plan, budget, parse_bytes
from mercer.constraints import AnyOf, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, ConvergenceWarning, DomainError, ParameterError, TargetError, warn_caller
from mercer.estimators.dependence.dependence_scores import (
    HEIGHT,
    FactorScores,
    MatrixScores,
    Scores,
    dependence_matrix,
    target_factor,
    tile_height,
)
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns
from mercer.estimators.fits import Run, fitting
from mercer.estimators.parameter_gradients import rank_of
from mercer.gram import Dense, GramSpec, Tiles
from mercer.gram.gram import is_factored, is_stored, is_streamed, is_undecided
from mercer.kernels import Gaussian, Kernel, Linear, Precomputed
from mercer.kernels.foreign import any_kernel
from mercer.kernels.kernel import AnyKernel
from mercer.kernels.vectors.pointwise import dense, median_distance
from mercer.runtime.tiling import thread_count, tile_side

__all__ = ["DependenceSelector", "target_samples"]
__public__ = ["DependenceSelector"]


def _compares_rows(kernel: Kernel) -> bool:
    """Return whether a kernel, and each of its parts, takes whole rows of numbers."""
    parts = [part for part in kernel.get_params(deep=True).values() if isinstance(part, Kernel)]
    return all(part.domain is Vectors for part in (kernel, *parts))


def target_samples(y: Any, kernel: Any, n: int) -> tuple[Kernel, Samples]:
    """Return a kernel for targets, and the targets as it packs them.

    Labels become indicators under the linear kernel, so that k is 1 for equal ones and 0 for others; numbers are
    compared by the Gaussian at their median distance.

    Examples
    --------
    >>> target_samples(["a", "b", "a"], None, 3)[0]
    Linear()
    """
    if y is None:
        raise TargetError(
            "y=None was given; targets that the columns are compared with are needed (requires y to be passed, but "
            "the target y is None). Give y."
        )
    if kernel is not None:
        kernel = any_kernel(kernel, np.shape(y)[1] if np.ndim(y) == 2 else 1).check()
        S = kernel.pack(np.asarray(y)[:, None] if kernel.domain is Vectors and np.ndim(y) == 1 else y)
    else:
        values = np.asarray(y)
        if values.dtype.kind in "mMc":  # that are neither labels nor numbers
            real_numbers(values, "y", TargetError)
        kind = type_of_target(values) if values.dtype.kind != "O" or values.ndim == 1 else "unknown"
        if kind in ("binary", "multiclass"):
            labels = np.unique(column_or_1d(values, warn=True), return_inverse=True)[1].ravel()
            kernel, S = Linear(), Vectors.pack(np.eye(labels.max() + 1)[labels])
        else:
            kernel = Gaussian("median")
            S = Vectors.pack(real_numbers(values, "y", TargetError).reshape(len(values), -1))
    if len(S) != n:
        raise TargetError(
            f"Found input variables with inconsistent numbers of samples: X has {n}, y has {len(S)}; there must be one "
            "target per sample. Give X and y of the same length."
        )
    return kernel, S


class DependenceSelector(SelectorMixin, KernelEstimator):
    r"""Selection of columns by dependence: those on which the targets depend most, together.

    .. math:: \max_{|s| = q} \; \mathrm{HSIC}(K_s, L), \qquad (K_s)_{ij} = k(x_{i,s}, x_{j,s})

    Backward: from all columns, those go first without which the dependence stays largest (BAHSIC). Forward: columns
    come one by one, the one with which it grows largest first (FOHSIC).

    Seed: [KIKS] Section 7, reference [92] (Song et al.).

    Parameters
    ----------
    kernel : Kernel, str, function or None, default None
        Compares samples by some of their columns. None is the Gaussian whose length scale is the median distance,
        times sqrt(q / d) for q of d columns.
    n_features_to_select : int, float or None, default None
        q, or its share of d; None is half of the columns.
    target_kernel : Kernel, str, function or None, default None
        Compares targets. None: labels are equal or not; numbers by the Gaussian at their median distance.
    direction : {"backward", "forward"}, default "backward"
    step : float, default 0.1
        Share of the columns left that go in one round, at least one; 0 is always one. Of columns that come, one a
        round.
    estimate : {"unbiased", "biased"}, default "unbiased"
        Estimate of HSIC. The unbiased one needs at least four samples.
    gram : GramSpec, optional
        How K_s and L are held. None and `Dense` keep one matrix of all samples, `Tiles` none, with the same result in
        about twice the time. `Nystrom`, `IncompleteCholesky`, `SparseGreedy`, `RandomFeatures` and `Features` are
        built for each set of columns and give HSIC of K_s ~ F F^T and L ~ G G^T.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    support_ : (d,) array of bool
        Which columns are kept.
    ranking_ : (d,) array of int
        1 for kept columns; the larger, the earlier a column went (or would have come last).
    n_features_ : int
        q.
    scores_ : (t,) array
        HSIC of the columns after each round.
    kernel_, target_kernel_ : Kernel
    gram_ : GramSpec
        What None was resolved to.

    Notes
    -----
    A sample of weight w counts as w copies. Scale columns first, unless their units mean something. Kernels of the
    dot product or of a distance cost O(n^2) a candidate, since their bases are sums over columns; others O(n^2 d).
    Memory two n x n arrays while that of the targets is made, and one afterwards. A Gram of rank r costs O(n r^2) a
    candidate and memory O(n r); it has no n x n array, and few features of targets (labels, say) are exact.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> selector = DependenceSelector(n_features_to_select=2).fit(X, X[:, 1] * X[:, 4] > 0)
    >>> selector.get_support(indices=True)
    array([1, 4])
    """

    synonyms = ("BAHSIC",)
    policies = ()
    constraints = {
        "kernel": AnyKernel(),
        "n_features_to_select": Optional(AnyOf(Integer(1), Interval(0.0, 1.0, closed="right"))),
        "target_kernel": AnyKernel(),
        "direction": OneOf("backward", "forward"),
        "step": Interval(0.0, 1.0, closed="left"),
        "estimate": OneOf("unbiased", "biased"),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_features_to_select: int | float | None = None,
        *,
        target_kernel: Any = None,
        direction: str = "backward",
        step: float = 0.1,
        estimate: str = "unbiased",
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_features_to_select = n_features_to_select
        self.target_kernel = target_kernel
        self.direction = direction
        self.step = step
        self.estimate = estimate
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DependenceSelector:
        """Choose the columns.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or packed vectors
        y : (n,) or (n, k) array, or data that ``target_kernel`` compares
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, pack=self._vectors) as (run, kernel, packed, S, _, w, used):
            target_kernel, targets = target_samples(y, self.target_kernel, len(packed))
            targets = targets.take(used) if len(used) < len(packed) else targets
            if self.estimate == "unbiased" and w.sum() <= 3.0:
                raise DomainError(
                    f"n_samples={len(S)} was given; the unbiased estimate of dependence needs at least 4 samples. Give "
                    "more, or use estimate='biased'."
                )
            self._require_plan(kernel or Gaussian(), S)
            self.target_kernel_ = target_kernel.learn(targets, None, w)
            Z = dense(S)
            Z = Z - np.average(Z, axis=0, weights=w) if kernel is None else Z  # distances do not see it; digits do
            self.kernel_ = kernel.learn(S, None, w) if kernel is not None else Gaussian(median_distance(S, w))
            self.gram_ = self._chosen_spec(self.kernel_, S, run)  # for all columns: of some of them, K is smoother
            scores = self._scores(Z, targets, w, run)
            with run.stage("columns", 0.99):
                self._search(scores, self._count(S.width), run)
            if isinstance(scores, FactorScores) and scores.first_warning is not None:
                warn_caller(f"Of some of the columns: {scores.first_warning}", ConvergenceWarning)
        return self

    def _vectors(self, X: Any) -> tuple[Vectors, Any]:
        """Pack the samples, and remember their columns; the kernel compares some of them."""
        self._check_policy()
        packed = pack_vectors(X, self.kernel)
        kernel = any_kernel(self.kernel, packed.width)
        if isinstance(kernel, Precomputed):
            raise CapabilityError(
                "DependenceSelector was given Precomputed(); similarities have no columns to choose from. Give "
                "samples as vectors, and a kernel of vectors."
            )
        if kernel is not None and not _compares_rows(kernel):
            raise CapabilityError(
                f"DependenceSelector was given {kernel!r}, which does not compare rows of any number of columns; "
                "it is asked about many sets of columns. Give a kernel of vectors, such as Gaussian()."
            )
        remember_columns(self, X, packed, reset=True)
        return packed, kernel

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        if is_undecided(self.gram) and self.gram.tol is not None:  # which has still to look at the samples
            return self.gram
        return self._planned_gram(len(S))

    def _can_use(self, spec: GramSpec) -> bool:
        return is_stored(spec) or is_streamed(spec) or is_factored(spec)

    def _planned_gram(self, n_samples: int) -> GramSpec:
        """Return how K is held, or raise CapabilityError."""
        spec = Dense() if self.gram is None else super()._planned_gram(n_samples)
        if not self._can_use(spec):
            raise CapabilityError(
                f"DependenceSelector was given gram={spec!r}; it needs K itself, or a factor of it. Use gram=Dense(), "
                "gram=Tiles(), or a Gram of low rank, for example gram=Nystrom(500)."
            )
        return spec

    def _scores(self, Z: Floats, targets: Samples, w: Floats, run: Run) -> Scores:
        """Return the object that scores sets of columns by dependence."""
        spec, kernel, kernel_for = self.gram_, self.target_kernel_, self._kernel_for(Z.shape[1])
        if spec.low_rank:
            with run.stage("targets", 0.05):
                G = target_factor(spec, kernel, targets, run.resources())
            return FactorScores(Z, kernel_for, spec, G, w, self.estimate, self._resources())
        if is_streamed(spec):
            L = spec.build(kernel, targets, self._resources())
            return MatrixScores.in_tiles(Z, kernel_for, L, w, self.estimate, self._tile_bytes(spec))
        M = dependence_matrix(kernel(targets, n_threads=self.n_threads), w, self.estimate)
        return MatrixScores(Z, kernel_for, lambda rows: M[rows])

    def _tile_bytes(self, spec: Tiles) -> int:
        """Return the bytes for rows of K: those of the Gram, or half of a smaller budget."""
        return min(parse_bytes(spec.memory), budget(self.memory) // 2)

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of new data, in the form that X has.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or table
        """
        check_is_fitted(self)
        remember_columns(self, X, pack_vectors(X, self.kernel_), reset=False)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # scikit-learn sums the numbers to see whether all are finite
            return super().transform(X)

    def _kernel_for(self, d: int) -> Callable[[int], Kernel]:
        """Return the kernel for a number of columns."""
        if self.kernel is not None:
            return lambda q: self.kernel_
        length = float(self.kernel_.length_scale)  # pyright: ignore[reportAttributeAccessIssue]
        return lambda q: Gaussian(length * np.sqrt(max(q, 1) / d))

    def _count(self, d: int) -> int:
        q = self.n_features_to_select
        if q is None:
            return max(d // 2, 1)
        if isinstance(q, (float, np.floating)):
            return max(round(float(q) * d), 1)
        if q > d:
            raise ParameterError(
                f"n_features_to_select={q} was given for samples of {d} columns. Use at most {d}, or a share between "
                "0 and 1."
            )
        return int(q)

    def _search(self, scores: Scores, count: int, run: Run) -> None:
        d = scores.X.shape[1]
        kept, rounds, values = np.arange(d) if self.direction == "backward" else np.arange(0), [], []
        self.ranking_ = np.ones(d, dtype=int)
        while (len(kept) > count) if self.direction == "backward" else (len(kept) < count):
            if self.direction == "backward":
                found = scores.changed(kept, kept, -1.0)
                most = max(1, int(self.step * len(kept)))
                gone = kept[np.argsort(-found, kind="stable")[: min(most, len(kept) - count)]]
                kept = np.setdiff1d(kept, gone)
                rounds.append(gone)
            else:
                rest = np.setdiff1d(np.arange(d), kept)
                found = scores.changed(kept, rest, 1.0)
                kept = np.append(kept, rest[int(np.argmax(found))])
            values.append(scores.of(np.sort(kept)))
            share = (d - len(kept)) / max(d - count, 1) if self.direction == "backward" else len(kept) / count
            if run.monitor(share):
                raise TimeoutError
        if self.direction == "backward":
            place = 1 + sum(len(gone) for gone in rounds)
            for gone in rounds:  # the first to go, and within a round the one missed least, have the largest rank
                self.ranking_[gone] = np.arange(place, place - len(gone), -1)
                place -= len(gone)
        else:
            rest = np.setdiff1d(np.arange(d), kept)
            order = rest[np.argsort(-scores.changed(kept, rest, 1.0), kind="stable")] if len(rest) else rest
            self.ranking_[order] = 2 + np.arange(len(rest))
        self.support_ = np.isin(np.arange(d), kept)
        self.n_features_ = int(self.support_.sum())
        self.scores_ = np.array(values if values else [scores.of(np.sort(kept))])

    def _get_support_mask(self) -> Bools:  # pyright: ignore[reportIncompatibleMethodOverride]
        check_is_fitted(self)
        return self.support_

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        n, spec = n_samples, self._planned_gram(n_samples)
        own = {"samples": 16 * n * n_features}
        what, options = f"DependenceSelector on {n} samples", ("gram=Tiles()", "gram=Nystrom(500)")
        if spec.low_rank:
            kernel = any_kernel(self.kernel, n_features) or Gaussian()
            built = spec.plan(kernel, n, n_features, self.memory)
            own |= {"factors of samples and targets": 32 * n * rank_of(spec, n, n_features)}
            return Plan(what, {**own, **built.buffers}, built.options)
        if is_streamed(spec):
            own |= {
                "rows of Gram matrices": 48 * n * tile_height(n, self._tile_bytes(spec)),
                "tiles": thread_count(self.n_threads) * 16 * tile_side(8) ** 2,
            }
            return Plan(what, own, options[1:])
        own |= {"Gram matrices": 16 * n**2, "rows of Gram matrices": 48 * n * min(HEIGHT, n)}
        return Plan(what, own, options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
