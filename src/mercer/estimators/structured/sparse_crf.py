r"""Conditional random fields with few terms: those at which the functional gradient is largest are added greedily.

Symbols: B (N, D) coefficients of D functions at N sites, of which only those in an active set are not zero; F = K B.
The gradient of J(f) = |f|^2 / 2 + R(F, w) is the function with coefficients B + dR/dF; its inner product with k(x_s, .)
in function d, divided by the length of k(x_s, .), is what a term (s, d) would lower J by at first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Integer, Positive
from mercer.errors import warn_caller
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.structured.structured_machine import StructuredMachine
from mercer.gram import GramSpec
from mercer.runtime.tiling import serial_blas

__all__ = ["SparseKernelCRF"]
__public__ = __all__


class SparseKernelCRF(StructuredMachine):
    r"""Conditional random field with few terms: site and label pairs are added where the gradient is largest.

    .. math:: f(x, y) = \sum_{(s, d) \in A} \beta_{sd} \sum_t \psi_{td}(y)\, k(x_s, x_t) + \langle w, g(y) \rangle,
        \qquad \min_{\beta, w} \; \tfrac12 \|f\|^2 - C \sum_i \log p(y_i \mid x_i)

    `KernelCRF` has a coefficient for each site and function, n times the sum of labels of the cliques; here terms are
    added to A in rounds, those along which the regularised log-loss falls fastest, and all coefficients of A are
    optimised after each round.

    Seed: [HSS] Corollary 24, Eq. (118), and the reduced set that follows it (after Lafferty et al.): parameters that
    maximise the functional gradient of the regularised log-loss are included greedily.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On samples, or on the positions of sequences. None is the Gaussian at the median distance.
    C : float, default 1.0
        What the negative log-probability of a training output costs.
    outputs : OutputSpace, optional
        What is predicted, of a kind that has sums over all outputs; None is `ClassLabels()`.
    n_terms : int, default 100
        Terms at most.
    per_round : int, default 10
        Terms that are added at once.
    tol : float, default 1e-3
        It ends when no further term has a gradient above this, relative to the largest at zero.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. Out of time, the terms so far are kept, with a warning.

    Attributes
    ----------
    target_ : OutputSpace
    expansion_ : Expansion or FeatureExpansion
        The functions, one column each, at the sites that have a term.
    weights_ : (G,) array
        Weights of the output's own features.
    terms_ : (p, 2) array of int
        Site and function of each term, in the order in which they were added.
    objective_ : float
    objectives_ : array
        The objective after each round.
    n_iter_ : int
        Rounds.

    Notes
    -----
    A sample of weight w counts as w copies. A round costs one product with K for the gradient, and some tens of
    products with the rows of the sites in use.

    Examples
    --------
    >>> from mercer import LabelSequences, SparseKernelCRF
    >>> from mercer.kernels import Linear
    >>> X, y = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]], [["a", "b", "a"], ["b", "b"]]
    >>> model = SparseKernelCRF(Linear(), C=10.0, outputs=LabelSequences(), n_terms=2, per_round=1).fit(X, y)
    >>> model.predict([np.eye(2)[[1, 0]]])[0], len(model.terms_)
    (array(['b', 'a'], dtype='<U1'), 2)
    """

    constraints = {"C": Positive(), "n_terms": Integer(1), "per_round": Integer(1), "tol": Positive()}

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        outputs: Any = None,
        n_terms: int = 100,
        per_round: int = 10,
        tol: float = 1e-3,
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
        self.outputs = outputs
        self.n_terms = n_terms
        self.per_round = per_round
        self.tol = tol
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseKernelCRF:
        """Add terms and optimise them, round by round.

        Parameters
        ----------
        X : raw data or packed samples
            For sequences of labels, a list of sequences.
        y : outputs
            Of the kind that `outputs` reads.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target: Any = self._space()
        with fitting(self, X, y, sample_weight, target, pack=self._read) as (run, kernel, _, S, codes, w, _):
            sites, offsets = self._sites(S)
            self._check_lengths(codes, offsets)
            self.kernel_ = kernel.learn(sites)
            K = self._represent(self.kernel_, sites, run, until=0.2)
            self._require_rows(K)
            unwatched(K)
            with run.stage("rounds", 1.0), serial_blas():
                B, weights = self._grown(K, codes, offsets, float(self.C) * w, run)
            self._keep(K, B, weights)
        return self

    def _grown(self, K: Any, codes: Any, offsets: Indices, C: Floats, run: Run) -> tuple[Floats, Floats]:
        """Return the coefficients, (N, D), most of them zero, and the weights."""
        space, N = self.target_, int(offsets[-1])
        psi, g = np.zeros((N, space.width)), np.zeros(space.extras)
        for i, code in enumerate(codes):
            sites = slice(offsets[i], offsets[i + 1])
            psi[sites], one = space.features(code, int(offsets[i + 1] - offsets[i]))
            g += C[i] * one
        scale = np.repeat(C, np.diff(offsets))[:, None]

        def risk(F: Floats, w: Floats) -> tuple[float, Floats, Floats]:
            logs, expected, extra = space.sums_of_all(F, offsets, w, C)
            return float(C @ logs - np.sum(scale * psi * F) - g @ w), scale * (expected - psi), extra - g

        lengths = np.sqrt(np.maximum(np.asarray(K.diag(), dtype=float), np.finfo(float).tiny))
        terms, beta, w = np.empty((0, 2), dtype=np.intp), np.empty(0), np.zeros(space.extras)
        rows: dict[int, Floats] = {}  # of K, at sites that have a term
        B, F = np.zeros((N, space.width)), np.zeros((N, space.width))
        objectives, first, done, late = [], 0.0, False, False
        while not done and not late:
            slope = F + np.asarray(K @ risk(F, w)[1])
            first = first or float(np.max(np.abs(slope) / lengths[:, None], initial=0.0))
            taken = np.zeros(slope.shape, dtype=bool)
            taken[terms[:, 0], terms[:, 1]] = True
            room = min(int(self.per_round), int(self.n_terms) - len(terms))
            fresh = _steepest(K, slope, taken, lengths, rows, room, float(self.tol) * first)
            if len(fresh) or not objectives:
                terms, beta = np.concatenate([terms, fresh]), np.append(beta, np.zeros(len(fresh)))
                F, w, beta, J = _optimised(rows, terms, beta, w, F.shape, risk)
                B[terms[:, 0], terms[:, 1]] = beta
                objectives.append(J)
            done = not len(fresh) or len(terms) >= self.n_terms
            late = run.watched and bool(run.monitor(len(terms) / self.n_terms))
        if late and not done:
            warn_caller(
                f"SparseKernelCRF stopped with {len(terms)} of {self.n_terms} terms, out of time. Raise max_time.",
                ConvergenceWarning,
            )
        self.terms_, self.objectives_ = terms, np.array(objectives)
        self.objective_, self.n_iter_ = float(objectives[-1]), len(objectives)
        return B, w


def _steepest(
    K: Any, slope: Floats, taken: Array, lengths: Floats, rows: dict[int, Floats], room: int, least: float
) -> Indices:
    """Return the terms with the largest gradients, (q, 2); rows of K at their sites are added to `rows`.

    After each, what it explains of the gradient is taken away, so that copies of a site, or sites next to it, do not
    come with it.
    """
    found: list[tuple[int, int]] = []
    for _ in range(room):
        heights = np.where(taken, 0.0, np.abs(slope) / lengths[:, None])
        s, d = (int(i) for i in np.unravel_index(int(np.argmax(heights)), heights.shape))
        if heights[s, d] <= least:
            break
        if s not in rows:
            rows[s] = _row_of(K, s)
        found.append((s, d))
        taken[s, d] = True
        slope[:, d] -= slope[s, d] / lengths[s] ** 2 * rows[s]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def _row_of(K: Any, s: int) -> Floats:
    if hasattr(K, "rows"):
        return np.asarray(K.rows(np.array([s])), dtype=float)[0]
    Z = np.asarray(K.factor(), dtype=float)
    return Z @ Z[s]


def _optimised(
    held: dict[int, Floats], terms: Indices, beta: Floats, w: Floats, shape: tuple[int, ...], risk: Any
) -> tuple[Floats, Floats, Floats, float]:
    """Return F, w, beta and J at the optimum over the coefficients of some terms."""
    sites, column = np.array(list(held), dtype=np.intp), terms[:, 1]
    rows = np.array(list(held.values())).reshape(len(sites), shape[0])
    at = {s: place for place, s in enumerate(held)}
    place = np.array([at[int(s)] for s in terms[:, 0]], dtype=np.intp)

    def expanded(beta: Floats) -> tuple[Floats, Floats]:
        A = np.zeros((len(sites), shape[1]))
        A[place, column] = beta
        return A, rows.T @ A

    def objective(z: Floats) -> tuple[float, Floats]:
        A, F = expanded(z[: len(terms)])
        w = z[len(terms) :]
        value, by_values, by_weights = risk(F, w)
        slope = F[sites] + rows @ by_values  # inner products of the gradient with the terms
        return value + 0.5 * float(np.vdot(A, F[sites]) + w @ w), np.append(slope[place, column], w + by_weights)

    found = minimize(
        objective,
        np.append(beta, w),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8},
    )
    beta, w = found.x[: len(terms)], found.x[len(terms) :]
    return expanded(beta)[1], w, beta, float(found.fun)
