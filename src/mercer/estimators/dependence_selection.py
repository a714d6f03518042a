r"""Choosing columns by how much the targets depend on them.

Symbols: X the samples, (n, d); s a set of columns; K_s the Gram matrix of those columns and L that of the targets; w_i
weights and N their sum. Both estimates of the dependence are linear in K_s, so that there is one matrix M, made of L
alone, with HSIC(s) = <K_s, M>.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.arrays import Bools, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, InstanceOf, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError, TargetError
from mercer.estimators.estimator import KernelEstimator, _pack_vectors, _remember_columns, weighted
from mercer.estimators.running import Run, whole
from mercer.kernels import Gaussian, Kernel, Linear, Precomputed
from mercer.kernels.pointwise import OneBase, dense, median_distance

__all__ = ["DependenceSelector", "target_samples"]


def target_samples(y: Any, kernel: Kernel | None, n: int) -> tuple[Kernel, Samples]:
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
        kernel.check()
        S = kernel.pack(np.asarray(y)[:, None] if kernel.domain is Vectors and np.ndim(y) == 1 else y)
    else:
        values = np.asarray(y)
        kind = type_of_target(values) if values.dtype.kind != "O" or values.ndim == 1 else "unknown"
        if kind in ("binary", "multiclass"):
            labels = np.unique(column_or_1d(values, warn=True), return_inverse=True)[1].ravel()
            kernel, S = Linear(), Vectors.pack(np.eye(labels.max() + 1)[labels])
        else:
            kernel = Gaussian("median")
            S = Vectors.pack(np.asarray(values, dtype=float).reshape(len(values), -1))
    if len(S) != n:
        raise TargetError(
            f"Found input variables with inconsistent numbers of samples: X has {n}, y has {len(S)}; there must be one "
            "target per sample. Give X and y of the same length."
        )
    return kernel, S


def dependence_matrix(L: Floats, w: Floats, estimate: str) -> Floats:
    r"""Return M with HSIC = <K, M>, for the biased or the unbiased estimate, with weights.

    A sample of weight w is w copies; a copy is compared with the other copies, but not with itself, by the unbiased
    estimate: pairs count Omega_ij = w_i w_j - delta_ij w_i times.
    """
    total = float(w.sum())
    if estimate == "biased":
        share = w / total
        means = L @ share
        centred = L - means - (means - float(share @ means))[:, None]
        return centred * np.outer(share, share)
    pairs = np.outer(w, w)
    pairs[np.diag_indices_from(pairs)] -= w
    rows = L @ w - np.diagonal(L)
    whole_sum = float(np.sum(pairs * L))
    inner = L + whole_sum / ((total - 1.0) * (total - 2.0)) - (rows[:, None] + rows) / (total - 2.0)
    return pairs * inner / (total * (total - 3.0))


class _Scores:
    """HSIC of sets of columns with the targets."""

    def __init__(self, X: Floats, M: Floats, kernel_for: Callable[[int], Kernel]) -> None:
        self.X, self.M, self.kernel_for = X, M, kernel_for

    def of(self, columns: Indices) -> float:
        """Return the criterion of one set."""
        if not len(columns):
            return 0.0
        K = self.kernel_for(len(columns))(np.ascontiguousarray(self.X[:, columns]), n_threads=1)
        return float(np.vdot(K, self.M))

    def changed(self, kept: Indices, candidates: Indices, sign: float) -> Floats:
        """Return the criterion of `kept` with each candidate added (sign 1) or taken away (-1), (c,)."""
        size = len(kept) + int(sign)
        kernel = self.kernel_for(size)
        base, length = kernel.base() if isinstance(kernel, OneBase) else (None, 1.0)
        if base is None or base.scale is not None or base.period is not None:
            sets = (np.append(kept, j) if sign > 0 else kept[kept != j] for j in candidates)
            return np.array([self.of(s) for s in sets])
        if size == 0:
            return np.zeros(len(candidates))
        whole_base = sum((_base(base.kind, self.X[:, j]) for j in kept), np.zeros_like(self.M))
        out = np.empty(len(candidates))
        for place, j in enumerate(candidates):
            tile = whole_base + sign * _base(base.kind, self.X[:, j])
            if base.kind != "dot":  # what is left of rounding after a column is taken away
                np.minimum(tile, 0.0, out=tile) if base.kind == "distance" else np.maximum(tile, 0.0, out=tile)
            kernel.profile(tile, 1.0 / length)  # pyright: ignore[reportAttributeAccessIssue]
            out[place] = float(np.vdot(tile, self.M))
        return out


def _base(kind: str, x: Floats) -> Floats:
    """Return what one column adds to the base of a kernel, (n, n)."""
    if kind == "dot":
        return np.outer(x, x)
    gap = x[:, None] - x
    return -0.5 * gap * gap if kind == "distance" else np.abs(gap)


class DependenceSelector(SelectorMixin, KernelEstimator):
    r"""Selection of columns by dependence: those on which the targets depend most, together.

    .. math:: \max_{|s| = q} \; \mathrm{HSIC}(K_s, L), \qquad (K_s)_{ij} = k(x_{i,s}, x_{j,s})

    Backward: from all columns, those go first without which the dependence stays largest (BAHSIC). Forward: columns
    come one by one, the one with which it grows largest first (FOHSIC).

    Seed: [KIKS] Section 7, reference [92] (Song et al.). Ledger: U-BAHSIC.

    Parameters
    ----------
    kernel : Kernel, optional
        Compares samples by some of their columns. None is the Gaussian whose length scale is the median distance,
        times sqrt(q / d) for q of d columns.
    n_features_to_select : int, float or None, default None
        q, or its share of d; None is half of the columns.
    target_kernel : Kernel, optional
        Compares targets. None: labels are equal or not; numbers by the Gaussian at their median distance.
    direction : {"backward", "forward"}, default "backward"
    step : float, default 0.1
        Share of the columns left that go in one round, at least one; 0 is always one. Of columns that come, one a
        round.
    estimate : {"unbiased", "biased"}, default "unbiased"
        Of HSIC. The unbiased one needs at least four samples.
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

    Notes
    -----
    A sample of weight w counts as w copies. Scale columns first, unless their units mean something. Kernels of the
    dot product or of a distance cost O(n^2) a candidate, since their bases are sums over columns; others O(n^2 d).
    Memory three n x n arrays.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> selector = DependenceSelector(n_features_to_select=2).fit(X, X[:, 1] * X[:, 4] > 0)
    >>> selector.get_support(indices=True)
    array([1, 4])
    """

    own_constraints = {
        "kernel": Optional(InstanceOf(Kernel)),
        "n_features_to_select": Optional(AnyOf(Integer(1), Interval(0.0, 1.0, closed="right"))),
        "target_kernel": Optional(InstanceOf(Kernel)),
        "direction": OneOf("backward", "forward"),
        "step": Interval(0.0, 1.0, closed="left"),
        "estimate": OneOf("unbiased", "biased"),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_features_to_select: int | float | None = None,
        *,
        target_kernel: Kernel | None = None,
        direction: str = "backward",
        step: float = 0.1,
        estimate: str = "unbiased",
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
            Not negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with whole(self):
            self._check_parameters()
            run = Run(self)
            kernel = self.kernel
            if isinstance(kernel, Precomputed):
                raise CapabilityError(
                    "DependenceSelector was given Precomputed(); similarities have no columns to choose from. Give "
                    "samples as vectors, and a kernel of vectors."
                )
            packed = _pack_vectors(X, kernel)  # the kernel compares some of the columns
            _remember_columns(self, X, packed, reset=True)
            target_kernel, targets = target_samples(y, self.target_kernel, len(packed))
            S, index, w, _ = weighted(packed, np.arange(len(packed)), sample_weight)
            assert isinstance(S, Vectors)
            targets = targets.take(index) if len(index) < len(packed) else targets
            if self.estimate == "unbiased" and w.sum() <= 3.0:
                raise DomainError(
                    f"n_samples={len(S)} was given; the unbiased estimate of dependence needs at least 4 samples. Give "
                    "more, or use estimate='biased'."
                )
            self.memory_plan(len(S), S.width).require(self.memory)
            run.begin(X, y)
            self.target_kernel_ = target_kernel.learn(targets, None, w)
            Z = dense(S)
            Z = Z - np.average(Z, axis=0, weights=w) if kernel is None else Z  # distances do not see it; digits do
            self.kernel_ = kernel.learn(S, None, w) if kernel is not None else Gaussian(median_distance(S, w))
            M = dependence_matrix(self.target_kernel_(targets, n_threads=self.n_threads), w, self.estimate)
            scores = _Scores(Z, M, self._kernel_for(S.width))
            with run.stage("columns", 0.99):
                self._search(scores, self._count(S.width), run)
            run.end(X, y)
        return self

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of new data, in the form that X has.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or table
        """
        check_is_fitted(self)
        _remember_columns(self, X, _pack_vectors(X, self.kernel_), reset=False)
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

    def _search(self, scores: _Scores, count: int, run: Run) -> None:
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
        own = {"samples": 16 * n_samples * n_features, "Gram matrices": 40 * n_samples**2}
        return Plan(f"DependenceSelector on {n_samples} samples", own, ("a part of the samples",))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
