r"""Canonical correlations in feature space: functions of several views of the same things that say the same.

Symbols: K_v the Gram matrix of view v, centred; w_v its direction in feature space, alpha_v the coefficients of w_v;
N the sum of the sample weights; tau_v the share of the norm in the constraint, s_v the unit of the norm.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices
from mercer.budget import Plan, budget
from mercer.constraints import AnyOf, Each, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, fitting
from mercer.estimators.geometry.canonical import Basis, basis_of, canonical, correlations
from mercer.estimators.geometry.canonical_choice import left_out_correlation, shuffled_gap
from mercer.estimators.geometry.retrieval import retrieval_ranks
from mercer.estimators.parameter_gradients import rank_of
from mercer.estimators.several_views import as_views, column, per_view, reads_other_things, require_pairs
from mercer.gram import Auto, Gram, GramSpec, Tiles
from mercer.gram.gram import has_features, is_undecided
from mercer.gram.low_rank.nystrom import NystromGram
from mercer.kernels import Kernel, Linear
from mercer.kernels.kernel import feature_count, overflow_error
from mercer.numerics.pivoting import pivoted_cholesky
from mercer.runtime.tiling import blas_for, in_background

__all__ = ["KernelCCA"]
__public__ = __all__

TAUS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_REST = 1e-10  # of the diagonal of K, below which incomplete Cholesky stops
_SHARE = Interval(0.0, 1.0)


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel canonical correlation analysis: functions of each view that agree across views as much as they can.

    .. math:: \max_{w_x, w_u} \mathrm{cov}(f_x, f_u) \quad \text{subject to} \quad
        (1 - \tau_v) \mathrm{var}(f_v) + \tau_v s_v \|w_v\|^2 = 1, \qquad
        f_v(x) = \langle w_v, \phi_v(x) - m_v \rangle

    Documents in two languages, an image and its caption: what the views share is what they are about. Without the norm
    (tau = 0) any two views of a rich kernel are perfectly correlated, and nothing is learned.

    Seed: [STS] Section 5.2, Eqs. (45)-(49); [ST] "Kernel CCA"; [HSS] Eq. (98). Equations (48) and (49) of [STS] differ
    in the unit of the norm, see ``norm_scale``.

    Parameters
    ----------
    kernel : Kernel, str or None, or a tuple of them, default None
        One for all views, or one for each, which may be of different domains. None is the Gaussian at the median
        distance between the samples of the view. Conditionally positive definite kernels of order 1 are accepted.
        A vector of numbers beside samples of another domain, strings or similarities, is compared by None.
    n_components : int, default 2
        Pairs of functions; there may be fewer, see ``n_components_``.
    tau : float, tuple of float, "loo" or "permutation", default 0.1
        Between 0 (correlation) and 1 (covariance under bounded norms, COCO), one for all views or one for each. "loo":
        the member of ``taus`` with the largest correlation of first scores of left-out samples. "permutation": that
        with the largest distance between the correlations and their mean over shuffled pairs.
    norm_scale : {"variance", "covariance", "gram"}, default "variance"
        s. "variance": the total variance of the view, so that tau has no unit and eigenvalues lie in [-1, 1] whatever
        the kernel's scale is. "covariance": 1, Equation (48). "gram": 1/N, Equation (49).
    rank : int, optional
        Rank of incomplete Cholesky factors of the Gram matrices, by rows of largest remaining diagonal; no n x n array
        is made. None uses K as ``gram`` holds it.
    taus : sequence of float, default (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
        What "loo" and "permutation" choose from, for all views at once.
    n_permutations : int, default 10
        Shuffles of "permutation".
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec or a tuple of them, optional
        How K is held: in memory or by a factor (``Nystrom``, ``Features``).
    random_state : int, RandomState or None, default None
        Seed of the shuffles; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    canonical_correlations_ : (m,) array
        Correlations of the training scores, in [-1, 1] and in the order of the eigenvalues. For more than two views,
        the mean over the pairs of views.
    eigenvalues_ : (q,) array
        rho, the maxima of the covariance, the largest first; for two views the positive halves of the pairs of rho and
        -rho. They are the correlations if tau is 0, at most 1 in the unit "variance", and of any size in the others,
        where a function of norm one may have any variance. For more than two views, the mean over the others.
    tau_ : (k,) array
        tau of each view.
    criterion_values_ : (len(taus),) array
        Criterion of "loo" and "permutation".
    scores_ : tuple of (n, m) arrays
        f at the training samples, for each view; NaN at samples of weight zero.
    dual_coefs_ : tuple of (n, m) arrays
        alpha, which sum to zero.
    expansions_ : tuple of Expansion or FeatureExpansion
        f, for each view; ``expansion_`` is the first.
    kernels_, grams_ : tuples
        The objects that None was resolved to; ``kernel_`` is the first kernel.
    view_features_ : tuple
        Number of columns of each view; None where samples are not rows of numbers.
    n_components_ : int

    Notes
    -----
    Two views are given as in scikit-learn, ``fit(X, Y)``; more as a list, ``fit([X, Y, Z])``. ``fit_transform`` returns
    the scores of X alone, so that it can be used in a pipeline. A sample of weight w counts as w copies; the
    shuffles of "permutation" move samples with their weights. Cost O(n^3), or O(n r^2) with factors of rank r.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> from mercer.kernels import Gaussian
    >>> t = np.linspace(0, 6, 60)
    >>> X, Y = np.c_[np.cos(t), np.sin(t)], np.c_[t, np.cos(5 * t)]
    >>> model = KernelCCA(Gaussian(1.0), n_components=1, tau=0.01).fit(X, Y)
    >>> model.canonical_correlations_.round(2), model.transform(X).shape
    (array([1.]), (60, 1))
    """

    synonyms = ("KCCA",)
    highest_order = 1
    constraints = {
        "n_components": Integer(1),
        "tau": AnyOf(Each(_SHARE), OneOf("loo", "permutation")),
        "taus": Each(_SHARE, alone=False),
        "norm_scale": OneOf("variance", "covariance", "gram"),
        "rank": Optional(Integer(1)),
        "n_permutations": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        tau: Any = 0.1,
        norm_scale: str = "variance",
        rank: int | None = None,
        taus: Any = TAUS,
        n_permutations: int = 10,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: Any = None,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.tau = tau
        self.norm_scale = norm_scale
        self.rank = rank
        self.taus = taus
        self.n_permutations = n_permutations
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelCCA:
        """Find the functions.

        Parameters
        ----------
        X : raw data or packed samples, or a list of views
        y : raw data or packed samples, optional
            The second view; a vector of numbers is one column. None if X is a list of views.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = partial(self._pack_views, y)
        with fitting(self, X, y, sample_weight, pack=pack) as (run, found, first, _, _, w, used):
            parts, packed, kernels, options = found
            self._plan(len(used), [p._width(k, S) for p, k, S in zip(parts, kernels, packed, strict=True)]).require(
                self.memory
            )
            with blas_for(len(used)):
                bases, grams = self._decompose(parts, packed, kernels, w, used, run)
                self._choose(bases, w, options, run)
                self._keep(bases, grams, w, used, len(first), run)
        return self

    # new samples ------------------------------------------------------------------------------------------

    def project(self, X: Any, view: int = 0) -> Floats:
        """Return the scores of new samples of one view, shape (m, n_components_).

        Parameters
        ----------
        X : raw data or packed samples
        view : int, default 0
            The view they belong to: 0 is X of `fit`, 1 is y.
        """
        check_is_fitted(self)
        Integer(0, len(self.expansions_) - 1).check("view", view, self)
        if view == 0:
            T = self._pack_new(X)
        else:
            T = self.kernels_[view].pack(column(X))
            if isinstance(T, Vectors) and T.width != self.view_features_[view]:
                raise DomainError(
                    f"view {view} has {T.width} columns, but {type(self).__name__} is expecting "
                    f"{self.view_features_[view]}. Give the columns that it was fitted on, in their order."
                )
        values = self.expansions_[view](T, self._resources())
        if not np.isfinite(values).all():
            raise overflow_error(self.kernels_[view])
        return values

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the scores of new samples: an array for X, a pair for X and y, a list for a list of views.

        Parameters
        ----------
        X : raw data or packed samples
            Fitted on more than two views, a list with a member for each of them; None leaves a view out.
        y : raw data or packed samples, optional
            Samples of the second view.
        """
        check_is_fitted(self)
        if len(self.expansions_) == 2:
            return self.project(X) if y is None else (self.project(X), self.project(y, 1))
        if y is not None or not isinstance(X, (list, tuple)) or len(X) != len(self.expansions_):
            raise DomainError(
                f"{type(self).__name__} was fitted on {len(self.expansions_)} views, and transform was given something "
                "else; a list with a member for each view is accepted, None for a view that is left out. Use "
                "project(X, view) for one view."
            )
        return [None if one is None else self.project(one, view) for view, one in enumerate(X)]

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # pyright: ignore
        """Fit, and return what `transform` returns for X.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        """
        self.fit(X, y, sample_weight=sample_weight)
        if y is None and len(self.expansions_) == 2:
            return self.transform(*X)
        return self.transform(X)

    def correlations(self, X: Any, y: Any = None) -> Floats:
        """Return the correlations of the scores of new pairs, one for each component, (n_components_,).

        Parameters
        ----------
        X, y : as for `fit`
            For more than two views, the mean over all pairs of them is returned.
        """
        scores = [self.project(one, view) for view, one in enumerate(self._new_views(X, y))]
        require_pairs(scores)
        return correlations(scores)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean over the components of the correlations of new pairs."""
        found = self.correlations(X, y)
        return float(np.mean(found)) if len(found) else 0.0

    def retrieval_score(self, X: Any, y: Any = None, top: int = 1) -> float:
        """Return how often the partner of a sample of X is found among all of y, by the cosine of their scores.

        Parameters
        ----------
        X, y : as for `fit`
            X are the queries. For more than two views, the mean over all pairs of them is returned, the earlier one of
            a pair being the queries.
        top : int, default 1
            The partner must be among this many of the most similar ones.
        """
        Integer(1).check("top", top, self)
        scores = [self.project(one, view) for view, one in enumerate(self._new_views(X, y))]
        require_pairs(scores)
        return float(np.mean([np.mean(retrieval_ranks(A, B) <= top) for A, B in combinations(scores, 2)]))

    def _new_views(self, X: Any, y: Any) -> list[Any]:
        check_is_fitted(self)
        views = as_views(self, X, y)
        if len(views) != len(self.expansions_):
            raise DomainError(
                f"{len(views)} views were given to a {type(self).__name__} that was fitted on "
                f"{len(self.expansions_)}; there must be as many. Give all of them, in the same order."
            )
        return views

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # steps ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Check all parameters with each kernel and each Gram, of which there may be one for each view."""
        for kernel in self.kernel if isinstance(self.kernel, (tuple, list)) else (self.kernel,):
            for gram in self.gram if isinstance(self.gram, (tuple, list)) else (self.gram,):
                part = copy.copy(self)
                vars(part).update(kernel=kernel, gram=gram)
                KernelEstimator._check_parameters(part)

    def _pack_views(self, y: Any, X: Any) -> tuple[Samples, tuple[Any, ...]]:
        """Pack all views; beside the first, what there is of each, and the vectors of tau to choose from."""
        views = as_views(self, X, y)
        parts = self._parts(views, column(y) is not y)
        options = self._options(len(views))
        packed, kernels = zip(*(part._pack(view) for part, view in zip(parts, views, strict=True)), strict=True)
        require_pairs(packed)
        self.view_features_ = tuple(S.width if isinstance(S, Vectors) else None for S in packed)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(parts[0], name):
                setattr(self, name, getattr(parts[0], name))
        return packed[0], (parts, packed, kernels, options)

    def _parts(self, views: list[Any], vector: bool) -> list[Any]:
        """Return copies of this estimator, one for each view, with its kernel and Gram."""
        parts, count = [], len(views)
        given = per_view("kernel", self.kernel, count), per_view("gram", self.gram, count)
        for kernel, gram in zip(*given, strict=True):
            part = copy.copy(self)
            part.kernel, part.gram = kernel, gram
            parts.append(part)
        if vector and parts[1].kernel is self.kernel and reads_other_things(self.kernel):
            parts[1].kernel = None
            parts[1].gram = None if has_features(parts[1].gram) else parts[1].gram
        return parts

    def _width(self, kernel: Kernel, S: Samples) -> int:
        """Return how many columns the basis of a view has at most; 1 if that depends on its samples."""
        if self.rank is not None:
            return min(self.rank, len(S))
        spec = self._gram_spec(kernel, S)
        if has_features(spec):
            return feature_count(kernel, S) or 1
        if is_undecided(spec):  # which asks for the plan of every way it looks at
            return 1
        return min(getattr(spec, "rank", len(S)), len(S))

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        return Tiles() if self.rank is not None else super()._gram_spec(kernel, S)

    def _options(self, count: int) -> list[Floats]:
        """Return the vectors of tau to choose from; one if there is no choice."""
        if self.rank is not None and self.gram is not None:
            raise ParameterError(
                f"rank={self.rank} and gram={self.gram!r} were given; either says how K is approximated. Leave one out."
            )
        if isinstance(self.tau, str):
            options = [(tau,) * count for tau in self.taus]
        else:
            options = [per_view("tau", self.tau, count)]
        return [np.array(option, dtype=float) for option in options]

    def _decompose(
        self, parts: list[Any], packed: Any, kernels: Any, w: Floats, used: Indices, run: Run
    ) -> tuple[list[Basis], list[Gram]]:
        bases, grams, learned, specs = [], [], [], []
        for v, (part, S, kernel) in enumerate(zip(parts, packed, kernels, strict=True)):
            S = S if len(used) == len(S) else S.take(used)
            known = kernel.learn(S, None, w)
            begin, until = 0.8 * v / len(parts), 0.8 * (v + 1) / len(parts)
            gram = part._represent(known, S, run, 0.5 * (begin + until))
            with run.stage("decomposition", until):
                if self.rank is not None:
                    gram = _incomplete(gram, self.rank, run)
                bases.append(basis_of(gram, w, run.deadline))
            if not np.isfinite(bases[-1].values).all():
                raise overflow_error(known)
            grams.append(gram)
            learned.append(known)
            specs.append(part.gram_)
            if v == 0:
                self.repair_ = part.repair_
        vars(self).pop("gram_choice_", None)
        choices = [part.gram_choice_ for part in parts if hasattr(part, "gram_choice_")]
        if choices:  # that of the view which is held least exactly
            self.gram_choice_ = max(choices, key=lambda choice: choice["error"])
        self.kernels_, self.grams_ = tuple(learned), tuple(specs)
        self.kernel_ = learned[0]
        return bases, grams

    def _penalty(self, basis: Basis, total: Any, part: Any) -> Any:
        """Return p of a basis of all samples, whose weights sum to `total`, when those that are left sum to `part`."""
        if self.norm_scale == "gram":
            return np.ones_like(part)
        return part * (1.0 if self.norm_scale == "covariance" else float(basis.values.sum()) / total)

    def _choose(self, bases: list[Basis], w: Floats, options: list[Floats], run: Run) -> None:
        """Set tau_ to the best of the options."""
        self.tau_ = options[0]
        if not isinstance(self.tau, str) or min(len(b.values) for b in bases) == 0:
            return
        total, found, worst = float(w.sum()), [], 0.0
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        orders = [[rng.permutation(len(w)) for _ in bases[1:]] for _ in range(self.n_permutations)]
        with run.stage("choice of tau", 0.9):
            for done, option in enumerate(options, 1):
                if self.tau == "loo":
                    penalty = partial(_of_view, self._penalty, bases, total)
                    stop = threading.Event()
                    try:
                        value, change = in_background(
                            left_out_correlation, bases, w, option, penalty, stop.is_set, deadline=run.deadline
                        )
                    finally:
                        stop.set()  # an interrupt leaves no work behind
                    worst = max(worst, change)
                else:
                    penalties = [float(self._penalty(b, total, total)) for b in bases]
                    value = in_background(shuffled_gap, bases, option, penalties, orders, deadline=run.deadline)
                found.append(value)
                if run.monitor(done / len(options)):
                    raise TimeoutError
        if worst > 1e-4:
            warn_caller(
                f"The scores of left-out samples still changed by {worst:.3g} after 200 steps, as they do where two "
                "correlations are nearly equal; the choice of tau may be a neighbour of the best one. Leave the "
                "smallest taus out, or use tau='permutation'.",
                ConvergenceWarning,
            )
        self.criterion_values_ = np.array(found)
        self.tau_ = options[int(np.argmax(found))]

    def _keep(self, bases: list[Basis], grams: list[Gram], w: Floats, used: Indices, n: int, run: Run) -> None:
        """Solve, and store the functions."""
        total = float(w.sum())
        count = min(self.n_components, *(len(b.values) for b in bases))
        if count == 0:
            flat = [v for v, b in enumerate(bases) if not len(b.values)]
            warn_caller(
                f"view {flat[0]} does not vary, so that nothing is correlated with it: {type(self).__name__} has no "
                "components. Give a view whose samples differ.",
                DegenerateWarning,
            )
        penalties = [float(self._penalty(b, total, total)) for b in bases]
        with run.stage("correlations", 0.97):
            found = canonical(bases, self.tau_, penalties, count, run.deadline)
        first = bases[0].vectors @ found.directions[0] / np.sqrt(w)[:, None]
        sign = np.where(-first.min(axis=0, initial=0.0) > (1.0 + 1e-8) * first.max(axis=0, initial=0.0), -1.0, 1.0)
        functions, coefs, scores = [], [], []
        for basis, gram, direction in zip(bases, grams, found.directions, strict=True):
            a = np.sqrt(total) * sign * direction  # the largest score of the first view is positive
            function, coef = basis.expand(gram, a, w)
            functions.append(function)
            coefs.append(scattered(coef, used, n))
            scores.append((basis.vectors @ a) / np.sqrt(w)[:, None])
        self.n_components_ = count
        self.eigenvalues_ = found.values
        self.canonical_correlations_ = correlations(scores, w)
        self.expansions_, self.dual_coefs_ = tuple(functions), tuple(coefs)
        self.expansion_ = functions[0]
        self.scores_ = tuple(_at(one, used, n) for one in scores)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1, views: int = 2) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated.

        Parameters
        ----------
        n_samples, n_features, n_targets : int
            Size of the training data.
        views : int, default 2
        """
        n, widths = n_samples, []
        given = per_view("kernel", self.kernel, views), per_view("gram", self.gram, views)
        for kernel, gram in zip(*given, strict=True):
            known = kernel if isinstance(kernel, Kernel) else self._default_kernel()
            spec: GramSpec = gram or Auto()
            if is_undecided(spec):
                spec = spec.choose(known, n, n_features if isinstance(known, Linear) else None, self.memory)
            widths.append(min(n, rank_of(spec, n, n_features) if self.rank is None else self.rank))
        return self._plan(n, widths)

    def _plan(self, n: int, widths: list[int]) -> Plan:
        what, smaller = f"{type(self).__name__} on {n} samples", [r for r in (500, 100) if r < min(n, max(widths))]
        fits = [r for r in smaller if _factors(n, [r] * len(widths))[1] <= budget(self.memory)]
        other = "" if self.gram is None else " and gram=None"
        options = tuple(f"rank={r}{other}" for r in fits)
        if max(widths) >= n:
            return Plan(what, {"eigenvectors of the views": 8 * n * sum(widths), "work space": 16 * n * n}, options)
        return Plan(what, _factors(n, widths)[0], options)

    def __sklearn_tags__(self) -> Any:
        kernels = self.kernel if isinstance(self.kernel, (tuple, list)) else (self.kernel,)
        first = copy.copy(self)
        first.kernel = kernels[0] if kernels else None
        tags = super(KernelCCA, first).__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _incomplete(gram: Any, rank: int, run: Run) -> NystromGram:
    """Return the Gram of the rows that an incomplete Cholesky factor takes first, as its landmarks."""
    if gram.kernel.order:
        raise CapabilityError(
            f"rank={rank} was given with {gram.kernel!r}, which is conditionally positive definite; an incomplete "
            "Cholesky factor needs a positive definite kernel. Use rank=None."
        )

    shared = gram.resources
    gram.resources = dataclasses.replace(shared, n_threads=1)  # one row is too little to share

    def row(i: int) -> Floats:
        if run.watched and run.monitor(0.0):
            raise TimeoutError
        return gram.rows(np.array([i]))[0]

    factor = pivoted_cholesky(gram.diag(), row, min(rank, gram.shape[0]), _REST)
    gram.resources = shared
    triangle = factor.array[factor.pivots]
    root = np.linalg.inv(triangle).T if len(triangle) else np.zeros((0, 0))
    landmarks = gram.samples.take(factor.pivots).landmarks()
    low = NystromGram(gram.kernel, gram.samples, landmarks, np.ascontiguousarray(root), gram.resources)
    low.hold()
    return low


def _of_view(penalty: Any, bases: list[Basis], total: float, view: int, part: Any) -> Any:
    return penalty(bases[view], total, part)


def _at(scores: Floats, used: Indices, n: int) -> Floats:
    """Return scores at all places, NaN at those that were left out."""
    if len(used) == n:
        return scores
    out = np.full((n, scores.shape[1]), np.nan)
    out[used] = scores
    return out


def _factors(n: int, widths: list[int]) -> tuple[dict[str, int], int]:
    """Return the buffers of factors of this many columns, and their sum."""
    buffers = {"factors": 8 * n * sum(widths), "work space": 24 * n * max(widths) + 8 * sum(widths) ** 2}
    return buffers, sum(buffers.values())
