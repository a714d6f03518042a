r"""Support vector machines on part of a Gram matrix that is held: no copy of K, and a start that need not be far off.

Symbols: beta the variables, g = K beta + p the gradient, of all n samples; those that are left out have an empty box,
lower = upper = 0, so that they never move, and g + y is their decision value without the bias. A variable *can go up*
below the upper end of its box and *down* above the lower one; m the smallest gradient of those that can go up, M the
largest of those that can go down; M - m <= tol is optimality. F the free variables, inside their boxes.

One call serves one cost; the next cost starts from the *predicted* solution: variables at an end of their box go to the
new end, and the free ones follow so that their gradients stay equal, K_FF d + c = -K_FB d_B with 1^T d = -1^T d_B.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled
from mercer.solvers.box.face import _bend
from mercer.solvers.box.two_variables import _descend64

__all__ = ["follow_cost", "gradient", "move_free", "settle"]

_PART = 0.6  # of the variables that may move: a larger working set is all of them, in place
_INNER = 0.1  # of the violation, to which a working set is solved
_FEWEST = 500  # pairs that take as long as a step on few free variables
_DENSER = 40  # how many operations of a factorisation take as long as one of the descent by pairs
_LARGEST = 1000  # free variables that are solved for together
_FOLLOWED = 400  # free variables that are followed to the next cost by a linear system
_ROUNDS = 200  # working sets; then STALLED
_CUTS = 20  # times that what was cut off a step is spread over the rest
_JITTER = 1e-9  # of the mean diagonal, on that of a free block: it only gives a direction


def settle(
    K: Floats, g: Floats, beta: Floats, box: tuple[Floats, Floats], tol: float, steps: int = 10_000_000
) -> float:
    """Minimise beta^T K beta / 2 + p^T beta over a box and a fixed sum, in place; return the violation that is left.

    Parameters
    ----------
    K : (n, n) array, float32 or float64
        C-contiguous, symmetric.
    g : (n,) array, float64
        K beta + p, kept up to date.
    beta : (n,) array, float64
        A feasible point.
    box : two (n,) arrays
        Ends; equal ones keep a variable where it is.
    tol : float
        Violation at which to stop.
    steps : int
        The most pairs to move.

    Examples
    --------
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> K, g, beta = np.multiply.outer([-2.0, -1.0, 1.0, 2.0], [-2.0, -1.0, 1.0, 2.0]), -y, np.zeros(4)
    >>> settle(K, g, beta, (np.minimum(9 * y, 0.0), np.maximum(9 * y, 0.0)), 1e-9) <= 1e-9, beta.round(6) + 0.0
    (True, array([ 0. , -0.5,  0.5,  0. ]))
    """
    return float(_settle(K, g, beta, box, (tol, steps)))


def follow_cost(K: Floats, g: Floats, beta: Floats, box: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> None:
    """Move a solution for one box to near that for a wider one, in place.

    Parameters
    ----------
    K, g, beta : as for `settle`
    box, new : two (n,) arrays each
        The box of the solution, and the next, with ends that are multiples of the old ones.
    """
    _follow(K, g, beta, box, new)


def gradient(K: Floats, beta: Floats, p: Floats) -> Floats:
    """K beta + p, by the rows of variables that are not zero."""
    g = np.array(p, dtype=np.float64)
    _add_rows(g, K, beta)
    return g


def move_free(K: Floats, g: Floats, beta: Floats, box: tuple[Floats, Floats]) -> None:
    """Move the free variables to their optimum together, in place: near the solution, that is the solution.

    Parameters
    ----------
    K, g, beta, box : as for `settle`
    """
    _move_free(K, g, beta, box)


@compiled
def _ends(g, beta, box):
    """Return m, M and the number of free variables."""
    m, M, free = np.inf, -np.inf, 0
    for k in range(g.size):
        up, down = beta[k] < box[1][k], beta[k] > box[0][k]
        if up and g[k] < m:
            m = g[k]
        if down and g[k] > M:
            M = g[k]
        free += up and down
    return m, M, free


@compiled
def _add_row(g, row, times):
    for k in range(g.size):
        g[k] += times * row[k]


@compiled
def _add_rows(g, K, beta):
    for k in range(beta.size):
        if beta[k] != 0.0:
            _add_row(g, K[k], beta[k])


@compiled
def _settle(K, g, beta, box, limits):
    n = g.size
    tol, left_steps = limits
    movable = 0
    for k in range(n):
        movable += box[0][k] < box[1][k]
    old = np.empty(n)
    gap = np.inf
    for _ in range(_ROUNDS):
        m, M, free = _ends(g, beta, box)
        gap = M - m
        if not gap > tol or left_steps <= 0:
            return gap
        W = np.empty(n, np.int64)
        q = 0
        for k in range(n):
            up, down = beta[k] < box[1][k], beta[k] > box[0][k]
            if (up and down) or (up and g[k] < M) or (down and g[k] > m):
                W[q] = k
                q += 1
        patience = min(2 * q + free * free * free // (_DENSER * q) + _FEWEST, left_steps)
        goal = max(_INNER * gap, 0.5 * tol)
        if q > _PART * movable:
            for k in range(n):
                old[k] = beta[k]
            taken = _descent(K, g, beta, box, goal, patience)
            for k in range(n):
                if beta[k] != old[k]:
                    _add_row(g, K[k], beta[k] - old[k])
        else:
            block = np.empty((q, q), K.dtype)
            own, mine = np.empty(q), np.empty(q)
            low, high = np.empty(q), np.empty(q)
            for a in range(q):
                row = K[W[a]]
                for b in range(q):
                    block[a, b] = row[W[b]]
                own[a], mine[a] = g[W[a]], beta[W[a]]
                low[a], high[a] = box[0][W[a]], box[1][W[a]]
            taken = _descent(block, own, mine, (low, high), goal, patience)
            for a in range(q):
                k = W[a]
                if mine[a] != beta[k]:
                    _add_row(g, K[k], mine[a] - beta[k])
                    beta[k] = mine[a]
        left_steps -= taken
        if taken >= patience:
            _move_free(K, g, beta, box)
    return gap


@compiled
def _descent(K, g, beta, box, goal, steps):
    """Move pairs of variables, and return how many; g is not changed."""
    diagonal = np.empty(g.size)
    for k in range(g.size):
        diagonal[k] = K[k, k]
    return _descend64(K, diagonal, g.copy(), beta, box, np.array([0, g.size], np.int64), (goal, steps))[0]


@compiled
def _free_block(K, F, right, total):
    """Solve K_FF d + c = right with sum d = total."""
    f = F.size
    A = np.empty((f + 1, f + 1))
    b = np.empty(f + 1)
    size = 0.0
    for i in range(f):
        row = K[F[i]]
        for j in range(f):
            A[i, j] = row[F[j]]
        size += A[i, i]
        A[i, f] = A[f, i] = 1.0
        b[i] = right[i]
    for i in range(f):
        A[i, i] += _JITTER * size / f
    A[f, f], b[f] = 0.0, total
    return np.linalg.solve(A, b)[:f]


@compiled
def _move_free(K, g, beta, box):
    """Move all free variables towards their optimum, bent where a box ends."""
    n = g.size
    free = (beta > box[0]) & (beta < box[1])
    F = np.flatnonzero(free)
    if F.size < 2 or F.size > _LARGEST:
        return
    level = np.zeros(1)
    for k in F:
        level[0] += g[k] / F.size
    right = np.empty(F.size)
    for i in range(F.size):
        right[i] = level[0] - g[F[i]]
    step = _free_block(K, F, right, 0.0)
    d, v, sums = np.zeros(n), np.zeros(n), np.zeros((1, n))
    mean = step.mean()
    for i in range(F.size):
        if not np.isfinite(step[i]):
            return
        d[F[i]] = step[i] - mean
        _add_row(v, K[F[i]], step[i] - mean)
        _add_row(sums[0], K[F[i]], 1.0)
    _bend(K, g, beta, box, free, (np.zeros(n, np.int64), level), (d, v, sums))


@compiled
def _follow(K, g, beta, box, new):
    n = g.size
    change, total, bound = np.zeros(n), 0.0, 0
    free = (beta > box[0]) & (beta < box[1])
    F = np.flatnonzero(free)
    for k in range(n):
        if not free[k] and beta[k] != 0.0:
            change[k] = (new[1][k] if beta[k] > 0.0 else new[0][k]) - beta[k]
            total += change[k]
            bound += 1
    if bound == 0:
        return  # the same solution
    r = np.zeros(n)
    for k in range(n):
        if change[k] != 0.0:
            _add_row(r, K[k], change[k])
    done = False
    if 0 < F.size <= _FOLLOWED:
        right = np.empty(F.size)
        for i in range(F.size):
            right[i] = -r[F[i]]
        d = _free_block(K, F, right, -total)
        done = _fitted(beta, F, d, new)
        if done:
            for i in range(F.size):
                change[F[i]] = d[i]
    if not done and F.size:
        d = np.full(F.size, -total / F.size)
        done = _fitted(beta, F, d, new)
        if done:
            for i in range(F.size):
                change[F[i]] = d[i]
    if not done:  # all by the same ratio, which keeps the sum
        ratio = 1.0
        for k in range(n):
            if not free[k] and beta[k] != 0.0:
                ratio = 1.0 + change[k] / beta[k]
        for i in range(F.size):
            change[F[i]] = (ratio - 1.0) * beta[F[i]]
    for i in range(F.size):
        _add_row(r, K[F[i]], change[F[i]])
    for k in range(n):
        g[k] += r[k]
        if not free[k] and beta[k] != 0.0:
            beta[k] = new[1][k] if beta[k] > 0.0 else new[0][k]
        else:
            beta[k] += change[k]


@compiled
def _fitted(beta, F, d, new):
    """Cut a step of the free variables off at their boxes, with the same sum; False if there is no room for it."""
    for i in range(F.size):
        if not np.isfinite(d[i]):
            return False
    inside = np.empty(F.size, np.bool_)
    for _ in range(_CUTS):
        lost, room = 0.0, 0
        for i in range(F.size):
            k = F[i]
            to = beta[k] + d[i]
            cut = min(max(to, new[0][k]), new[1][k])
            inside[i] = new[0][k] < cut and cut < new[1][k]
            room += inside[i]
            if cut != to:
                lost += to - cut
                d[i] = cut - beta[k]
        if lost == 0.0:
            return True
        if room == 0:
            return False
        for i in range(F.size):
            if inside[i]:
                d[i] += lost / room
    return False
