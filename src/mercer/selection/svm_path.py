r"""The support vector classifier for every C at once: its exact path, piece by piece.

Symbols: alpha_i = y_i beta_i in [0, C w_i]; f = K beta + b. Left of the margin (y f < 1) alpha = C w, right of it
(y f > 1) alpha = 0, on the elbow y f = 1. While the three sets do not change,

    K_EE beta_E + b 1 = y_E - C K_EL (w y)_L,    1^T beta_E = -C sum_L w y,

so that beta and b, and with them f, are linear in C.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from mercer.arrays import Array, Floats, Indices, real_numbers
from mercer.budget import Plan
from mercer.constraints import is_real
from mercer.errors import CapabilityError, MemoryBudgetError, NotPositiveDefinite, ParameterError, TargetError
from mercer.gram.gram import HasRows
from mercer.problems import Solution, Status
from mercer.runtime.tiling import Stopped, serial_blas
from mercer.selection.homotopy import ABSENT, ELBOW, LEFT, RIGHT, Homotopy, Indefinite
from mercer.selection.margin_system import Rows
from mercer.solvers.solver import Monitor

__all__ = ["PathEnd", "SVMPath", "svm_path"]
__public__ = __all__

_REFRESH = 100  # events after which margins are recomputed
_DRIFT = 1e-9  # violation of the optimality conditions that is put right
_ALLOWED = 1e-8  # violation above which nothing is called exact
_FIRST_PLAN = 2**24  # bytes of breakpoints that are planned for at first


class PathEnd(Enum):
    """How a path ended; the value of each is a sentence of advice.

    Examples
    --------
    >>> PathEnd.COMPLETE.value
    'The path is exact from C_min to C_max.'
    """

    COMPLETE = "The path is exact from C_min to C_max."
    BREAKPOINTS = "The path is exact up to its last breakpoint, where max_breakpoints was reached: raise it to go on."
    STOPPED = "The path is exact up to its last breakpoint, where the monitor stopped it: start again from there."
    MEMORY = (
        "The path is exact up to its last breakpoint, where the memory budget was used up: raise memory=, or start "
        "again from there."
    )
    STALLED = (
        "The path is exact up to its last breakpoint; beyond it rounding hides which samples are on the margin: "
        "start again from a larger C_min, scale the samples, or solve for single values of C."
    )
    INDEFINITE = (
        "The path is exact up to its last breakpoint; beyond it the Gram matrix is not positive semi-definite on the "
        "samples of the margin, and the problem is not convex: choose another kernel."
    )


@dataclass(frozen=True, eq=False)
class SVMPath:
    r"""The support vector classifier as a function of C: breakpoints, and straight lines between them.

    .. math:: \beta(C) = \beta_k + \frac{C - C_k}{C_{k+1} - C_k} (\beta_{k+1} - \beta_k), \qquad C_k \le C \le C_{k+1}

    Seed: [HSS] Eq. (79), the problem for one C.

    Attributes
    ----------
    C : (p,) array
        Breakpoints, ascending. One may be there twice, where coefficients of the same function are exchanged.
    bias : (p,) array
        b at the breakpoints. Where the elbow is empty b is free in an interval; the line lies inside it.
    left, elbow, right : (p,) arrays of int
        Number of samples on each side from a breakpoint to the next; those of weight zero are in none.
    violation : (p,) array
        Largest violation of the optimality conditions at each breakpoint: how far a margin is on the wrong side.
    status : PathEnd
        How the path ended, with advice.
    y, weight : (n,) arrays
        As given.

    Notes
    -----
    Coefficients are kept for the elbow only, beside the changes of the sets: 8 bytes for each sample of each elbow.
    """

    C: Floats
    bias: Floats
    left: Indices
    elbow: Indices
    right: Indices
    violation: Floats
    status: PathEnd
    y: Floats
    weight: Floats
    _values: Floats = field(repr=False)  # alpha on the elbows, by breakpoint and number of the sample
    _starts: Indices = field(repr=False)  # where those of each breakpoint begin, (p + 1,)
    _changed: Indices = field(repr=False)  # samples whose side changed, by breakpoint
    _sides: Array = field(repr=False)  # to which
    _until: Indices = field(repr=False)  # how many changes there were up to each breakpoint, (p,)

    def __len__(self) -> int:
        return len(self.C)

    @property
    def nbytes(self) -> int:
        """Memory of the path in bytes."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def sides(self, k: int) -> Array:
        """Side of each sample from breakpoint k to the next, (n,): 0 right, 1 elbow, 2 left, 3 absent."""
        side = np.full(len(self.y), ABSENT, dtype=np.int8)
        until = self._until[k]
        side[self._changed[:until]] = self._sides[:until]  # of several changes the last one counts
        return side

    def coefficients(self, k: int) -> Floats:
        """Signed coefficients beta at breakpoint k, (n,)."""
        side = self.sides(k)
        alpha = np.where(side == LEFT, self.C[k] * self.weight, 0.0)
        k = range(len(self))[k]
        alpha[side == ELBOW] = self._values[self._starts[k] : self._starts[k + 1]]
        return self.y * alpha

    def at(self, C: float) -> tuple[Floats, float]:
        """Signed coefficients beta, (n,), and bias of the solution for a C on the path.

        Examples
        --------
        >>> from mercer.domains import Vectors
        >>> from mercer.gram import Dense
        >>> from mercer.kernels import Linear
        >>> gram = Dense().build(Linear(), Vectors.pack([[1.0], [-1.0]]))
        >>> path = svm_path(gram, [1, -1], C_min=0.1, C_max=2.0)
        >>> [(path.at(C)[0][0].round(12), abs(round(path.at(C)[1], 12))) for C in (0.25, 1.5)]
        [(np.float64(0.25), 0.0), (np.float64(0.5), 0.0)]
        """
        if not self.C[0] <= C <= self.C[-1]:
            raise ParameterError(
                f"C={C!r} was given; the path goes from {self.C[0]:.6g} to {self.C[-1]:.6g}. Choose a C between them, "
                "or follow a longer path by C_min= and C_max=."
            )
        k = int(np.searchsorted(self.C, C, side="right")) - 1
        beta, bias = self.coefficients(k), float(self.bias[k])
        if self.C[k] < C:
            t = float((C - self.C[k]) / (self.C[k + 1] - self.C[k]))
            beta = (1.0 - t) * beta + t * self.coefficients(k + 1)
            bias = (1.0 - t) * bias + t * float(self.bias[k + 1])
        return beta, bias

    def solution(self, C: float) -> Solution:
        """The same as a Solution of the quadratic program, for ``gram.expand(path.solution(C), bias)``."""
        beta, bias = self.at(C)
        k = int(np.searchsorted(self.C, C, side="right")) - 1
        worst = float(np.max(self.violation[k : k + 2]))
        return Solution(beta, Status.CONVERGED, worst, multipliers=np.array([-bias]))


def svm_path(
    gram: Any,
    y: Any,
    *,
    weight: Any = None,
    C_min: float = 1e-2,
    C_max: float = 1e2,
    max_breakpoints: int | None = None,
    monitor: Monitor | None = None,
) -> SVMPath:
    r"""Follow the support vector classifier exactly while C grows.

    .. math:: \min_{f, b} \; C \sum_i w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \|f\|^2, \qquad
              C_{\min} \le C \le C_{\max}

    Seed: [HSS] Eqs. (76)-(79) for one C; the path is that of Hastie, Rosset, Tibshirani and Zhu (2004), with C for
    their 1 / lambda, weights, any start, and sets that may be dependent or empty.

    Parameters
    ----------
    gram : Gram
        With rows, over the n samples; positive semi-definite, or so for coefficients that sum to zero. Tiles in
        float32 are computed in float64 here.
    y : (n,) array
        Labels, -1 and 1.
    weight : (n,) array, optional
        Non-negative; a sample of weight w counts as w copies.
    C_min, C_max : float, default 0.01 and 100.0
        Ends of the path, positive.
    max_breakpoints : int, optional
        After which to stop; None does not.
    monitor : callable, optional
        Called as ``monitor(breakpoints, violation)`` between events; a true answer ends the path there.

    Returns
    -------
    path : SVMPath
        Its status says whether C_max was reached, and if not, why. What is returned is exact in any case.

    Notes
    -----
    The solution at C_min is found by the same means: offsets make a corner of the box optimal, and fade. Between
    two breakpoints beta and b are linear in C. Events cost O(m n) for m samples on the elbow, whose linear system is
    kept as a Cholesky factor; every 100 events the margins are recomputed, and where the optimality conditions are
    violated by more than 1e-9 the factor is rebuilt and the solution corrected; where they are violated by more than
    1e-8 the path goes back to where they were not, and looks at every event for a while. Nothing is added to K: a
    sample that depends on those of the elbow waits beside it or takes the place of one of them. Several events at one C
    happen one after another; should they go in circles, C makes a step of 1e-9 C across them. Memory 8 m n + 8 m^2
    bytes besides K, and 8 bytes per sample of the elbow and breakpoint, within the budget of the Gram's resources.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> gram = Dense().build(Linear(), Vectors.pack([[1.0], [-1.0]]))
    >>> path = svm_path(gram, [1, -1], C_min=0.1, C_max=2.0)
    >>> path.C.round(12), path.status.name  # at C = 1/2 the margin reaches the samples
    (array([0.1, 0.5, 2. ]), 'COMPLETE')
    """
    y, weight = _checked(gram, y, weight)
    _check_range(C_min, C_max, max_breakpoints)
    conditional = getattr(getattr(gram, "kernel", None), "order", 0) == 1
    memory = getattr(getattr(gram, "resources", None), "memory", None)
    with serial_blas():  # one order of summation, whatever the number of threads
        walk = Homotopy(Rows(gram.refined(), conditional), y, weight, float(C_min), memory)
        recorder = _Recorder(walk, max_breakpoints, monitor, memory)
        try:
            recorder.begin()
            status = recorder.follow(float(C_max))
        except _Ended as end:
            status = end.status
        except Indefinite:
            status = PathEnd.INDEFINITE
        except MemoryBudgetError:
            if not recorder.rows:
                raise
            status = PathEnd.MEMORY
    if not recorder.rows:
        _refuse(C_min, status)
    return recorder.path(status)


def _refuse(C: float, status: PathEnd) -> NoReturn:
    if status is PathEnd.STOPPED:
        raise Stopped(f"the monitor stopped the path before the solution at C_min={C!r} was found")
    reason = "the Gram matrix is not positive semi-definite" if status is PathEnd.INDEFINITE else "rounding hides it"
    raise NotPositiveDefinite(
        f"the solution at C_min={C!r} was not found because {reason}; a positive semi-definite Gram matrix and "
        "coefficients of moderate size are needed. Choose another kernel or another C_min, or scale the samples."
    )


class _Ended(Exception):
    def __init__(self, status: PathEnd) -> None:
        super().__init__(status.value)
        self.status = status


class _Recorder:
    """Writes down breakpoints while a homotopy moves, and puts it right where it drifts."""

    def __init__(self, homotopy: Homotopy, limit: int | None, monitor: Monitor | None, memory: Any) -> None:
        self.homotopy, self.limit, self.monitor, self.memory = homotopy, limit, monitor, memory
        self.at_end = False
        self.rows: list[tuple[float, float, int, int, int]] = []
        self.violations: list[float] = []
        self.values: list[Floats] = []
        self.changed: list[Indices] = []
        self.sides: list[Array] = []
        self.last = np.full(len(homotopy.y), ABSENT, dtype=np.int8)
        self.before, self.beta = self.last, np.zeros(len(homotopy.y))
        self.verified, self.saved = 0, homotopy.snapshot()  # breakpoints up to where margins were recomputed
        self.bytes, self.planned, self.events, self.careful = 0, 0, 0, 0

    def begin(self) -> None:
        """Find the solution at the first C."""
        walk = self.homotopy
        self._plan(_FIRST_PLAN)
        walk.between = self._tell
        violation = walk.refresh()
        for attempt in range(4):
            if attempt and violation <= _DRIFT:
                break
            violation = walk.settle(scale=min(max(violation, 1e-100), 1.0))
        if not violation <= _ALLOWED:
            raise _Ended(PathEnd.STALLED)
        self.record()
        self.verified, self.saved = 1, walk.snapshot()

    def follow(self, C_max: float) -> PathEnd:
        """Go on to C_max; how that ended."""
        walk = self.homotopy
        walk.before_change, walk.between = self.record, self._watch
        while True:
            try:
                if C_max > walk.C and not walk.run(C_max - walk.C):
                    self._cross(C_max)
                elif self.at_end:
                    self.record()
                    return PathEnd.COMPLETE
                else:
                    self.at_end = True
                    self._verify()
            except _Drifted:
                self._correct()
            except (_Ended, Indefinite, MemoryBudgetError) as end:
                # what was reached is optimal, except where offsets are fading or too much went wrong
                stalled = isinstance(end, _Ended) and end.status is PathEnd.STALLED
                if walk.between == self._watch and not stalled and len(self.rows) != self.limit:
                    self.record()
                raise

    def _tell(self) -> None:
        if self.monitor is not None:
            violation = self.homotopy.violation() if self.rows else np.nan
            if self.monitor(len(self.rows), violation):
                raise _Ended(PathEnd.STOPPED)

    def _watch(self) -> None:
        self._tell()
        if self.limit is not None and len(self.rows) >= self.limit - 1:
            raise _Ended(PathEnd.BREAKPOINTS)
        self.events += 1
        self.careful = max(self.careful - 1, 0)
        if self.events % _REFRESH == 0 or self.careful or self.homotopy.disturbed:
            self._verify()

    def _verify(self) -> None:
        """Recompute margins; note what violation there really was, or go back to where there was none."""
        violation = self.homotopy.refresh()
        if not self.careful:
            if violation > _ALLOWED:
                self._go_back()
                raise _Drifted
            for k in range(self.verified, len(self.violations)):
                self.violations[k] = max(self.violations[k], violation)
        if violation > _DRIFT:
            raise _Drifted
        self.verified, self.saved = len(self.rows), self.homotopy.snapshot()

    def _go_back(self) -> None:
        """Forget what is not exact, and look at every event for a while."""
        self._forget(self.verified)
        self.homotopy.before_change = _nothing  # until it is corrected
        self.homotopy.restore(self.saved)
        self.careful, self.at_end = _REFRESH, False

    def _correct(self) -> None:
        """Solve the system of the elbow from scratch where C is."""
        walk = self.homotopy
        walk.before_change, walk.between = _nothing, self._tell
        before, first = walk.snapshot(), walk.refresh()
        violation = first
        for _ in range(3):
            if violation <= _DRIFT:
                break
            violation = walk.settle(scale=max(10.0 * min(violation, 0.1), 1e-7))
        if violation > first:  # rounding does not allow better
            walk.restore(before)
            violation = first
        if not violation <= _ALLOWED:
            raise _Ended(PathEnd.STALLED)
        walk.disturbed = False
        walk.before_change, walk.between = self.record, self._watch

    def _cross(self, C_max: float) -> None:
        """Step across a C at which events go in circles."""
        walk = self.homotopy
        self.record()
        walk.before_change, walk.between = _nothing, self._tell
        for relative in (1e-9, 1e-8, 1e-7):
            if walk.settle(scale=1e-3, advance=min(relative * walk.C, C_max - walk.C)) <= _ALLOWED:
                break
        else:
            raise _Ended(PathEnd.STALLED)
        walk.before_change, walk.between = self.record, self._watch

    def record(self) -> None:
        """Write down the solution for the present C, and the sets from here on."""
        walk = self.homotopy
        elbow = np.flatnonzero(walk.side == ELBOW)
        values = np.clip(walk.alpha[elbow], 0.0, walk.C * walk.weight[elbow])
        beta = walk.beta()
        bias = walk.bias - walk.source.shift(beta)
        self._replace(beta, bias)
        changed = np.flatnonzero(walk.side != self.last)
        counts = [int(np.count_nonzero(walk.side == side)) for side in (LEFT, ELBOW, RIGHT)]
        self.rows.append((walk.C, bias, counts[0], counts[1], counts[2]))
        self.violations.append(walk.violation())
        self.values.append(values)
        self.changed.append(changed)
        self.sides.append(walk.side[changed])
        self.before, self.last, self.beta = self.last, walk.side.copy(), beta
        self.bytes += values.nbytes + 9 * len(changed) + 400  # and what lists and small arrays need
        if self.bytes > self.planned:
            self._plan(2 * self.bytes)

    def _replace(self, beta: Floats, bias: float) -> None:
        """Forget the last breakpoint if nothing has happened since but a change of the sets."""
        C, large = self.homotopy.C, float(np.max(self.homotopy.weight))
        if not self.rows or C - self.rows[-1][0] > 1e-15 * C:
            return
        if abs(bias - self.rows[-1][1]) > 1e-14 * (1.0 + abs(bias)) or np.any(
            np.abs(beta - self.beta) > 1e-14 * C * large
        ):
            return
        for rows in (self.rows, self.violations, self.values, self.changed, self.sides):
            del rows[-1]
        self.last, self.verified = self.before, min(self.verified, len(self.rows))

    def _forget(self, count: int) -> None:
        """Keep only the first breakpoints."""
        for rows in (self.rows, self.violations, self.values, self.changed, self.sides):
            del rows[count:]
        self.last = np.full(len(self.last), ABSENT, dtype=np.int8)
        for changed, sides in zip(self.changed, self.sides, strict=True):
            self.last[changed] = sides
        self.beta = np.full(len(self.last), np.inf)  # of the last breakpoint, which is then never replaced

    def _plan(self, size: int) -> None:
        buffers = {"breakpoints": 2 * size}  # joined at the end, when they are there twice
        options = ("a smaller max_breakpoints=", "a shorter range from C_min to C_max")
        Plan(f"the path of C on {len(self.last)} samples", buffers, options).require(self.memory)
        self.planned = size

    def path(self, status: PathEnd) -> SVMPath:
        """The path as far as it was followed."""
        columns = list(zip(*self.rows, strict=True))
        C, bias = (np.array(column, dtype=np.float64) for column in columns[:2])
        left, elbow, right = (np.array(column, dtype=np.intp) for column in columns[2:])
        violation = np.array(self.violations)
        return SVMPath(
            *(C, bias, left, elbow, right, violation, status, self.homotopy.y, self.homotopy.weight),
            _values=np.concatenate(self.values),
            _starts=np.concatenate([[0], np.cumsum(elbow)]).astype(np.intp),
            _changed=np.concatenate(self.changed),
            _sides=np.concatenate(self.sides),
            _until=np.cumsum([len(changed) for changed in self.changed]).astype(np.intp),
        )


class _Drifted(Exception):
    """The margins recomputed are not those that were carried along."""


def _nothing() -> None:
    """Nothing is written down."""


def _checked(gram: Any, y: Any, weight: Any) -> tuple[Floats, Floats]:
    """Labels and weights as float64, after the checks."""
    n: int = gram.shape[0]
    if not isinstance(gram, HasRows):
        raise CapabilityError(
            f"svm_path needs Gram.rows; {type(gram).__name__} offers only products. Use Dense() or Tiles()."
        )
    order = getattr(getattr(gram, "kernel", None), "order", 0)
    if order is not None and order > 1:
        raise CapabilityError(
            f"svm_path was given a kernel that is conditionally positive definite of order {order}; order 0 or 1 is "
            "accepted. Choose another kernel."
        )
    y = np.asarray(y)
    if y.shape != (n,) or y.dtype.kind not in "iuf" or not np.all(np.abs(y) == 1):
        raise TargetError(
            f"labels of type {y.dtype} and shape {y.shape}, {y.ravel()[:3]} and so on, were given; {n} numbers -1 or 1 "
            "are accepted. Code the two classes so."
        )
    y = y.astype(np.float64)
    w = np.ones(n) if weight is None else real_numbers(weight, "weight")
    if w.shape != (n,) or not np.all((w >= 0.0) & np.isfinite(w)):
        raise ParameterError(
            f"weights of shape {w.shape} were given; {n} finite numbers that are not negative are accepted. "
            "Give one weight per sample, or weight=None."
        )
    if len(np.unique(y[w > 0.0])) != 2:
        raise TargetError(
            "labels of one class were given; both -1 and 1 are needed, with a positive weight. Give samples of both."
        )
    return y, w


def _check_range(C_min: float, C_max: float, max_breakpoints: int | None) -> None:
    ends = [C if is_real(C) else np.nan for C in (C_min, C_max)]
    if not 0.0 < ends[0] < ends[1] < np.inf:
        raise ParameterError(
            f"C_min={C_min!r} and C_max={C_max!r} were given; 0 < C_min < C_max < infinity is accepted. "
            "Choose for example C_min=0.01 and C_max=100."
        )
    if max_breakpoints is not None and max_breakpoints < 2:
        raise ParameterError(
            f"max_breakpoints={max_breakpoints!r} was given; None or 2 and more are accepted. Leave it out for the "
            "whole path."
        )
