r"""Decision values of a support vector machine for each sample by the machine trained on all the others.

Symbols: ``F`` the free support vectors (beta inside its box), ``N`` samples at a bound of their box whose
decision value is nearest to the margin, ``U`` = F and N together, ``i`` the sample left out, ``d`` = beta_i.
``M`` = ((K_FF + R, 1), (1', 0)), ``v_j`` = (K_Fj, 1), ``y`` = 1 or -1, g = f + R beta - y the gradient of the dual.

Take beta_i to zero and keep the sum of beta, the box and g = 0 on F. That is one linear system,

    (dbeta_F, db) = M^-1 v_i d,    df(x_i) = -d s_i,    s_i = k_ii - v_i' M^-1 v_i,

in which s_i is the squared distance of x_i from the flat through F in feature space (the span of Vapnik and
Chapelle; without ridge, 1 / [M^-1]_ii if i is in F). It is the answer if no sample arrives at the end of a box and
none crosses the margin. Otherwise those that do change roles: one that arrives is held there and may leave the
margin; one that crosses becomes free. Write u_j = dbeta_j, z_j = dg_j for j in F and u_j = dg_j, z_j = dbeta_j for j
in N; then

    u = T z + d c,    T = ((P, -W), (W', S)),    df(x_i) = c_F' z_F - c_N' z_N - d s_i,

    P = [M^-1]_FF,    W = [M^-1 V_N]_F,    S = K_NN + R_N - V_N' M^-1 V_N,

    c_F = [M^-1 v_i]_F,    c_N = -(K_Ni - V_N' M^-1 v_i),

where z = 0 for all that keep their role, and u is known for those that change it: a system of the order of their
number. All that violate their role exchange it, again and again, until none does: that is the exact minimum over U,
since T + T' is positive semi-definite. Where this does not settle, beta_i goes to zero little by little and the roles
are exchanged one after the other as their turn comes. `mercer.selection.left_out_sample` does either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats, Indices
from mercer.budget import UNLIMITED, Plan
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import HasRows
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.tiling import run_tasks, serial_blas, spans
from mercer.selection.left_out_sample import leave_out

__all__ = ["leave_one_out_decisions"]
__public__ = __all__

MOST = 1500  # samples in U, if that leaves LEAST for N; also the most in F. Up to here all values are exact
LEAST = 500
_BLUR = 1e-9  # of the mean diagonal, added to it: what is in the span of the others to this accuracy does not matter
_AT_BOUND = 1e-10  # of the width of a box
_ROOM = 1e-9  # of the width of a box: it is not left by less than this
_BLOCK = 512  # rows of K at a time
_CHUNK = 16  # samples in one compiled call, some milliseconds each at worst
_SMALL = 2**15  # samples times |U| that are not worth a thread


def leave_one_out_decisions(
    gram: Any,
    beta: Floats,
    lower: Floats,
    upper: Floats,
    values: Floats,
    ridge: float | Floats = 0.0,
    bias: bool = True,
    left_out: Floats | None = None,
) -> Floats:
    r"""Decision value of each sample by the support vector classifier trained on all the others.

    .. math:: f_{-i}(x_i) = f(x_i) - \beta_i \Bigl(k_{ii} -
              \begin{pmatrix} K_{Fi} \\ 1 \end{pmatrix}^{\!\top}
              \begin{pmatrix} K_{FF} + R & 1 \\ 1^\top & 0 \end{pmatrix}^{-1}
              \begin{pmatrix} K_{Fi} \\ 1 \end{pmatrix}\Bigr)

    as long as the set F of free support vectors (without i) stays as it is; where it does not, those that leave or
    enter it are found and the formula is corrected, as the head of the module derives. Samples with
    :math:`\beta_i = 0` keep their value exactly.

    Seed: [SS] Section 5, the span.

    Parameters
    ----------
    gram : Gram
        K of the n samples; its rows are read, K is never held as a whole.
    beta : (n,) array
        Solution of the dual in signed variables, :math:`f = K \beta + b`.
    lower, upper : (n,) arrays
        Its box, on one side of zero: [0, C w_i] for positive samples, [-C w_i, 0] for negative ones.
    values : (n,) array
        f at the samples, in units of the margin.
    ridge : float or (n,) array, default 0.0
        R, as in the squared hinge; not part of f.
    bias : bool, default True
        Whether the sum of beta is constrained, that is whether f has a bias b.
    left_out : (n,) array, optional
        By how much the width of the box of a sample shrinks when it is left out, at most all of it. None is all: the
        sample with its whole weight. The cost C of one copy makes a sample of weight 3 the same as three samples.

    Returns
    -------
    values : (n,) array

    Notes
    -----
    The values of n fits, up to the accuracy of beta, for up to 1500 samples. Of more, the free support vectors (of over
    1500 those farthest from the ends of their box) and the samples nearest to the margin (500, or as many as make it
    1500) may react; all others keep their coefficient, so that some values are a little too pessimistic. Where 200
    samples would have to change their role at once, the formula above counts.
    Without a free support vector the bias is not determined, and one sample more or less in a class moves it from
    one end of its interval to the other. The mean of the support vectors then takes the place of F: its decision
    value, and the sum of beta, are kept. If only the machine without a sample has no free support vector, its bias is
    the end of the interval that is nearest to the bias before.
    Conditionally positive definite kernels are accepted with a bias. 1e-9 of the mean diagonal is part of R, so that
    repeated samples and low-rank kernels need no jitter (for a Gram in float32, |F| times its rounding error); jitter
    beyond that is reported by a JitterWarning.
    A nu-machine is the C-machine that has beta, box and f divided by its margin.
    Cost one Cholesky factorisation of order \|F\|, two triangular solves per bounded support vector, and \|U\| kernel
    values for each; memory \|U\|^2 numbers a few times.

    References
    ----------
    Vapnik and Chapelle (2000), Bounds on error expectation for support vector machines. Opper and Winther (2000),
    Gaussian processes and SVM: mean field and leave-one-out.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[-2.0], [-1.0], [1.0], [3.0]]))  # the widest street is f(x) = x
    >>> beta = np.array([0.0, -0.5, 0.5, 0.0])
    >>> box = np.array([0.0, 0.0, 10.0, 10.0])
    >>> leave_one_out_decisions(K, beta, box - 10.0, box, np.array([-2.0, -1.0, 1.0, 3.0])).round(6) + 0.0
    array([-2.      , -0.333333,  0.      ,  3.      ])
    """
    if not isinstance(gram, HasRows):
        raise CapabilityError(
            f"Leave-one-out decision values need rows of K; {type(gram).__name__} offers only products. "
            "Use gram=Tiles() or Dense()."
        )
    machine = _Machine.of(beta, lower, upper, values, ridge, left_out)
    with serial_blas():  # the samples are shared among threads, and products of small matrices gain nothing by more
        return _left_out(gram, machine, bias)


def _left_out(gram: Any, machine: _Machine, bias: bool) -> Floats:
    out = machine.values.copy()
    moved = np.flatnonzero(machine.removed)
    if not len(moved):
        return out
    if bias and not np.any(machine.free):
        out[moved] = _from_centre(gram, machine, moved)
        return out
    universe = _Universe.of(gram, machine, bias)
    diagonal = _diagonal(gram)
    member = np.full(len(out), -1, dtype=np.intp)
    member[universe.index] = np.arange(len(universe.index))
    inside, others = moved[member[moved] >= 0], moved[member[moved] < 0]
    out[inside] += universe.without_members(member[inside], machine.removed[inside])
    for block in spans(len(others), _BLOCK):
        rows = others[block]
        out[rows] += universe.without_others(gram, rows, diagonal[rows], machine.removed[rows])
    lost = moved[np.isnan(out[moved])]
    if len(lost):
        out[lost] = _from_centre(gram, machine, lost)
    return out


@dataclass(frozen=True, eq=False)
class _Machine:
    """A trained machine: which samples are free, how far each may move, and the gradient."""

    beta: Floats
    lower: Floats
    upper: Floats
    values: Floats
    ridge: Floats
    gradient: Floats
    scale: Floats  # of beta: the width of the box, if it is finite
    free: Bools
    removed: Floats

    @classmethod
    def of(cls, beta: Any, lower: Any, upper: Any, values: Any, ridge: Any, left_out: Any) -> _Machine:
        beta, lower, upper, values = (np.array(a, dtype=np.float64) for a in (beta, lower, upper, values))
        ridge = np.broadcast_to(np.asarray(ridge, dtype=np.float64), beta.shape)
        if np.any((lower < 0.0) & (upper > 0.0)):
            raise ParameterError(
                "A box with zero inside was given; the boxes of a classifier lie on one side of zero, which tells the "
                "class. Give [0, C w] for positive and [-C w, 0] for negative samples."
            )
        y = np.sign(lower + upper)
        width = upper - lower
        scale = np.where(np.isfinite(width), width, np.max(np.abs(beta), initial=0.0))
        low, high = beta <= lower + _AT_BOUND * scale, beta >= upper - _AT_BOUND * scale
        beta = np.where(low, lower, np.where(high, upper, beta))
        gradient = values + ridge * beta - y
        # a solver stops before the signs of the gradient are all right; what is left is not the sample's doing
        gradient = np.where(low, np.maximum(gradient, 0.0), np.where(high, np.minimum(gradient, 0.0), 0.0))
        gradient[low & high] = np.inf  # an empty box
        removed = np.abs(beta)
        if left_out is not None:
            kept = width - np.minimum(np.asarray(left_out, dtype=np.float64), width)
            removed = np.maximum(removed - np.where(np.isfinite(width), kept, 0.0), 0.0)
        return cls(beta, lower, upper, values, ridge, gradient, scale, ~(low | high), y * removed)

    def choose(self) -> tuple[Indices, Indices]:
        """F and N: the samples that may react."""
        free = np.flatnonzero(self.free)
        if len(free) > MOST:
            room = np.minimum(self.beta[free] - self.lower[free], self.upper[free] - self.beta[free])
            free = np.sort(free[np.argsort(-room, kind="stable")[:MOST]])
        near = np.flatnonzero(~self.free & np.isfinite(self.gradient))
        count = max(MOST - len(free), LEAST)
        if len(near) > count:
            near = np.sort(near[np.argsort(np.abs(self.gradient[near]), kind="stable")[:count]])
        return free, near


@dataclass(frozen=True, eq=False)
class _Border:
    """The bias: K seen from the mean of F, and the last row and column of M.

    With the sum of beta kept nothing depends on the origin of feature space. The mean of F is one from which a
    conditionally positive definite kernel is positive definite, and from which no digits are lost to a large
    constant; the direction of ones, on which K~_FF then vanishes, is filled by ``level``.
    """

    means: Floats  # of the rows of K_UF
    mean: float
    level: float
    weights: Floats  # h = (K~_FF + R)^-1 1
    size: float  # 1' h; zero without a bias

    @classmethod
    def of(cls, K: Floats, count: int, bias: bool) -> _Border:
        """For K of the samples U, the first ``count`` of which are F."""
        if not bias:
            return cls(np.zeros(len(K)), 0.0, 0.0, np.zeros(count), 0.0)
        means = K[:, :count].mean(axis=1)
        mean = float(means[:count].mean())
        level = float(np.mean(np.diagonal(K)[:count] - 2.0 * means[:count])) + mean
        return cls(means, mean, level if level > 0.0 else 1.0, np.zeros(count), 0.0)

    def centre(self, K: Floats, means: Floats) -> None:
        """Replace rows of K against U by those of K~, in place; ``means`` are those of these rows over F."""
        K -= means[:, None]
        K -= self.means
        K += self.mean + self.level

    def project(self, A: Floats) -> tuple[Floats, Floats]:
        """Upper part of M^-1 v, (|F|, k), and the multipliers (1'a - 1) / 1'h, (k,), from a = (K~_FF + R)^-1 K~_F."""
        if self.size == 0.0:
            return A, np.zeros(A.shape[1])
        t = (A.sum(axis=0) - 1.0) / self.size
        return A - np.multiply.outer(self.weights, t), t


@dataclass(frozen=True, eq=False)
class _Universe:
    """The samples that may react, and how they do: T and what columns c are made of."""

    index: Indices  # U: first F, then N
    across: Floats  # K~ between N and F, (|N|, |F|)
    factor: CholeskyFactor  # of K~_FF + R
    border: _Border
    multipliers: Floats  # of N, as _Border.project gives them
    table: Floats  # the transpose of T, (p, p): its columns are what is added up
    ridge: Floats  # of U
    room: Floats  # (p, 4): how far beta may fall and rise, the gradient, the tolerance
    n_threads: int | None

    @classmethod
    def of(cls, gram: Any, machine: _Machine, bias: bool) -> _Universe:
        """Choose U, factor K~_FF and fill T."""
        free, near = machine.choose()
        index, q = np.concatenate([free, near]), len(free)
        p = len(index)
        plan = Plan(f"Leaving out one of {len(machine.beta)} samples", {"tables of those that react": 32 * p * p})
        resources = getattr(gram, "resources", UNLIMITED)
        plan.require(resources.memory)
        K, rounding = _square(gram, index)
        border = _Border.of(K, q, bias)
        border.centre(K, border.means)
        ridge = machine.ridge[index] + max(_BLUR, q * rounding) * float(np.mean(np.abs(np.diagonal(K))))
        factor = safe_cholesky(K[:q, :q].copy(), ridge[:q])
        table, across = np.empty((p, p)), K[q:, :q].copy()
        P = factor.solve(np.eye(q))
        if bias:
            h = P.sum(axis=1)
            border = replace(border, weights=h, size=float(h.sum()))
            P -= np.multiply.outer(h, h) / border.size
        A = factor.solve(across.T)
        W, t = border.project(A)
        S = K[q:, q:]
        S -= across @ A
        S += border.size * np.multiply.outer(t, t)
        np.einsum("ii->i", S)[:] += ridge[q:]
        table[:q, :q], table[:q, q:], table[q:, :q], table[q:, q:] = P, W, -W.T, S
        beta, low, high = machine.beta[index], machine.lower[index], machine.upper[index]
        room = np.column_stack([low - beta, high - beta, machine.gradient[index], _ROOM * machine.scale[index]])
        return cls(index, across, factor, border, t, table, ridge, room, resources.n_threads)

    def without_members(self, place: Indices, removed: Floats) -> Floats:
        """Change of f(x_i) for samples of U, given by their place there; NaN where nothing can make up for one."""
        q, out = len(self.factor.array), np.empty(len(place))
        for block in spans(len(place), _BLOCK):
            chosen, d = place[block], removed[block]
            fixed = chosen >= q
            columns = np.where(fixed[:, None], -self.table[chosen], 0.0)
            own = np.where(fixed, self.table[chosen, chosen] - self.ridge[chosen], -self.ridge[chosen])
            out[block] = self._settle(columns, d, chosen) - d * own
        return out

    def without_others(self, gram: Any, rows: Indices, diagonal: Floats, removed: Floats) -> Floats:
        """Change of f(x_i) for samples outside U."""
        q, border = len(self.factor.array), self.border
        K = np.array(gram.rows(rows, self.index), dtype=np.float64)
        means = K[:, :q].mean(axis=1) if border.size else np.zeros(len(rows))
        border.centre(K, means)
        A = self.factor.solve(K[:, :q].T)
        W, t = border.project(A)
        columns = np.empty_like(K)
        columns[:, :q] = W.T
        columns[:, q:] = A.T @ self.across.T - K[:, q:] - border.size * np.multiply.outer(t, self.multipliers)
        own = diagonal - 2.0 * means + border.mean + border.level
        own += border.size * t**2 - np.einsum("ij,ji->i", K[:, :q], A)
        return self._settle(columns, removed, np.full(len(rows), -1)) - removed * np.maximum(own, 0.0)

    def _settle(self, columns: Floats, removed: Floats, place: Indices) -> Floats:
        """What those that react add to f(x_i), each row of ``columns`` being c of one sample."""
        out = np.empty(len(removed))
        free = np.arange(len(self.index)) < len(self.factor.array)

        def work(chunk: slice) -> None:
            leave_out(self.table, columns[chunk], removed[chunk], place[chunk], self.room, free, out[chunk])

        small = len(removed) * len(self.index) < _SMALL
        run_tasks(spans(len(removed), _CHUNK), work, n_threads=1 if small else self.n_threads)
        return out


def _square(gram: Any, index: Indices) -> tuple[Floats, float]:
    """K of some samples in float64, and the rounding error of its entries."""
    K, rounding = np.empty((len(index), len(index))), 0.0
    for block in spans(len(index), _BLOCK):
        rows = gram.rows(index[block], index)
        K[block], rounding = rows, float(np.finfo(rows.dtype).eps)
    return K, rounding


def _diagonal(gram: Any) -> Floats:
    return np.asarray(gram.diag(), dtype=np.float64)


def _from_centre(gram: Any, machine: _Machine, rows: Indices) -> Floats:
    """Decision values without each of some samples, if the mean of the support vectors makes up for it."""
    support = np.flatnonzero(machine.beta)
    means = np.zeros(len(machine.beta))
    gram.update(support, np.full(len(support), 1.0 / len(support)), means)
    distance = _diagonal(gram)[rows] - 2.0 * means[rows] + means[support].mean()
    # the mean of the others is farther away than the mean of all
    others = len(support) / max(len(support) - 1.0, 1.0)
    return machine.values[rows] - machine.removed[rows] * others**2 * np.maximum(distance, 0.0)
