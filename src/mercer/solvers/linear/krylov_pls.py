"""Partial least squares from products with the Gram matrix alone: NIPALS and its Krylov form, degrees of freedom.

Symbols: K the centred, weighted Gram matrix, Y centred, weighted targets, T orthonormal scores, R their directions with
T = K R, so that the fitted values are T T^T Y = K (R T^T Y).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status
from mercer.solvers.solver import Monitor

__all__ = ["Centring", "Components", "degrees_of_freedom", "lanczos", "nipals"]

Thin = Callable[[Floats], Floats]


class Centring:
    r"""The Gram matrix of centred features, scaled by the square roots of the weights, as an operator.

    .. math:: D^{1/2} P K P^\top D^{1/2}, \qquad P = I - 1 w^\top / W, \quad D = \mathrm{diag}(w)

    A sample of weight w stands for w copies: the eigenvalues that are not zero are those of the copies.

    Seed: [SS] Eqs. (65)-(66), with weights.

    Parameters
    ----------
    gram : Gram
        Anything that multiplies as K does.
    weight : (n,) array
        Non-negative; a sample of weight zero is left out.

    Examples
    --------
    >>> Centring(np.array([[1.0, 3.0], [3.0, 9.0]]), np.ones(2)) @ np.array([1.0, -1.0])
    array([ 2., -2.])
    """

    def __init__(self, gram: Any, weight: Floats) -> None:
        self.gram, self.weight, self.root, self.total = gram, weight, np.sqrt(weight), float(weight.sum())

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        product = self.function(V)
        return _by_rows(self.root, product - self.mean(product))

    def function(self, V: Floats) -> Floats:
        """Values at the samples of the functions whose coefficients are root * V, made to sum to zero."""
        coef = _by_rows(self.root, V)
        return np.asarray(
            self.gram @ (coef - _by_rows(self.weight, np.ones_like(coef)) * (coef.sum(axis=0) / self.total))
        )

    def mean(self, F: Floats) -> Any:
        """Weighted means of values at the samples."""
        return self.weight @ F / self.total

    def centred(self, Y: Floats) -> tuple[Floats, Any]:
        """Return targets centred and scaled, and their means."""
        mean = self.mean(Y)
        return _by_rows(self.root, Y - mean), mean


def _by_rows(scale: Floats, V: Floats) -> Floats:
    return scale * V if V.ndim == 1 else scale[:, None] * V


@dataclass(frozen=True, eq=False)
class Components:
    """Scores, their directions and the targets' loadings.

    Attributes
    ----------
    scores : (n, m) array
        T, orthonormal.
    directions : (n, m) array
        R with T = K R.
    loadings : (m, k) array
        T^T Y.
    status : Status
        CONVERGED even where there are fewer components than asked for.
    """

    scores: Floats
    directions: Floats
    loadings: Floats
    status: Status


def nipals(
    operator: Any, Y: Floats, count: int, thin: Thin | None = None, monitor: Monitor | None = None
) -> Components:
    r"""Kernel partial least squares, one component after the other.

    .. math:: t = (I - T T^\top) K u, \qquad u = Y c, \quad c = \arg\max_{\|c\| = 1} c^\top Y^\top K Y c, \qquad
        Y \leftarrow Y - t t^\top Y

    Seed: [KIKS] Section 4.1.2; [ST] "Subspace methods" (directions of largest covariance with the target).

    Parameters
    ----------
    operator : object with products
        K, centred.
    Y : (n, k) array
        Targets, centred.
    count : int
        Most components.
    thin : callable, optional
        Makes the coefficients u of a direction sparse; it sees nothing else.
    monitor : callable, optional
        Called as ``monitor(component, rest)`` with the share of Y that is left.

    Returns
    -------
    components : Components

    Notes
    -----
    The usual inner iteration is the power method for c; here c is found from the k x k matrix. Deflated matrices are
    never formed: one product with K for each component, and one with all targets at the start.

    Examples
    --------
    >>> found = nipals(np.diag([2.0, 1.0]), np.array([[1.0], [1.0]]), 2)
    >>> found.directions @ found.loadings  # all components: the least-squares solution
    array([[0.5],
           [1. ]])
    """
    basis = _Basis(operator, Y, count)
    rest, product = Y.copy(), np.asarray(operator @ Y)
    while basis.more:
        c = np.linalg.eigh(rest.T @ product)[1][:, -1] if Y.shape[1] > 1 else np.ones(1)
        u = rest @ c
        if thin is None:
            Ku = product @ c
        else:
            u = thin(u)
            Ku = np.asarray(operator @ u)
        if not basis.add(u, Ku):
            break
        t = basis.last
        loading = t @ rest
        rest -= np.outer(t, loading)
        product -= np.outer(np.asarray(operator @ t), loading)
        if basis.asked_to_stop(monitor, rest):
            break
    return basis.result(Y)


def lanczos(operator: Any, y: Floats, count: int, monitor: Monitor | None = None) -> Components:
    r"""Kernel partial least squares for one target in the Krylov space of K: the Lanczos process started at K y.

    .. math:: \min_a \|y - K a\|^2, \qquad K a \in \mathrm{span}\{K y, K^2 y, \dots, K^m y\}

    Seed: [KIKS] Section 4.1.2; departs from the printed span and from "CG on :math:`K^2 a = K y`": plain conjugate
    gradients on K^2 minimise another norm.

    Parameters
    ----------
    operator : object with products
        K, centred.
    y : (n, 1) array
        The target, centred.
    count : int
        Most components.
    monitor : callable, optional
        As in `nipals`.

    Returns
    -------
    components : Components
        The same as those of `nipals`, up to signs.

    Notes
    -----
    One product with K for each component, and no product with the target but the first. Scores are orthogonalised twice
    against all earlier ones.

    Examples
    --------
    >>> found = lanczos(np.diag([2.0, 1.0]), np.array([[1.0], [1.0]]), 2)
    >>> found.directions @ found.loadings
    array([[0.5],
           [1. ]])
    """
    basis = _Basis(operator, y, count)
    u, rest = y[:, 0], y.copy()
    while basis.more and basis.add(u, np.asarray(operator @ u)):
        u = basis.last
        rest -= np.outer(u, u @ rest)
        if basis.asked_to_stop(monitor, rest):
            break
    return basis.result(y)


class _Basis:
    """Scores that grow one by one, orthonormal, with their directions."""

    def __init__(self, operator: Any, Y: Floats, count: int) -> None:
        n = len(Y)
        self.limit = min(count, n)
        self.T, self.R = np.zeros((n, self.limit)), np.zeros((n, self.limit))
        self.size, self.norm, self.length = 0, 0.0, float(np.linalg.norm(Y))
        self.noise = 4.0 * n * np.finfo(float).eps
        self.status = Status.CONVERGED

    @property
    def more(self) -> bool:
        return self.size < self.limit

    @property
    def last(self) -> Floats:
        return self.T[:, self.size - 1]

    def add(self, u: Floats, Ku: Floats) -> bool:
        """Orthogonalise K u against the scores; false if nothing but rounding is left of it."""
        length = float(np.linalg.norm(u))
        if length <= self.noise * self.length:
            return False
        self.norm = max(self.norm, float(np.linalg.norm(Ku)) / length)
        T, R = self.T[:, : self.size], self.R[:, : self.size]
        h = T.T @ Ku
        t = Ku - T @ h
        again = T.T @ t
        t -= T @ again
        left = float(np.linalg.norm(t))
        if not left > self.noise * self.norm * length:
            return False
        self.T[:, self.size] = t / left
        self.R[:, self.size] = (u - R @ (h + again)) / left
        self.size += 1
        return True

    def asked_to_stop(self, monitor: Monitor | None, rest: Floats) -> bool:
        """Call the monitor; return whether it wants to stop."""
        if monitor is None or not self.more:
            return False
        answer = monitor(self.size, float(np.linalg.norm(rest)) / (self.length or 1.0))
        if answer:
            self.status = answer if isinstance(answer, Status) else Status.STOPPED
        return bool(answer)

    def result(self, Y: Floats) -> Components:
        T, R = self.T[:, : self.size].copy(), self.R[:, : self.size].copy()
        return Components(T, R, T.T @ Y, self.status)


def degrees_of_freedom(eigenvalues: Floats, z: Floats, count: int) -> tuple[Floats, Floats]:
    r"""Degrees of freedom of partial least squares, the derivative included, and what each fit leaves.

    .. math:: 1 + \mathrm{tr} \, \partial \hat y_m / \partial y
        = 1 + m + \mathrm{tr}\big((I - T T^\top) q_m(K)\big) + \sum_{j \le m} (y - \hat y_m)^\top p_j(K) \, t_j

    where :math:`t_j = p_j(K) y` and :math:`\hat y_m = q_m(K) y`: the subspace depends on y, so that m components cost
    more than m.

    Seed: [KIKS] Section 4.1.2, reference [27].

    Parameters
    ----------
    eigenvalues : (n,) array
        Eigenvalues of K, centred.
    z : (n,) array
        The target in the coordinates of the eigenvectors.
    count : int
        Most components.

    Returns
    -------
    dof, rest : (m,) arrays
        For 1, ..., m components; rest is the squared length of what is left of the target.

    Notes
    -----
    Powers of K, as the formula is usually written with, lose all digits after a few components. Here the polynomials
    p_j are evaluated by the recurrence of the Lanczos process that defines them. Cost O(n m^2).

    Examples
    --------
    >>> degrees_of_freedom(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 2.0]), 1)[0]  # one component fits everything
    array([4.])
    """
    found = lanczos(_Diagonal(eigenvalues), z[:, None], count)
    T, size = found.scores, found.scores.shape[1]
    P = np.zeros_like(T)  # p_j at the eigenvalues
    dof, rest = np.zeros(size), np.zeros(size)
    for m in range(size):
        before = P[:, m - 1] if m else np.ones_like(z)
        vector = eigenvalues * (T[:, m - 1] if m else z)
        h = T[:, :m].T @ vector
        beta = float(T[:, m] @ vector)
        P[:, m] = (eigenvalues * before - P[:, :m] @ h) / beta
        c = found.loadings[: m + 1, 0]
        q, now = P[:, : m + 1] @ c, T[:, : m + 1]
        r = z - now @ c
        outside = float(np.sum(q) - np.sum(now * now * q[:, None]))
        dof[m] = 1.0 + (m + 1) + outside + float(np.sum(r[:, None] * P[:, : m + 1] * now))
        rest[m] = float(r @ r)
    return dof, rest


@dataclass(frozen=True, eq=False)
class _Diagonal:
    """A diagonal matrix as an operator."""

    values: Floats

    def __matmul__(self, V: Floats) -> Floats:
        return _by_rows(self.values, V)
