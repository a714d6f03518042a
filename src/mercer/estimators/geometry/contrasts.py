r"""Features of largest contrast: sparse kernel feature analysis and projection pursuit.

Symbols: f a function of feature space, z_i = f(x_i) its values, w_i sample weights, N their sum; u a direction.

One problem, max Contrast[f] over f in a set, has many methods as its cases: with the variance and all f of length one
it is kernel PCA, with kurtosis projection pursuit; where the set is the convex hull of single kernels, a convex
contrast is largest at one of its corners, so that the best feature is a kernel of one sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Floats, Indices, real_numbers
from mercer.budget import Plan
from mercer.constraints import Integer, OneOf, Optional, Positive
from mercer.errors import DegenerateWarning, warn_caller
from mercer.estimators.directions import Directions, leading_directions, work_bytes
from mercer.estimators.estimator import KernelEstimator, sample_weights, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.geometry.gram_schmidt import row_of, triangular_expansion
from mercer.estimators.parameter_gradients import rank_of
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_stored
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status

__all__ = ["FeatureExtractor", "KernelFeatureAnalysis", "KernelProjectionPursuit"]
__public__ = ["KernelFeatureAnalysis", "KernelProjectionPursuit"]

_BLOCK = 64  # candidates whose rows are looked at together
_RESIDUAL = 1e-10  # of principal directions: whitening magnifies what is wrong in the last of them
_EPS = float(np.finfo(float).eps)


def contrast(values: Any, kind: str = "variance", sample_weight: Any = None) -> Floats:
    r"""Return how interesting the values of functions are, one number per column.

    .. math:: \mathrm{Var}[f] = \overline{(z - \bar z)^2}, \qquad
        |\mathrm{Kurt}[f]| = \left| \overline{(z - \bar z)^4} / \mathrm{Var}[f]^2 - 3 \right|

    Seed: [HSS] Section 3.3.1 (contrast functions).

    Parameters
    ----------
    values : (n,) or (n, k) array
        z.
    kind : {"variance", "kurtosis"}, default "variance"
        The size of the excess kurtosis is zero for a normal distribution, whatever its variance.
    sample_weight : (n,) array, optional
        Weight w counts as w copies.

    Returns
    -------
    contrast : float or (k,) array
        Kurtosis is zero where nothing varies.

    Examples
    --------
    >>> contrast([1.0, -1.0, 1.0, -1.0]), contrast([1.0, -1.0, 1.0, -1.0], "kurtosis")
    (np.float64(1.0), np.float64(2.0))
    """
    Z = real_numbers(values, "values")
    w = sample_weights(sample_weight, len(Z))
    share = w / w.sum()
    Z = Z - share @ Z
    variance = share @ Z**2
    if kind == "variance":
        return variance
    floor = (Z.shape[0] * _EPS) ** 2 * np.abs(Z).max(axis=0, initial=0.0) ** 2
    real = variance > np.maximum(floor, np.finfo(float).tiny)
    return np.where(real, np.abs(share @ Z**4 / np.where(real, variance, 1.0) ** 2 - 3.0), 0.0)[()]


class FeatureExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Base of transformers whose scores are an expansion."""

    n_components_: int

    def transform(self, X: Any) -> Floats:
        """Return the features of new data, shape (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        if getattr(self, "n_components_", 1) == 0:
            return np.empty((len(self._pack_new(X)), 0))
        return self._evaluate(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _warn_nothing(self, n: int) -> None:
        if self.n_components_ == 0:
            warn_caller(
                f"The {n} samples do not vary in the feature space of {self.kernel_!r:.200}: there is no feature, and "
                "transform returns no column. Give samples that differ.",
                DegenerateWarning,
            )


class KernelFeatureAnalysis(FeatureExtractor):
    r"""Sparse kernel feature analysis: kernels of single samples, those of largest contrast, one after another.

    .. math:: \max_f \mathrm{Contrast}[f] \quad \text{over} \quad f = \sum_i \alpha_i \, g_i, \;
        \sum_i |\alpha_i| \le 1, \qquad g_i = \frac{(I - Q) \, k(x_i, \cdot)}{\|k(x_i, \cdot)\|}

    A convex contrast is largest at a corner, f = g_i. Q projects on the features found, so that each is orthogonal to
    those before it; a feature needs as many kernels as there are features up to it, where one of kernel PCA needs n.

    Seed: [HSS] Section 3.3.1 (convex combinations of basis functions; sparse KFA).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, default 2
    contrast : {"variance", "kurtosis"}, default "variance"
        Kurtosis is not convex: then the corners are searched, and the best corner need not be the best function.
    n_candidates : int, optional
        Samples drawn for each feature, of which the best is taken; None looks at all. With 59 the one found is among
        the best twentieth with a probability of 95 %, at a cost that does not depend on n but through rows of K.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        Rows of K are all that is needed.
    random_state : int, RandomState or None, default None
        Seed of the candidates; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    support_ : (q,) array of int
        The samples, in their order.
    contrasts_ : (q,) array
        Contrast of the corner that was taken, at each step.
    n_components_ : int
        Features found; fewer where there are no more directions.
    expansion_ : Expansion
        The features as functions, scaled to length one.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies in contrasts. Cost for each feature n rows of K, or ``n_candidates``.

    Examples
    --------
    >>> from mercer import KernelFeatureAnalysis
    >>> from mercer.kernels import Linear
    >>> model = KernelFeatureAnalysis(Linear(), 2).fit([[3.0, 0.0], [-3.0, 0.1], [0.0, 1.0], [0.0, -1.0]])
    >>> model.support_
    array([1, 2])
    """

    synonyms = ("sparse kernel feature analysis",)
    policies = ("reject",)  # functions are made of some samples, and a repair mixes all
    constraints = {
        "n_components": Integer(1),
        "contrast": OneOf("variance", "kurtosis"),
        "n_candidates": Optional(Integer(1)),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        contrast: str = "variance",
        n_candidates: int | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.contrast = contrast
        self.n_candidates = n_candidates
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelFeatureAnalysis:
        """Choose the features.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight) as (run, kernel, _, S, _, w, used):
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            with run.stage("features", 0.95):
                pivots, L = self._search(K, w, run)
            self.support_, self.n_components_ = used[pivots], len(pivots)
            self.expansion_ = triangular_expansion(K, pivots, L[pivots])
            self._warn_nothing(len(S))
        return self

    def _search(self, K: Gram, w: Floats, run: Run) -> tuple[Indices, Floats]:
        """Return the samples chosen and the values of the features at all samples, (n, q)."""
        row_of(K, type(self).__name__)  # refuses a Gram without rows
        n, diagonal = K.shape[0], K.diag()
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        rest, L = diagonal.copy(), np.empty((n, min(self.n_components, n)))
        pivots: list[int] = []
        self.contrasts_ = np.empty(0)
        while len(pivots) < L.shape[1]:
            open_ = np.flatnonzero(rest > 1e-10 * diagonal.max(initial=0.0))
            if self.n_candidates is not None and len(open_) > self.n_candidates:
                open_ = np.sort(rng.choice(open_, self.n_candidates, replace=False))
            found, best, values = self._best(K, w, open_, L[:, : len(pivots)], diagonal)
            if found < 0:
                break
            L[:, len(pivots)] = values / np.sqrt(rest[found])
            rest = np.maximum(rest - L[:, len(pivots)] ** 2, 0.0)
            pivots.append(found)
            rest[pivots] = 0.0
            self.contrasts_ = np.append(self.contrasts_, best)
            if run.watched and run.monitor(len(pivots) / L.shape[1]):
                raise TimeoutError
        return np.array(pivots, dtype=np.intp), L[:, : len(pivots)]

    def _best(self, K: Any, w: Floats, which: Indices, L: Floats, diagonal: Floats) -> tuple[int, float, Any]:
        """Return the candidate of largest contrast, that contrast, and its values at all samples."""
        found, best, values = -1, 0.0, None
        for start in range(0, len(which), _BLOCK):
            some = which[start : start + _BLOCK]
            G = np.asarray(K.rows(some), dtype=float) - L[some] @ L.T
            scores = contrast(G.T, self.contrast, w)
            if self.contrast == "variance":
                scores = scores / diagonal[some]
            place = int(np.argmax(scores))
            if scores[place] > best * (1.0 + 1e-12):
                found, best, values = int(some[place]), float(scores[place]), G[place]
        return found, best, values

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, 0)
        own = {"features": 8 * n_samples * self.n_components, "rows": 24 * n_samples * _BLOCK}
        return Plan(plan.what, {**plan.buffers, **own}, (*plan.options, "gram=Tiles()"))


class KernelProjectionPursuit(FeatureExtractor):
    r"""Kernel projection pursuit: directions of feature space whose distribution is least like a normal one.

    .. math:: \max_u \left| \mathrm{Kurt} \, \langle u, \Phi(x) - \mu \rangle \right|, \qquad
        u \in \mathrm{span}\{u_1, \dots, u_r\}

    Directions are looked for among r leading ones of kernel PCA, whitened; in all of feature space a direction that
    sets a single sample apart would always win. Each is uncorrelated with those before it.

    Seed: [HSS] Section 3.3.1 (kurtosis: projection pursuit).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, default 2
    n_directions : int, default 10
        r.
    n_restarts : int, default 5
        Starts at random for each direction, beside that of each principal direction.
    max_iter : int, default 200
        Steps of a search.
    tol : float, default 1e-8
        A search ends when a step turns the direction by less.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; products are all that is needed.
    random_state : int, RandomState or None, default None
        Seed of the starts; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    contrasts_ : (q,) array
        Sizes of the excess kurtosis.
    n_components_ : int
    n_iter_ : int
        Steps of the longest search.
    expansion_ : Expansion or FeatureExpansion
        The features as functions; over the training samples they have mean zero and variance one.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies. The steps are Newton's for the fourth moment under a variance of one.

    Examples
    --------
    >>> from mercer import KernelProjectionPursuit
    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([3.0 * rng.normal(size=500), rng.choice([-1.0, 1.0], 500)])
    >>> model = KernelProjectionPursuit(Linear(), 1).fit(X)  # the column of two values, not that of large variance
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], X[:, 1])[0, 1]) > 0.99)
    True
    """

    constraints = {
        "n_components": Integer(1),
        "n_directions": Integer(1),
        "n_restarts": Integer(0),
        "max_iter": Integer(1),
        "tol": Positive(),
    }
    highest_order = 1

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        n_directions: int = 10,
        n_restarts: int = 5,
        max_iter: int = 200,
        tol: float = 1e-8,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_directions = n_directions
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelProjectionPursuit:
        """Find the directions.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight) as (run, kernel, _, S, _, w, _):
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run)
            with run.stage("principal directions", 0.8):
                found = self._directions(K, w, run)
            found = found.first(min(self.n_directions, int(np.sum(found.values > found.floor))), np.sqrt(w))
            total, root = float(w.sum()), np.sqrt(w)[:, None]
            white = found.vectors / root * np.sqrt(total)  # scores of variance one
            # which sign an eigenvector has is a matter of rounding, and must not decide where a search starts
            signs = np.where(white[np.argmax(np.abs(white), axis=0), np.arange(white.shape[1])] < 0.0, -1.0, 1.0)
            U = signs[:, None] * self._pursue(white * signs, w / total)
            mix = U * np.sqrt(total / found.values)[:, None]
            coef = found.vectors * (root / np.sqrt(found.values)) @ mix
            coef -= np.outer(w / total, coef.sum(axis=0))
            inner = None if found.weights is None else found.weights @ mix
            shift = found.means @ coef if inner is None else found.origin @ inner
            self.n_components_ = U.shape[1]
            self.contrasts_ = np.atleast_1d(contrast(white @ U, "kurtosis", w))
            self._warn_nothing(len(S))
            if self.n_components_:
                solution = Solution(coef, Status.CONVERGED, 0.0, weights=inner)
                self.expansion_ = K.expand(solution, -np.asarray(shift))
        return self

    def _directions(self, K: Gram, w: Floats, run: Run) -> Directions:
        """Return the principal directions to search among; as far as they were found if time is up."""
        monitor = run.solver_monitor(_RESIDUAL) if run.watched else None
        unwatched(K)
        found = leading_directions(K, w, self.n_directions, tol=_RESIDUAL, monitor=monitor, deadline=run.deadline)
        if not np.isfinite(found.values).all():
            raise overflow_error(self.kernel_)
        if not found.converged:
            status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
            warn_caller(
                f"The principal directions stopped at residual {found.residual:.3g}. {status.value}",
                ConvergenceWarning,
            )
        return found

    def _pursue(self, white: Floats, share: Floats) -> Floats:
        """Return orthonormal directions among whitened scores, (r, q), one after another."""
        r = white.shape[1]
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        U, self.n_iter_, left = np.zeros((r, 0)), 1, 0
        while U.shape[1] < min(self.n_components, r):
            starts = np.vstack([np.eye(r), rng.normal(size=(self.n_restarts, r))])
            best, size, steps, settled = None, -1.0, 0, True
            for start in starts:
                u = start - U @ (U.T @ start)
                if not (length := np.linalg.norm(u)) > 1e-8:
                    continue
                u, taken, done = self._climb(white, share, U, u / length)
                reached = abs(float(share @ (white @ u) ** 4) - 3.0)
                self.n_iter_ = max(self.n_iter_, taken)
                if reached > size * (1.0 + 1e-9) + 1e-12:
                    best, size, steps, settled = u, reached, taken, done
            if best is None:
                break
            left += not settled
            self.n_iter_ = max(self.n_iter_, steps)
            scores = white @ best
            best = best * np.where(scores[np.argmax(np.abs(scores))] < 0.0, -1.0, 1.0)
            U = np.column_stack([U, best])
        if left:
            warn_caller(
                f"{left} of {U.shape[1]} directions were still turning after {self.max_iter} steps. {_ADVICE}",
                ConvergenceWarning,
            )
        return U

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan, r = super().memory_plan(n_samples, n_features, self.n_components), min(self.n_directions, n_samples)
        spec = self._planned_gram(n_samples)
        own = {"whitened scores": 56 * n_samples * r}
        if spec.low_rank:
            own["directions"] = 24 * n_samples * rank_of(spec, n_samples, n_features)
        else:
            own["work space"] = work_bytes(n_samples, r, is_stored(spec))
        return Plan(plan.what, {**plan.buffers, **own}, (*plan.options, "gram=Tiles()"))

    def _climb(self, white: Floats, share: Floats, U: Floats, u: Floats) -> tuple[Floats, int, bool]:
        """Return a stationary direction of the fourth moment, the steps it took, and whether it has settled."""
        for step in range(1, self.max_iter + 1):
            z = white @ u
            new = white.T @ (share * z**3) - 3.0 * u
            new -= U @ (U.T @ new)
            length = float(np.linalg.norm(new))
            if not length > 1e-14:
                return u, step, True
            new /= length
            turned = 1.0 - abs(float(new @ u))
            u = new
            if turned < self.tol:
                return u, step, True
        return u, self.max_iter, False


_ADVICE = "Raise max_iter, or take fewer n_directions: with many, kurtosis has many nearly equal peaks."
