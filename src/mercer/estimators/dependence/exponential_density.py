r"""Exponential densities: the logarithm of the density is a function of the kernel's space, up to its normaliser.

Symbols: x_i samples with weights w, W their sum; z_q nodes with weights nu_q of the measure; f at its optimum is
C sum_i w_i k(x_i, .) - sum_q b_q k(z_q, .) with b = C W p and p_q = nu_q exp(f(z_q) - g), so that b is looked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import qmc
from sklearn.base import DensityMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Integer, OneOf, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.gram import Expansion
from mercer.gram.gram import Cross
from mercer.kernels import Gaussian
from mercer.kernels.vectors.pointwise import dense

__all__ = ["ExponentialDensity"]
__public__ = __all__

_MARGIN = 0.25  # of the range of the samples, on each side of the default box
_TENSOR = 3  # columns up to which nodes are a grid
_HALVINGS = 40


class ExponentialDensity(DensityMixin, KernelEstimator):
    r"""Density whose logarithm is a function of the kernel's space, minus its normaliser.

    .. math:: p(x) = \exp(f(x) - g(f)), \quad g(f) = \ln \int e^{f(z)} \nu(dz), \qquad
        \min_f \; \tfrac12 \|f\|^2 + C \sum_i \bigl(g(f) - f(x_i)\bigr)

    The most probable f under a Gaussian process prior, by Newton's method. With a universal kernel these densities
    come close to any continuous one that is bounded. The measure is the counting measure on a finite set, or the volume
    in a box, where the integral is a sum over nodes of a quadrature.

    Seed: [HSS] Eqs. (100)-(102), Proposition 14.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance.
    C : float, default 1.0
        What the log-likelihood of a sample counts: large follows the samples more closely.
    method : {"likelihood", "score_matching"}, default "likelihood"
        Score matching fits the derivative of the logarithm, of which the normaliser is no part:
        :math:`\min_f \tfrac12 \|f\|^2 + C \sum_i \sum_m (\partial_m^2 f(x_i) + \tfrac12 (\partial_m f(x_i))^2)`, one
        linear system, for f on the nodes. For Gaussian kernels and densities that vanish at the ends of the box.
    support : list or array, optional
        All objects that are possible, of any kind: the density is one over them. None is a box, for vectors.
    box : (d, 2) array, optional
        Lower and upper ends of each column; None is the range of the samples and a quarter of it on each side. The
        density is zero outside.
    n_nodes : int, default 400
        Nodes of the quadrature at most: a grid of Gauss and Legendre's in up to three columns, else quasi-random ones.
    tol : float, default 1e-8
        It ends when the objective is above its minimum by no more than this, times C and the sum of weights.
    max_iter : int, default 100
        Steps of Newton's method at most.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion
        f.
    log_normaliser_ : float
        g.
    normaliser_error_ : float
        How much g changes with twice as many nodes; 0 on a finite set.
    nodes_ : Samples
    node_probabilities_ : array
        p.
    box_ : (d, 2) array or None
    objective_, gap_ : float
        The objective, and how far it is above the minimum at most.
    n_iter_ : int

    Notes
    -----
    On a finite set, samples are members of it. A sample of weight w counts as w copies. Cost O(Q^3) for a step, with Q
    nodes, and O(n Q) once.

    Examples
    --------
    >>> from mercer import ExponentialDensity
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> model = ExponentialDensity(box=[[-5.0, 5.0]]).fit(X)
    >>> grid = np.linspace(-5.0, 5.0, 1001)[:, None]
    >>> bool(abs(np.exp(model.score_samples(grid)).sum() * 0.01 - 1.0) < 1e-3)
    True
    """

    constraints = {
        "C": Positive(),
        "method": OneOf("likelihood", "score_matching"),
        "support": Optional(InstanceOf(np.ndarray, list, tuple, Samples)),
        "box": Optional(InstanceOf(np.ndarray, list, tuple)),
        "n_nodes": Integer(2),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        method: str = "likelihood",
        support: Any = None,
        box: Any = None,
        n_nodes: int = 400,
        tol: float = 1e-8,
        max_iter: int = 100,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.method = method
        self.support = support
        self.box = box
        self.n_nodes = n_nodes
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ExponentialDensity:
        """Fit the density.

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
            S = Vectors.pack(_columns(S)) if isinstance(S, Vectors) else S  # sparse ones are joined with dense nodes
            self.kernel_ = kernel.learn(S)
            prepared = self.kernel_.prepare(S)
            self.box_ = None if self.support is not None else _measurable(_box_of(self.box, S, type(self).__name__))
            nodes, volume = self._measured(1)
            self.nodes_ = self.kernel_.prepare(nodes)
            cost = float(self.C) * w
            with run.stage("Newton's method", 1.0):
                K = self._matrix(self.nodes_, self.nodes_)
                if self.method == "score_matching":
                    points, coef = self.nodes_, self._match(K, S, nodes, volume, cost)
                else:
                    given = np.asarray(Cross(self.kernel_, self.nodes_, prepared, self._resources()) @ cost)
                    own = np.asarray(Cross(self.kernel_, prepared, prepared, self._resources()) @ cost)
                    b = self._newton(K, given, volume, cost, own, run)
                    joined: Any = S
                    points, coef = self.kernel_.prepare(joined.concat(nodes)), np.concatenate([cost, -b])
            self.expansion_ = Expansion(self.kernel_, points, coef, np.asarray(0.0))
            self._judge_normaliser()
        return self

    def _judge_normaliser(self) -> None:
        """Look how much the normaliser changes with twice as many nodes."""
        self.normaliser_error_ = 0.0
        if self.box_ is not None:
            finer, volumes = self._measured(2)
            f = self.expansion_(finer, self._resources())
            self.normaliser_error_ = abs(_log_sum(f, volumes) - self.log_normaliser_)

    def _match(self, K: Floats, S: Samples, nodes: Samples, nu: Floats, cost: Floats) -> Floats:
        """Return the coefficients of f on the nodes for which the derivatives of its values match."""
        kernel: Any = self.kernel_
        if not isinstance(kernel, Gaussian) or self.support is not None:
            raise CapabilityError(
                f"method='score_matching' was given with kernel={kernel!r:.100} and support={self.support!r:.60}; "
                "second derivatives of Gaussian kernels in a box are known. Use these, or method='likelihood'."
            )
        X, Z = _columns(S), _columns(nodes)
        base, length = kernel.base()
        unit = length * (np.ones(X.shape[1]) if base.scale is None else np.asarray(base.scale))
        near = self._matrix(kernel.prepare(kernel.pack(X)), self.nodes_)
        square, slope = np.zeros_like(K), np.zeros(len(K))
        for m, size in enumerate(unit):
            u = (X[:, m, None] - Z[:, m]) / size
            first = -u / size * near
            square += first.T @ (cost[:, None] * first)
            slope += cost @ ((u**2 - 1.0) / size**2 * near)
        a = np.linalg.lstsq(K + square, -slope, rcond=None)[0]  # K is singular where nodes are near to each other
        f = K @ a
        self.objective_, self.gap_, self.n_iter_ = float(0.5 * a @ (f + square @ a) + slope @ a), 0.0, 1
        self.log_normaliser_ = _log_sum(f, nu)
        self.node_probabilities_ = nu * np.exp(f - self.log_normaliser_)
        return a

    def _matrix(self, A: Samples, B: Samples) -> Floats:
        return np.asarray(Cross(self.kernel_, A, B, self._resources()) @ np.eye(len(B)))

    def _measured(self, times: int) -> tuple[Samples, Floats]:
        """Return nodes and their weights in the measure; several times as many as asked for."""
        if self.support is not None:
            nodes = self.kernel_.pack(self.support)
            return nodes, np.ones(len(nodes))
        points, weights = quadrature(np.asarray(self.box_), times * int(self.n_nodes))
        return self.kernel_.pack(points), weights

    @np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are looked for
    def _newton(self, K: Floats, given: Floats, nu: Floats, cost: Floats, own: Floats, run: Any) -> Floats:
        """Return the coefficients of the nodes, b, at the optimum."""
        total, b = float(cost.sum()), np.zeros(len(nu))
        if not np.isfinite(K).all():
            raise DomainError("the kernel is not finite on the nodes; finite values are needed. Scale the columns.")

        def evaluated(b: Floats) -> tuple[float, Floats, float]:
            f = given - K @ b
            g = _log_sum(f, nu)
            square = float(cost @ own - 2.0 * b @ given + b @ (K @ b))
            # sum_i cost_i f(x_i) = cost' own - b' given
            return 0.5 * square + total * g - float(cost @ own - b @ given), nu * np.exp(f - g), g

        J, p, g = evaluated(b)
        gap, iteration = np.inf, 0
        for iteration in range(1, self.max_iter + 1):
            left = total * p - b  # coefficients of minus the gradient
            gap = 0.5 * float(left @ (K @ left))
            if gap <= self.tol * total or (run.watched and run.monitor(iteration / self.max_iter)):
                break
            KS = K * p - np.outer(K @ p, p)
            try:
                step = np.linalg.solve(np.eye(len(b)) + total * KS.T, left)
            except np.linalg.LinAlgError:
                step = np.full(len(b), np.nan)
            if not (np.isfinite(step).all() and np.isfinite(gap)):
                raise DomainError(
                    f"the kernel reaches {np.abs(K).max():.3g} on the nodes, where a density of the samples cannot be "
                    "told from rounding; values near one are meant. Scale the columns, or use Gaussian()."
                )
            t, slope = 1.0, -float(step @ (K @ left))
            value, q, h = evaluated(b + step)
            for _ in range(_HALVINGS):
                if value <= J + 1e-4 * t * slope or abs(value - J) <= 1e-13 * abs(J):
                    break
                t *= 0.5
                value, q, h = evaluated(b + t * step)
            b, J, p, g = b + t * step, value, q, h
        self.objective_, self.gap_, self.n_iter_ = float(J), float(gap), iteration
        self.log_normaliser_, self.node_probabilities_ = g, p
        if gap > self.tol * total:
            warn_caller(
                f"ExponentialDensity stopped after {iteration} steps with an objective that is at most {gap:.3g} above "
                "its minimum. Raise max_iter or max_time.",
                ConvergenceWarning,
            )
        return b

    def score_samples(self, X: Any) -> Floats:
        """Return the logarithm of the density at each sample, (m,); minus infinity outside the box.

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        values = self.expansion_(T, self._resources()) - self.log_normaliser_
        if self.box_ is None:
            return values
        points = _columns(T)
        inside = np.all((points >= self.box_[:, 0]) & (points <= self.box_[:, 1]), axis=1)
        return np.where(inside, values, -np.inf)

    def score(self, X: Any, y: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the sum of `score_samples`: the log-likelihood of new data."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Return random objects of the density: points of the box, (n, d), or members of the support.

        Points are drawn evenly from the box and kept with probability exp(f - max f); should a higher f turn up than
        was known, all are drawn again.

        Parameters
        ----------
        n_samples : int, default 1
        random_state : int, RandomState or None
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        if self.box_ is None:
            chosen = rng.choice(len(self.node_probabilities_), size=n_samples, p=self.node_probabilities_)
            support: Any = self.support
            return support[chosen] if isinstance(support, np.ndarray) else [support[i] for i in chosen]
        low, high = self.box_.T
        top = float(np.max(self.expansion_(self.nodes_, self._resources())))
        kept: list[Floats] = []
        while sum(map(len, kept)) < n_samples:
            points = rng.uniform(low, high, size=(max(1000, n_samples), len(low)))
            f = self.expansion_(self.kernel_.pack(points), self._resources())
            if f.max() > top:
                top, kept = float(f.max()), []
            kept.append(points[np.log(rng.uniform(size=len(f))) <= f - top])
        return np.concatenate(kept)[:n_samples]


def quadrature(box: Floats, count: int) -> tuple[Floats, Floats]:
    """Return nodes in a box, (Q, d), and weights that add up to its volume: at most `count`, but two a column."""
    width, d = box[:, 1] - box[:, 0], len(box)
    if d > _TENSOR:
        power = max(1, int(np.log2(count)))
        points = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2(power)
        return box[:, 0] + width * points, np.full(len(points), float(np.prod(width)) / len(points))
    nodes, weights = np.polynomial.legendre.leggauss(max(2, int(np.floor(count ** (1.0 / d) + 1e-9))))
    axes = [box[j, 0] + 0.5 * width[j] * (nodes + 1.0) for j in range(d)]
    grids = np.meshgrid(*axes, indexing="ij")
    shares = np.meshgrid(*[0.5 * width[j] * weights for j in range(d)], indexing="ij")
    return np.column_stack([g.ravel() for g in grids]), np.prod([s.ravel() for s in shares], axis=0)


def _columns(S: Samples) -> Floats:
    return np.asarray(dense(S), dtype=float)


def _box_of(given: Any, S: Samples, name: str) -> Floats:
    """Return the box of a density on vectors; an error says what is wrong with the one that was given."""
    if not isinstance(S, Vectors):
        raise CapabilityError(
            f"{name} was given {type(S).__name__} without a support; a box is one of vectors. Give support=, the list "
            "of all objects that are possible."
        )
    X = _columns(S)
    if given is None:
        low, high = X.min(axis=0), X.max(axis=0)
        room = np.where(high > low, _MARGIN * (high - low), 1.0)
        return np.column_stack([low - room, high + room])
    box = real_array(given, "box")
    if box.shape != (X.shape[1], 2) or not (box[:, 0] < box[:, 1]).all():
        raise ParameterError(
            f"box of shape {box.shape} was given for {X.shape[1]} columns; a row with the lower and the upper end of "
            "each column is accepted. Give box=[[low, high], ...]."
        )
    if np.any(box[:, 0] > X) or np.any(box[:, 1] < X):
        raise DomainError("some samples lie outside the box; all must lie in it. Widen the box.")
    return box


def _measurable(box: Floats) -> Floats:
    """Return a box whose volume, by columns and in all, is a number that a float can hold."""
    with np.errstate(over="ignore", under="ignore"):
        volume = float(np.prod(box[:, 1] - box[:, 0]))
    if not 0.0 < volume < np.inf:
        raise DomainError(
            f"the box around the samples has the volume {volume:g} in floating point; a positive finite one is needed. "
            "Scale the columns, for instance by StandardScaler."
        )
    return box


def _log_sum(f: Floats, weights: Floats) -> float:
    """Return the logarithm of the weighted sum of exponentials."""
    total: Any = logsumexp(f, b=weights)
    return float(total)
