"""Ranking: a function that is larger for what is preferred, learned from pairs within groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Integer, OneOf, Positive
from mercer.errors import ParameterError, TargetError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.estimators.structured.descents import descended
from mercer.estimators.structured.pair_sums import PairSquares, PairSums
from mercer.gram import GramSpec
from mercer.problems import Solution, Status
from mercer.targets import Real
from mercer.targets.target import numbers

__all__ = ["RankSVM", "mean_ndcg", "pair_agreement"]
__public__ = ["RankSVM"]

_HIGHEST = 30  # largest grade; 2^y of the others must not be lost in rounding beside it


class RankSVM(KernelEstimator):
    r"""Ranking by a support vector machine: of two samples of a group, the better one must score higher.

    .. math:: \min_f \; \tfrac12 \|f\|^2 + C \sum_{(i, j):\, y_i > y_j} c_{ij} \bigl(m_{ij} - f(x_i) + f(x_j)\bigr)_+^2

    Pairs are within a group, such as the documents of one query; c = 1, or the gain of the right order in a measure
    of rankings, such as NDCG; m = 1, or the difference of the relevances.

    Seed: [HSS] Section 3.1.4 (ranking over observations, after Herbrich et al., and conjoint analysis); with
    squared slacks, which makes the objective smooth.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance.
    C : float, default 1.0
        What a pair's squared slack costs.
    gain : {"equal", "linear", "exponential"}, default "equal"
        The weight of a pair: 1, y_i - y_j, or 2^y_i - 2^y_j. The last is the gain of NDCG, for relevances in a few
        grades of which the highest matter most.
    margin : {"equal", "difference", "exact"}, default "equal"
        By how much the scores of a pair must differ: at least 1, or at least y_i - y_j, more for pairs further apart.
        "exact" requires all pairs, those of equal relevance too, to differ by exactly y_i - y_j: least squares of
        differences.
    share : {"pairs", "samples"}, default "pairs"
        The weight of a group: the number of its pairs, or of its samples, so that large groups do not outweigh the
        others.
    tol : float, default 1e-8
        L-BFGS stops when the norm of the gradient in the space, relative to that at zero, is below this.
    max_iter : int, default 1000
        Largest number of iterations of L-BFGS.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; only products with it are needed. None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        f.
    objective_, gap_ : float
        The objective, and how far it is above the minimum at most.
    n_pairs_ : int
        How many pairs were compared.
    n_iter_ : int

    Notes
    -----
    Conjoint analysis, where what is better depends on the user: samples are pairs (x, u), the groups are the users, and
    the kernel is ``Tensor(k_x, k_u)``, with a constant in k_u for what all users have in common.

    The pairs are never listed: sums over them take O(n log n), and each iteration takes one product with K as well. A
    sample of weight w counts as w copies: a pair has the product of the weights.

    Examples
    --------
    >>> from mercer import RankSVM
    >>> from mercer.kernels import Linear
    >>> X, y, query = [[1.0], [2.0], [3.0], [30.0], [20.0]], [0, 1, 2, 1, 0], [0, 0, 0, 1, 1]
    >>> model = RankSVM(Linear()).fit(X, y, groups=query)
    >>> model.score(X, y, groups=query), model.n_pairs_
    (1.0, 4)
    """

    products_suffice = True
    synonyms = ("conjoint analysis", "learning to rank", "preference learning", "SVM-rank")
    constraints = {
        "C": Positive(),
        "gain": OneOf("equal", "linear", "exponential"),
        "margin": OneOf("equal", "difference", "exact"),
        "share": OneOf("pairs", "samples"),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        gain: str = "equal",
        margin: str = "equal",
        share: str = "pairs",
        tol: float = 1e-8,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gain = gain
        self.margin = margin
        self.share = share
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.margin == "exact" and self.gain != "equal":
            raise ParameterError(
                f"gain={self.gain!r} was given with margin='exact', whose pairs all count the same; gain='equal' is "
                "accepted there. Use margin='difference'."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> RankSVM:
        """Fit the ranking.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Relevance; larger is better.
        groups : (n,) array, optional
            Samples are compared within their group; None is one group.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            relevance = numbers(values, several=False)
            codes = _group_codes(groups, len(packed))[used]
            self.kernel_ = kernel.learn(S, relevance, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            share = 1.0 / np.maximum(np.bincount(codes, w), np.finfo(float).tiny) if self.share == "samples" else None
            if self.margin == "exact":
                pairs: Any = PairSquares(relevance, codes, w, share)
            else:
                target = relevance if self.margin == "difference" else None
                pairs = PairSums(relevance, codes, w, share, _gains(relevance, self.gain), target)
            self.n_pairs_ = int(pairs.counts().sum())

            def risk(F: Floats, _: Floats) -> tuple[float, Floats, Floats]:
                value, slope = pairs.risk(F[:, 0])
                return float(self.C) * value, float(self.C) * slope[:, None], np.empty(0)

            found = descended(self, K, risk, 1, run)
            self.expansion_ = K.expand(Solution(found.function.B[:, 0], Status.CONVERGED, 0.0))
        return self

    def predict(self, X: Any) -> Floats:
        """Return f of new data, (m,): larger for what is preferred.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the share of pairs within groups that are in the right order; ties count one half."""
        return pair_agreement(y, self.predict(X), groups)


def _gains(relevance: Floats, gain: str) -> Floats | None:
    """Return what the order of pairs gains, as a number for each sample whose differences count; None is 1."""
    if gain == "equal":
        return None
    if gain == "linear":
        return relevance
    if np.abs(relevance).max() > _HIGHEST:
        raise TargetError(
            f"gain='exponential' was given with relevances up to {np.abs(relevance).max():g}; grades up to {_HIGHEST} "
            "are accepted, since a pair counts 2^y. Use gain='linear', or fewer grades."
        )
    return np.exp2(relevance)


def _group_codes(groups: Any, n: int) -> Indices:
    """Return the group of each sample as a number from 0."""
    if groups is None:
        return np.zeros(n, dtype=np.intp)
    given = np.asarray(groups)
    if given.shape != (n,) or (given.dtype == object and any(g is None for g in given)):
        raise TargetError(
            f"groups of shape {given.shape} were given for {n} samples; one group per sample is accepted, a number or "
            "a text. Repeat the name of a group for each of its samples."
        )
    return np.unique(given, return_inverse=True)[1].astype(np.intp).reshape(n)


def pair_agreement(y: Any, scores: Any, groups: Any = None) -> float:
    """Return the share of pairs within groups that scores put in the right order; ties of scores count one half.

    Kendall's tau, without ties, is twice this minus one.

    Parameters
    ----------
    y : (n,) array
        Relevance; larger is better.
    scores : (n,) array
    groups : (n,) array, optional

    Examples
    --------
    >>> pair_agreement([0, 1, 2], [0.1, 0.3, 0.2])
    0.6666666666666666
    """
    relevance, f = numbers(y, several=False), numbers(scores, several=False)
    codes = _group_codes(groups, len(relevance))
    right = total = 0.0
    for g in range(int(codes.max()) + 1):
        a, b = relevance[codes == g], f[codes == g]
        better = a[:, None] > a
        total += float(better.sum())
        right += float((better * (0.5 + 0.5 * np.sign(b[:, None] - b))).sum())
    if not total:
        raise TargetError(
            "no two samples of a group differ in y; at least one pair is needed. Give groups with several relevances."
        )
    return right / total


def mean_ndcg(y: Any, scores: Any, groups: Any = None, k: int = 10) -> float:
    r"""Return the mean over groups of the normalised discounted cumulative gain of the first k.

    .. math:: \mathrm{DCG} = \sum_{r = 1}^{k} (2^{y_{(r)}} - 1) / \log_2(r + 1)

    Parameters
    ----------
    y : (n,) array
        Relevance, not negative.
    scores : (n,) array
    groups : (n,) array, optional
    k : int, default 10

    Notes
    -----
    Groups in which nothing is relevant are left out. Ties of scores are broken by the order of the samples.

    Examples
    --------
    >>> mean_ndcg([2, 0, 1], [0.9, 0.1, 0.5])
    1.0
    """
    relevance, f = numbers(y, several=False), numbers(scores, several=False)
    codes = _group_codes(groups, len(relevance))
    found = []
    for g in range(int(codes.max()) + 1):
        gain: Array = 2.0 ** relevance[codes == g] - 1.0
        if gain.max() > 0.0:
            discount = 1.0 / np.log2(2.0 + np.arange(min(k, len(gain))))
            own = gain[np.argsort(-f[codes == g], kind="stable")][:k] @ discount
            found.append(float(own / (np.sort(gain)[::-1][:k] @ discount)))
    if not found:
        raise TargetError("no group has a relevant sample; at least one must. Give relevances above 0.")
    return float(np.mean(found))
