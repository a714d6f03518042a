"""Kernels between linear dynamical systems, given or learned from series: Binet-Cauchy in time.

Symbols: x_{t+1} = A x_t, y_t = C x_t; lambda the decay; O = (C; sqrt(lambda) C A; lambda C A^2; ...) what is observed
of the states from now on; M = O^T O' = sum_t lambda^t (A^T)^t C^T C' A'^t, which solves M = lambda A^T M A' + C^T C'.

M is found by doubling: with F = sqrt(lambda) A and M_0 = C^T C', M_{k+1} = M_k + (F^(2^k))^T M_k F'^(2^k) is the sum of
2^(k+1) terms. The powers are computed once per system.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Fixed, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Whole
from mercer.domains.sequences import Sequences
from mercer.domains.systems import Systems, are_systems
from mercer.errors import DomainError
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.kernel import Tiled, term_grain
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["DynamicalSystem", "identify"]
__public__ = ["DynamicalSystem"]

_NANOSECONDS = 2e7  # of a tile
_VANISHED = 1e-20  # powers of this size add nothing
_DOUBLINGS = 64
_RANK = 1e-10  # of the largest eigenvalue of M below which a state is not seen in the outputs


@dataclass(frozen=True, eq=False)
class _Ready:
    """Outputs, powers of transitions, and initial states of systems, as the sums over time need them."""

    outputs: Floats  # (n, d, s)
    powers: Floats  # (n, K, s, s)
    states: Floats  # (n, s)
    sizes: Indices  # (n,)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.outputs.nbytes + self.powers.nbytes + self.states.nbytes + self.sizes.nbytes

    def take(self, index: slice | Indices) -> _Ready:
        """Return some of the systems."""
        return _Ready(self.outputs[index], self.powers[index], self.states[index], self.sizes[index])


class DynamicalSystem(Tiled):
    r"""Kernel on linear dynamical systems: their future outputs are compared, later times counting less.

    .. math:: k(S, S') = \sum_{t \ge 0} \lambda^t \, y_t^\top y'_t = x_0^\top M x'_0
        \qquad\text{or}\qquad \frac{\det(M_{SS'})^2}{\det(M_{SS}) \det(M_{S'S'})},
        \qquad M = \lambda A^\top M A' + C^\top C'

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces" (Binet-Cauchy kernels, subspace angles between models);
    [SS] Section 6.4, "Graph Kernels and Dynamical Systems".

    Parameters
    ----------
    states : int, default 5
        The number of states of a system that is learned from a series; fewer where the series needs no more.
    decay : float, default 0.9
        The factor lambda for each step of time, between 0 and 1.
    kind : {"trace", "determinant"}, default "trace"
        "trace" compares the outputs themselves, and so where systems begin. "determinant" compares the subspaces of all
        outputs that the systems can have, whatever the initial states: the product of the squared cosines of their
        principal angles.
    lags : int, optional
        How many consecutive outputs are taken together when a system is learned from a series: at least as many as
        make its states visible. By default 2 states / outputs, rounded up.

    Notes
    -----
    Domain Systems, or series (as `Sequences` take them), which are turned into systems by `identify`. Given systems
    with lambda rho(A)^2 >= 1, whose sums over time do not converge, are refused; those learned are slowed down.
    Positive definite of order 0: the first form is a dot product of outputs, the second the squared dot product of the
    minors of O (Binet and Cauchy), divided by lengths; neither depends on the basis of the states. Not strict: systems
    with the same outputs are alike. The determinant is normalised; systems with different numbers of visible states
    have 0, and those without outputs are alike. No features, nothing to differentiate. Cost a pair by doubling
    O(s^3 log(1 / (1 - lambda))); to learn a system O(T d lags min(T, d lags)).

    If A is the adjacency matrix of a graph, x_0 where walks begin and C where they end, y_t counts walks of t steps,
    and "trace" is the geometric random walk kernel of unlabelled graphs with weight lambda.

    Examples
    --------
    >>> half, third = ([[0.5]], [[1.0]], [1.0]), ([[1 / 3]], [[1.0]], [1.0])
    >>> DynamicalSystem(decay=0.6)([half], [half, third]).round(3)  # 1 / (1 - 0.6 / 4), 1 / (1 - 0.6 / 6)
    array([[1.176, 1.111]])
    >>> t = np.arange(30.0)
    >>> waves = [np.cos(0.3 * t), np.sin(0.3 * t), np.cos(0.6 * t)]
    >>> DynamicalSystem(2, kind="determinant")(waves).round(3)  # one frequency, whatever the phase, and another
    array([[1.  , 1.  , 0.01],
           [1.  , 1.  , 0.01],
           [0.01, 0.01, 1.  ]])
    """

    domain = Systems
    formula = r"\sum_t \lambda^t \langle y_t, y'_t \rangle"
    cost = "O(s^3 log(1 / (1 - lambda))) a pair"
    constraints = {
        "states": Integer(1),
        "decay": Fixed(Interval(0.0, 1.0, closed="neither")),
        "kind": OneOf("trace", "determinant"),
        "lags": Optional(Integer(1)),
    }

    def __init__(self, states: int = 5, decay: float = 0.9, kind: str = "trace", lags: int | None = None) -> None:
        self.states = states
        self.decay = decay
        self.kind = kind
        self.lags = lags

    # data -------------------------------------------------------------------------------------------

    @derived
    def part(self) -> Hashable:
        """The systems learned with these numbers: other kernels of a sum may read the series themselves."""
        return Whole(("systems", self.states, self.lags))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the systems."""
        return {self.part: self.pack}

    def pack(self, X: Any) -> Samples:
        """Turn matrices, or series, into Systems."""
        if are_systems(X):
            return Systems.pack(X)
        S = Sequences.pack(X)
        found = []
        for i in range(len(S)):
            try:
                found.append(identify(S.series(i), int(self.states), self.lags))
            except DomainError as error:
                raise type(error)(f"Sample {i}: {error}") from error
        return Systems.assembled(found)

    @property
    def _key(self) -> str:
        return f"system:{self.kind}:{self.decay}"

    def _prepare(self, A: Samples) -> Samples:
        """Compute powers of transitions and, for determinants, states that are orthonormal as far as they are seen."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Systems)
        radius = _radii(A.transitions)
        if bool((self.decay * radius**2 >= 1.0).any()):
            i = int(np.flatnonzero(self.decay * radius**2 >= 1.0)[0])
            raise DomainError(
                f"System {i} grows by the factor {radius[i]:.4g} a step, faster than decay={self.decay:g} makes up "
                f"for; decay must be less than {radius[i] ** -2:.4g}. Lower the decay."
            )
        outputs, F, states, sizes = A.outputs, np.sqrt(self.decay) * A.transitions, A.states, A.sizes
        ready = _Ready(outputs, _powers(F), states, sizes)
        if self.kind == "determinant":
            T, back, sizes = _visible(_own(ready))
            ready = _Ready(outputs @ T, _powers(back @ F @ T), np.zeros((len(A), T.shape[2])), sizes)
        return A.with_derived(self._key, ready)

    def _prepared(self, A: Samples) -> _Ready:
        return self.prepare(A).derived[self._key]

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        A, B = comparison.A, comparison.B
        if not isinstance(A, Systems) or not isinstance(B, Systems):
            return term_grain(self, comparison)
        (K, s), (L, r) = ((ready.powers.shape[1], ready.powers.shape[2]) for ready in map(self._prepared, (A, B)))
        each = 100.0 + s * r * (A.width + 2.0 * (s + r) * min(K, L))
        return max(1, int(np.sqrt(_NANOSECONDS / each)))

    # numbers ----------------------------------------------------------------------------------------

    def tile(self, view: View) -> Floats:
        """Solve for M of all pairs, then compare initial states or take determinants."""
        A, B = view.collections
        assert isinstance(A, Systems) and isinstance(B, Systems)
        A.require_like(B)
        left, right = self._prepared(A).take(view.rows), self._prepared(B).take(view.columns)
        M = _gramians(left, right)
        out = view.empty()
        if self.kind == "trace":
            np.einsum("ia,ijab,jb->ij", left.states, M, right.states, out=out, optimize=True)
            return out
        out.fill(0.0)
        for q in np.intersect1d(left.sizes, right.sizes):
            i, j = np.ix_(left.sizes == q, right.sizes == q)
            out[i, j] = np.linalg.det(M[i, j, :q, :q]) ** 2 if q else 1.0
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squared outputs, or one."""
        if self.kind == "determinant":
            return np.ones(len(A))
        ready = self._prepared(A)
        return np.einsum("na,nab,nb->n", ready.states, _own(ready), ready.states)

    @derived
    def normalised(self) -> bool:
        """Whether determinants are compared."""
        return self.kind == "determinant"

    @derived
    def bounded(self) -> bool:
        """Whether determinants are compared."""
        return self.kind == "determinant"


# ---------------------------------------------------------------------- sums over time


def _radii(A: Floats) -> Floats:
    """Return the largest absolute eigenvalues."""
    return np.abs(np.linalg.eigvals(A)).max(axis=1, initial=0.0)


def _powers(F: Floats) -> Floats:
    """Return F^(2^k) for k = 0, 1, ... until all of them have vanished, (n, K, s, s)."""
    found, P = [], F
    while len(found) < _DOUBLINGS and np.abs(P).max(initial=0.0) > _VANISHED:
        found.append(P)
        P = P @ P
    return np.ascontiguousarray(np.stack(found, axis=1)) if found else np.zeros((len(F), 0, *F.shape[1:]))


def _own(ready: _Ready) -> Floats:
    """Return M of each system with itself, (n, s, s)."""
    M = ready.outputs.transpose(0, 2, 1) @ ready.outputs
    for P in np.moveaxis(ready.powers, 1, 0):
        M = M + P.transpose(0, 2, 1) @ M @ P
    return 0.5 * (M + M.transpose(0, 2, 1))


def _visible(M: Floats) -> tuple[Floats, Floats, Indices]:
    """Return T and its left inverse, such that T^T M T is the identity on the states seen, and their number."""
    values, vectors = np.linalg.eigh(M)
    values, vectors = values[:, ::-1], vectors[:, :, ::-1]
    seen = values > _RANK * np.maximum(values[:, :1], np.finfo(float).tiny)
    root = np.sqrt(np.where(seen, values, 1.0))
    T = np.where(seen, 1.0 / root, 0.0)[:, None, :] * vectors
    back = (np.where(seen, root, 0.0)[:, None, :] * vectors).transpose(0, 2, 1)
    return np.ascontiguousarray(T), np.ascontiguousarray(back), seen.sum(axis=1)


def _gramians(left: _Ready, right: _Ready) -> Floats:
    """Return M of all pairs, (n, m, s, s')."""
    (n, d, s), (m, _, r) = left.outputs.shape, right.outputs.shape
    C = left.outputs.transpose(0, 2, 1).reshape(n * s, d) @ right.outputs.transpose(1, 0, 2).reshape(d, m * r)
    M = np.ascontiguousarray(C.reshape(n, s, m, r).transpose(0, 2, 1, 3))
    K = min(left.powers.shape[1], right.powers.shape[1])
    if K and M.size:
        powers = (np.ascontiguousarray(side.powers[:, :K]) for side in (left, right))
        _double(*powers, np.empty((s, r)), M)
    return M


@compiled
def _double(powers, others, N, M):
    """Add (F^(2^k))^T M F'^(2^k) to M for k = 0, 1, ..., for all pairs."""
    s, r = N.shape
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            for k in range(powers.shape[1]):
                P, Q, G = powers[i, k], others[j, k], M[i, j]
                for a in range(s):
                    N[a] = 0.0
                    for c in range(r):
                        for b in range(r):
                            N[a, b] += G[a, c] * Q[c, b]
                for c in range(s):
                    for a in range(s):
                        for b in range(r):
                            G[a, b] += P[c, a] * N[c, b]


# ---------------------------------------------------------------------- learning a system


def identify(series: Floats, states: int, lags: int | None = None) -> tuple[Floats, Floats, Floats]:
    r"""Learn a linear dynamical system from a series of outputs, by the singular values of its Hankel matrix.

    .. math:: H = (y_t; y_{t+1}; \dots; y_{t+h-1})_t \approx U \Sigma V^\top, \quad X = \Sigma V^\top, \quad
        C = U_{1:d}, \quad A = X_{2:} X_{:-1}^+, \quad x_0 = X_1

    Seed: [SS] Section 6.4 names the work on dynamic scenes whose method this is, there for h = 1.

    Parameters
    ----------
    series : (T, d) array
    states : int
        s, the number of states at most; fewer if the matrix has lower rank.
    lags : int, optional
        h; by default 2 states / d, rounded up.

    Returns
    -------
    A : (s, s) array
        Divided by its spectral radius if that is greater than one.
    C : (d, s) array
    x : (s,) array

    Notes
    -----
    The outputs of a system with s states that are seen within h steps are matched up to rounding, if there are enough
    of them. Nothing is subtracted: a constant is a state of its own.

    Examples
    --------
    >>> A, C, x = identify(np.array([[8.0], [4.0], [2.0], [1.0]]), 1)
    >>> A.round(12), (C @ x).round(12)
    (array([[0.5]]), array([8.]))
    """
    Y = np.asarray(series, dtype=float)
    T, d = Y.shape
    h = -(-2 * states // d) if lags is None else int(lags)
    if h > T:
        raise DomainError(
            f"A series of {T} points was given; to look at {h} outputs together, as many are needed. Give longer "
            "series, fewer states, or lags of at most their length."
        )
    H = np.lib.stride_tricks.sliding_window_view(Y, h, axis=0).transpose(2, 1, 0).reshape(h * d, T - h + 1)
    U, singular, V = np.linalg.svd(H, full_matrices=False)
    r = min(states, int(np.count_nonzero(singular > max(H.shape) * np.finfo(float).eps * singular[0])))
    X = singular[:r, None] * V[:r]
    A = np.linalg.lstsq(X[:, :-1].T, X[:, 1:].T, rcond=None)[0].T if r and h < T else np.zeros((r, r))
    radius = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
    return A / max(1.0, radius), U[:d, :r], X[:, 0]
