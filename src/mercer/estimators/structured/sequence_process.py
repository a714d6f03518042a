r"""Gaussian processes whose observations are sequences of labels: the mode, and a Gaussian around it.

Symbols: N positions of n training sequences, K labels, U (N, K) the latent scores of labels at positions, each column a
Gaussian process with covariance C (sums of k over the window), w (K^2,) the weights of pairs of labels, independent and
of variance one; z = (U, w), of prior covariance S; H the second derivatives of -log p(y | z) at the mode, the
covariance of what the chains count; Q = (1 + H S)^-1 H, so that the posterior covariance of z is S - S Q S.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arguments import SEED
from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Integer, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, warn_caller
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import Run
from mercer.estimators.structured.class_spaces import ClassLabels
from mercer.estimators.structured.conditional_risk import conditional_risk
from mercer.estimators.structured.label_sequences import LabelSequences
from mercer.estimators.structured.output_space import OutputSpace
from mercer.estimators.structured.structured_machine import Outputs, StructuredRisk, flattened
from mercer.gram import Dense, Gram, GramSpec
from mercer.kernels import Kernel
from mercer.networks import Chains
from mercer.networks.chain_covariance import chain_covariance
from mercer.problems import Solution, Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.smooth.functional_descent import descend

__all__ = ["GaussianProcessSequenceClassifier"]
__public__ = __all__


class GaussianProcessSequenceClassifier(StructuredRisk):
    r"""Gaussian process classification of sequences: labels of a chain, with probabilities that know what is not known.

    .. math:: p(y \mid x, u, w) \propto \exp\Bigl(\sum_t u_{y_t}(x_t) + \sum_{t > 1} W_{y_{t-1} y_t}\Bigr), \qquad
        u_k \sim \mathcal{GP}(0, k), \quad W_{ab} \sim \mathcal{N}(0, \sigma^2)

    The mode of the posterior is that of `KernelCRF` with C = 1. Around it the posterior is taken for a Gaussian
    (Laplace): probabilities of labels are averages over it, and `log_marginal_likelihood_` compares kernels.

    Seed: [HSS] Eqs. (113)-(115), Section 4.1.4, on the chains of Eq. (117); (115) is here with its one half and minus
    the log partition.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Of the positions: the covariance of each latent function, size included. None is the Gaussian at the median
        distance.
    outputs : LabelSequences or ClassLabels, optional
        With the window, and with the variance of the weights of pairs of labels, ``transition_scale``. None is
        `ClassLabels()`: sequences of one label.
    n_draws : int, default 128
        Draws of the latent scores over which probabilities are averaged, in pairs that mirror each other. Their errors
        are about 0.5 / sqrt(n_draws) at most.
    tol : float, default 1e-8
        The search stops when the norm of the gradient in the space, relative to that at zero, is below this.
    max_iter : int, default 1000
        Largest number of iterations.
    random_state : int, RandomState or None, default 0
        Of the draws; the same for every sequence.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    target_ : LabelSequences
    classes_ : array
    expansion_ : Expansion or FeatureExpansion
        The mode, one column for each label and place in the window.
    weights_ : (K^2,) array
        The mode of the weights of pairs of labels.
    log_marginal_likelihood_ : float
        The evidence, by Laplace's approximation.
    precision_ : (N K + K^2, N K + K^2) array
        Q.
    sites_, offsets_ : Samples, array
        The training positions, and where each sequence begins.
    objective_, gap_ : float
        Minus the logarithm of likelihood times prior at the mode, up to a constant, and a bound on how far it is above
        its minimum.
    n_iter_ : int

    Notes
    -----
    Cost O((N K + K^2)^3) once, in three arrays of (N K + K^2)^2 numbers: for some hundreds of positions of few labels.
    `KernelCRF` gives probabilities at the mode alone, whatever the number. A sequence of weight v counts as v copies.
    `predict` and `score` are those of the best path at the mode.

    Examples
    --------
    >>> from mercer import GaussianProcessSequenceClassifier, LabelSequences
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[[0.0], [1.0], [0.0]], [[1.0], [1.0]]], [["a", "b", "a"], ["b", "b"]]
    >>> model = GaussianProcessSequenceClassifier(9.0 * Gaussian(0.5), outputs=LabelSequences()).fit(X, y)
    >>> model.marginals([[[0.0], [100.0]]])[0].round(1)
    array([[0.8, 0.2],
           [0.5, 0.5]])
    """

    products_suffice = True
    synonyms = ("Gaussian process sequence classification",)
    constraints = {"n_draws": Integer(1), "tol": Positive(), "max_iter": Integer(1), "random_state": SEED}

    def __init__(
        self,
        kernel: Any = None,
        *,
        outputs: Any = None,
        n_draws: int = 128,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = 0,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.outputs = outputs
        self.n_draws = n_draws
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _space(self) -> OutputSpace:
        space = super()._space()
        if not isinstance(space, (ClassLabels, LabelSequences)):
            raise CapabilityError(
                f"outputs={space!r:.100} was given; covariances are known of LabelSequences() and ClassLabels(). Use "
                "KernelCRF, which has no variances."
            )
        return space

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        return Dense()

    def _represent(self, kernel: Kernel, S: Samples, run: Run, until: float = 0.5) -> Gram:
        space: Any = self.target_
        plan = self.memory_plan(len(S), getattr(S, "width", 1), len(np.asarray(space.classes)))
        plan.require(self.memory)
        return super()._represent(kernel, S, run, until)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, for this many positions and labels."""
        labels = max(n_targets, 2)
        size = n_samples * labels + (labels**2 if self._space().has_sites else 0)
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "Gram matrices": 24 * n_samples**2,
            "second derivatives": 32 * size**2,
        }
        options = ("fewer samples", "KernelCRF, which has no variances")
        return Plan(f"{type(self).__name__} on {n_samples} positions of {labels} labels", buffers, options)

    def _find(self, K: Gram, data: Outputs, run: Run) -> None:
        space, risk = self.target_, conditional_risk(data, 1.0)
        unwatched(K)
        with run.stage("mode", 0.6), serial_blas():
            monitor = run.solver_monitor(float(self.tol)) if run.watched else None
            found = descend(K, risk, space.width, space.extras, "lbfgs", self.tol, self.max_iter, monitor)
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"{type(self).__name__} stopped after {len(found.rows)} iterations with an objective that is at most "
                f"{found.gap:.3g} above its minimum. {found.status.value}",
                ConvergenceWarning,
            )
        mode = found.function
        self.expansion_, self.weights_ = K.expand(Solution(mode.B, Status.CONVERGED, 0.0)), mode.w
        self.objective_, self.gap_, self.n_iter_ = float(found.objective), float(found.gap), len(found.rows)
        self.sites_, self.offsets_ = K.samples.landmarks(), np.asarray(data.offsets)
        with run.stage("covariance", 1.0):
            U, W, root, window = self._scores(mode.F, self.offsets_, mode.w)
            prior = windowed(K.to_dense(), self.offsets_, self.offsets_, window)
            bend = _curvature(U, W, root, data, space.extras)
            self.precision_, log_determinant = _precision(bend, prior, U.shape[1])
        self.log_marginal_likelihood_ = -self.objective_ - 0.5 * log_determinant

    def _scores(self, F: Floats, offsets: Indices, w: Floats) -> tuple[Floats, Floats, float, int]:
        """Return the scores of labels and of steps, the factor of the weights in the latter, and the window."""
        space = self.target_
        if not isinstance(space, LabelSequences):
            return F, np.zeros((F.shape[1], F.shape[1])), 0.0, 0
        chains = space._chains(F, offsets, w)
        return chains.scores, chains.transitions, space._scale, int(space.window)

    def _moments(self, X: Any) -> Any:
        """Yield the mean of the scores of each sequence, (T, K), and the covariance of them and the weights."""
        F, offsets, _ = self._values(X)
        U, _, _, window = self._scores(F, offsets, self.weights_)
        K = U.shape[1]
        T = self._pack_new(flattened(X)[0] if self.target_.has_sites else X) if len(U) else None
        for a, b in pairwise(offsets):
            if T is None or a == b:
                yield U[a:b], np.zeros((0, 0))
                continue
            own, part = np.array([0, b - a]), T.take(slice(a, b))
            prior = windowed(self.kernel_.block(part, part), own, own, window)
            cross = windowed(self.kernel_.block(self.sites_, part), self.offsets_, own, window)
            cov, m = -_times_prior(_times_prior(self.precision_, cross, K).T, cross, K), (b - a) * K  # -S*' Q S*
            cov[:m, :m] += np.kron(prior, np.eye(K))
            cov[np.arange(m, len(cov)), np.arange(m, len(cov))] += 1.0
            yield U[a:b], 0.5 * (cov + cov.T)

    def predict_latent(self, X: Any) -> list[tuple[Floats, Floats]]:
        """Return means and variances of the scores of labels, two (T, K) arrays for each sequence.

        Parameters
        ----------
        X : list of sequences
        """
        out = []
        for mean, cov in self._moments(X):
            out.append((mean, np.maximum(np.diag(cov)[: mean.size], 0.0).reshape(mean.shape)))
        return out

    def marginals(self, X: Any) -> list[Floats]:
        """Return the probability of each label at each position, one (T, K) array per sequence.

        They are averages over the posterior, so that none is more certain than the data allow.

        Parameters
        ----------
        X : list of sequences
        """
        half, out = -(-int(self.n_draws) // 2), []
        for mean, cov in self._moments(X):
            values, vectors = np.linalg.eigh(cov)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            moves = check_random_state(self.random_state).standard_normal((half, len(cov))) @ root.T
            moves, m = np.concatenate([moves, -moves]), mean.size
            out.append(self._average(mean + moves[:, :m].reshape(2 * half, *mean.shape), moves[:, m:]) if m else mean)
        return out

    def _average(self, scores: Floats, moves: Floats) -> Floats:
        """Return the mean over draws of the marginals, for scores (draws, T, K) and changes of the weights."""
        space = self.target_
        if not isinstance(space, LabelSequences):
            return softmax(scores, axis=2).mean(axis=0)
        total, K, ends = np.zeros(scores.shape[1:]), space.n_labels, np.array([0, scores.shape[1]])
        for U, w in zip(scores, self.weights_ + moves, strict=True):
            total += Chains(U, space._scale * w.reshape(K, K), ends, np.zeros(K)).sums().marginals
        return total / len(scores)


def windowed(K: Floats, rows: Indices, columns: Indices, r: int) -> Floats:
    """Return the sums over |delta| <= r of K at (s + delta, t + delta), where both are inside their sequences."""
    if r == 0:
        return K
    out = np.zeros_like(K)
    for delta in range(-r, r + 1):
        left, right = _inside(rows, delta), _inside(columns, delta)
        out[np.ix_(left, right)] += K[np.ix_(left + delta, right + delta)]
    return out


def _inside(offsets: Indices, delta: int) -> Indices:
    """Return the positions t whose t + delta is in the same sequence."""
    t = np.arange(offsets[-1])
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    moved = t + delta
    good = (moved >= offsets[owner]) & (moved < offsets[owner + 1])
    return t[good]


def _curvature(U: Floats, W: Floats, root: float, data: Outputs, extras: int) -> Floats:
    """Return H: blocks of sequences, which the weights of pairs join."""
    K, states = U.shape[1], U.size
    H, pairs = np.zeros((states + extras, states + extras)), np.arange(states, states + extras)
    for (a, b), weight in zip(pairwise(data.offsets), data.weight, strict=True):
        if b > a:
            places, m = np.concatenate([np.arange(a * K, b * K), pairs]), (b - a) * K
            scale = np.concatenate([np.ones(m), np.full(extras, root)])
            found = chain_covariance(U[a:b], W)[: m + extras, : m + extras]
            H[np.ix_(places, places)] += weight * scale[:, None] * found * scale
    return H


def _times_prior(A: Floats, C: Floats, K: int) -> Floats:
    """Return A S for S = diag(C x 1_K, 1): columns of A by position and label, then by weight."""
    N, T = C.shape
    scores = A[:, : N * K].reshape(len(A), N, K)
    out = np.einsum("ink,nt->itk", scores, C, optimize=True).reshape(len(A), T * K)
    return np.concatenate([out, A[:, N * K :]], axis=1)


def _precision(H: Floats, C: Floats, K: int) -> tuple[Floats, float]:
    """Return Q = (1 + H S)^-1 H = L (1 + L' S L)^-1 L' for H = L L', and log det(1 + H S) = log det(1 + L' S L).

    The symmetric form is stable however large S is: no eigenvalue of 1 + L' S L is less than one.
    """
    (factorise,) = get_lapack_funcs(("pstrf",), (H,))  # with pivots, as far as H is positive
    U, pivots, rank, _ = factorise(H, lower=0)
    L = np.zeros((len(H), rank))
    L[pivots - 1] = np.triu(U)[:rank].T
    inner = _times_prior(L.T, C, K) @ L
    inner = 0.5 * (inner + inner.T)
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, 0.0)  # negative ones are rounding
    half = L @ vectors / np.sqrt(1.0 + values)
    return half @ half.T, float(np.sum(np.log1p(values)))
