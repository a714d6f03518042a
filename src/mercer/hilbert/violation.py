r"""Points that show that a function of two arguments is not a kernel.

Symbols: x_1, ..., x_n points, K = (k(x_i, x_j)), lambda its smallest eigenvalue (on the vectors allowed) with vector c,
q = lambda / |K| the quotient that is made small, |K| the length of K (Frobenius), d columns.

The derivative of q in the points goes through c alone: dq = <W, dK> with W = (c c^T - q K / |K|) / |K|.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.arguments import checked, require_squares
from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Integer, Interval, Optional
from mercer.domains import Samples, Strings, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, MercerError, ParameterError
from mercer.hilbert.definiteness import Definiteness, definiteness, polynomials
from mercer.kernels.kernel import Kernel

__all__ = ["Violation", "find_violation"]
__public__ = __all__

_MOST = 400  # of the given samples that are checked
_SCALES = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0)  # of designs, over the spread of the samples
_ITERATIONS = 40
_CERTAIN = 10.0  # times the rounding bound, below which a quotient counts


@dataclass(frozen=True, eq=False)
class Violation:
    r"""The least definite points that were found.

    Parameters
    ----------
    found : bool
        Whether they violate definiteness, beyond rounding. If not, they are what came nearest.
    points : raw data or packed samples
        x_1, ..., x_n: an array of rows, a list of strings, or samples of another domain.
    vector : (n,) array
        c, of length one.
    value : float
        c^T K c, negative if something was found.
    bound : float
        What rounding explains.
    order : int
        That was tested: 0 for positive definite, 1 for vectors of sum zero, ...
    matrices : int
        How many Gram matrices were checked.
    seconds : float

    Notes
    -----
    It is true if a violation was found. That none was found proves nothing; `matrices` says how much was tried.
    """

    found: bool
    points: Any
    vector: Floats
    value: float
    bound: float
    order: int
    matrices: int
    seconds: float

    def __bool__(self) -> bool:
        return self.found

    def __str__(self) -> str:
        if not self.found:
            return f"no violation of order {self.order} in {self.matrices} matrices (the least value {self.value:.3g})"
        points = self.points.tolist() if isinstance(self.points, np.ndarray) else self.points
        if isinstance(self.points, np.ndarray):
            points = [[float(f"{x:.6g}") for x in row] for row in points]
        c = [float(f"{x:.4g}") for x in self.vector]
        return (
            f"the points {points} with c = {c} give c^T K c = {self.value:.4g}, where rounding explains "
            f"{self.bound:.2g}"
        )


class _Done(Exception):
    """The search has come to its end."""


@dataclass(eq=False)
class _Search:
    """What has been tried, and the least definite samples among it."""

    kernel: Kernel
    order: int
    rng: np.random.Generator
    deadline: float
    began: float = field(default_factory=time.monotonic)
    matrices: int = 0
    best: tuple[Samples, Definiteness] | None = None

    @property
    def violated(self) -> bool:
        """Whether a violation is certain."""
        return self.best is not None and self.best[1].smallest < -_CERTAIN * self.best[1].bound

    def matrix(self, S: Samples) -> Floats:
        """Return k on samples in float64."""
        S = self.kernel.prepare(S)
        return np.asarray(self.kernel.block(S, S), dtype=np.float64)

    def judge(self, S: Samples) -> tuple[float, Definiteness, Floats] | None:
        """Return the quotient of samples, their definiteness and K; None where the kernel has no numbers."""
        if time.monotonic() > self.deadline:
            raise _Done
        found = self.look(S)
        if self.violated:
            raise _Done
        return found

    def look(self, S: Samples) -> tuple[float, Definiteness, Floats] | None:
        """Return the same, regardless of the time limit."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                K = self.matrix(S)
            basis = polynomials(S, self.order) if self.order > 1 else None
            found = definiteness(0.5 * (K + K.T), self.order, basis=basis)
        except (DomainError, np.linalg.LinAlgError):
            return None
        self.matrices += 1
        length = float(np.linalg.norm(K))
        if not length > 0.0 or not np.isfinite(length):
            return None
        # a small quotient of many samples may be less certain than a larger one of few
        if found.smallest / max(found.bound, 1e-300) < self._certainty():
            self.best = S, found
        return found.smallest / length, found, K

    def _certainty(self) -> float:
        return np.inf if self.best is None else self.best[1].smallest / max(self.best[1].bound, 1e-300)


@checked(
    kernel=InstanceOf(Kernel),
    order=Optional(Integer(0)),
    width=Integer(1),
    size=Integer(2),
    restarts=Integer(1),
    random_state=Integer(0),
    max_time=Optional(Interval(0.0, math.inf, closed="left")),
)
def find_violation(
    kernel: Kernel,
    X: Any = None,
    *,
    order: int | None = None,
    width: int = 2,
    size: int = 12,
    restarts: int = 8,
    random_state: int = 0,
    max_time: float | None = 10.0,
) -> Violation:
    r"""Search for points and a vector that show that a function is not a positive definite kernel.

    .. math:: \sum_{ij} c_i c_j \, k(x_i, x_j) < 0

    Seed: [HSS] Definition 3, Eq. (9), and Eq. (20) for conditionally positive definite kernels; [STS] Definition 2 and
    Theorem 3; [ST] "Kernel functions".

    Parameters
    ----------
    kernel : Kernel
        Of mercer or of your own.
    X : raw data, optional
        Samples to begin with. They may be left out for kernels on vectors. Strings are also cut, joined and changed
        letter by letter; of other domains only the samples given are checked.
    order : int, optional
        What to refute: 0 for positive definite, q for conditionally positive definite of order q. None is what
        the kernel claims, and 0 if it claims nothing.
    width : int, default 2
        Number of columns, if X is left out.
    size : int, default 12
        The most points that are moved at once.
    restarts : int, default 8
        How often points are moved from a new start.
    random_state : int, default 0
    max_time : float or None, default 10.0
        Seconds after which the search ends with what it has.

    Returns
    -------
    Violation
        True if there is one. Its points are as few as were found to suffice.

    Notes
    -----
    In this order, until one is found: the samples given; designs of vectors on seven scales (random points, points on
    a line, on a lattice in a plane, on the axes), which show what functions of the difference are; then points are
    moved so that the smallest eigenvalue over the length of the matrix falls, by its derivative where the kernel has
    one in its inputs, else at random. Columns whose samples are all >= 0 stay so. A violation counts if the quotient is
    ten times beyond rounding, and again when each entry is computed for its pair alone. The same seed gives the same
    points, unless the time runs out.

    Examples
    --------
    >>> from mercer.hilbert import find_violation
    >>> from mercer.kernels import Gaussian, NegativeDistance, Sigmoid
    >>> found = find_violation(Sigmoid(1.0, offset=0.1))
    >>> K = Sigmoid(1.0, offset=0.1)(found.points)
    >>> bool(found), bool(found.vector @ K @ found.vector < 0)
    (True, True)
    >>> bool(find_violation(NegativeDistance())), bool(find_violation(NegativeDistance(), order=0))
    (False, True)
    """
    kernel.check()
    order = (kernel.order or 0) if order is None else order
    end = np.inf if max_time is None else time.monotonic() + max_time
    search = _Search(kernel, order, np.random.default_rng(random_state), end)
    S = _given(kernel, X, width, search.rng)
    search.kernel = kernel = kernel.learn(S)
    with contextlib.suppress(_Done), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        if X is not None:
            search.judge(_some(S, search.rng))
        if isinstance(S, Vectors) and len(S) and S.width:
            _look_around(search, _Space.of(S), size, restarts)
        elif isinstance(S, Strings) and isinstance(X, (list, tuple)) and all(isinstance(s, Sequence) for s in X):
            _rewrite(search, list(X), restarts)
    return _violation(search)


def _given(kernel: Kernel, X: Any, width: int, rng: np.random.Generator) -> Samples:
    if X is not None:
        return kernel.pack(X)
    X = rng.normal(size=(24, width))
    try:
        try:
            S = kernel.pack(X)
            kernel.diag(kernel.learn(S).prepare(S))
            return S
        except DomainError:  # as for histograms, which have no negative entries
            return kernel.pack(np.abs(X))
    except MercerError as error:
        raise ParameterError(
            f"find_violation was given {kernel!r} without samples, which compares {kernel.domain.__name__}; only "
            "vectors can be made up. Give X, some samples of its domain."
        ) from error


def _some(S: Samples, rng: np.random.Generator) -> Samples:
    return S if len(S) <= _MOST else S.take(np.sort(rng.permutation(len(S))[:_MOST]))


def _look_around(search: _Search, space: _Space, size: int, restarts: int) -> None:
    """Judge designs of vectors, then move points."""
    for points in space.designs(search.rng):
        for S in _packed(search.kernel, points):
            search.judge(S)
    for start in range(restarts):
        n = int(search.rng.integers(2, max(size, 2) + 1))
        _move(search, space, space.inside(space.cloud(search.rng, n, _SCALES[start % len(_SCALES)])))


def _rewrite(search: _Search, given: list[Any], restarts: int) -> None:
    """Judge sequences made from those given."""
    pool = given
    for _ in range(4 * restarts):
        pool = [*given, *_mutants(pool, search.rng)]
        for S in _packed(search.kernel, pool):
            search.judge(S)


def _packed(kernel: Kernel, points: Any) -> Iterator[Samples]:
    try:
        yield kernel.pack(points)
    except MercerError:
        return  # outside the domain


@dataclass(frozen=True, eq=False)
class _Space:
    """Where to look for vectors: around the samples, and not below zero where they are not."""

    center: Floats
    spread: Floats
    low: Floats

    @classmethod
    def of(cls, S: Vectors) -> _Space:
        X = np.asarray(S.dense(), dtype=np.float64)
        require_squares(X, "X")
        spread = X.std(axis=0)
        fallback = max(float(spread.max()), 1e-3 * float(np.abs(X).max()), 1e-300)
        spread = np.where(spread > 0.0, spread, fallback if np.abs(X).max() > 0 else 1.0)
        return cls(np.median(X, axis=0), spread, np.where(X.min(axis=0) >= 0.0, 0.0, -np.inf))

    def inside(self, X: Floats) -> Floats:
        """Return points within the space; what is below is reflected upwards."""
        return np.where(self.low > X, 2.0 * np.where(np.isfinite(self.low), self.low, 0.0) - X, X)

    def cloud(self, rng: np.random.Generator, n: int, scale: float) -> Floats:
        """Return random points."""
        return self.center + scale * self.spread * rng.normal(size=(n, len(self.center)))

    def designs(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield arrangements of points on several scales."""
        d = len(self.center)
        steps: Any = np.arange(40.0) - 19.5
        square: Any = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2) - 3.5
        cross = np.vstack([np.zeros((1, d)), np.eye(d)[:16], -np.eye(d)[:16]])
        for scale in _SCALES:
            yield self.inside(self.cloud(rng, 32, scale))
            direction = np.eye(d)[rng.integers(d)]
            for spacing in (0.1, 0.02):
                yield self.inside(self.center + self.spread * scale * spacing * np.outer(steps, direction))
            if d > 1:
                plane = np.eye(d)[rng.permutation(d)[:2]]
                yield self.inside(self.center + self.spread * scale * 0.25 * (square @ plane))
            yield self.inside(scale * self.spread * cross)


def _move(search: _Search, space: _Space, X: Floats) -> None:
    """Move points so that the quotient falls."""
    kernel, shape = search.kernel, X.shape
    scale = np.maximum(np.abs(X - space.center).max(), 1e-12)
    smooth = "pullback_inputs" in kernel.capabilities

    def at(flat: Floats) -> tuple[float, Floats]:
        none = 1.0, np.zeros(flat.shape)
        points = flat.reshape(shape) * scale
        for S in _packed(kernel, points):
            found = search.judge(S)
            if found is None:
                return none
            quotient, sign, K = found
            length = float(np.linalg.norm(K))
            if not smooth:
                return quotient, none[1]
            W = (np.outer(sign.vector, sign.vector) - (quotient / length) * K) / length
            try:
                S = kernel.prepare(S)
                slope = 2.0 * np.asarray(kernel.pullback_inputs(S, S, W), dtype=np.float64)
            except (DomainError, CapabilityError):
                return quotient, none[1]
            return quotient, np.nan_to_num(slope.ravel() * scale, posinf=0.0, neginf=0.0)
        return none

    start = X.ravel() / scale
    if smooth:
        low = np.broadcast_to(space.low / scale, shape).ravel()
        limits = [(a if np.isfinite(a) else None, None) for a in low]
        minimize(at, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": _ITERATIONS})
    else:
        _climb(at, start, space, shape, scale, search.rng)


def _climb(at: Any, x: Floats, space: _Space, shape: Any, scale: float, rng: np.random.Generator) -> None:
    """Move one point at a time at random, and keep what makes the quotient smaller."""
    best, step = at(x)[0], 0.5
    for _ in range(2 * _ITERATIONS):
        trial = x.reshape(shape).copy()
        trial[rng.integers(shape[0])] += step * rng.normal(size=shape[1])
        trial = space.inside(trial * scale).ravel() / scale
        value = at(trial)[0]
        if value < best:
            x, best, step = trial, value, 1.5 * step
        else:
            step = max(0.9 * step, 1e-3)


def _mutants(pool: list[Any], rng: np.random.Generator) -> list[Any]:
    """Return sequences made from others: pieces joined, a letter inserted, left out or changed."""
    out: list[Any] = []
    for _ in range(min(24, 2 * len(pool))):
        a, b = (pool[int(i)] for i in rng.integers(len(pool), size=2))
        if type(a) is not type(b):
            continue
        i, j = int(rng.integers(len(a) + 1)), int(rng.integers(len(b) + 1))
        joined = rng.random() < 0.5
        out.append((a[:i] + (b[j:] if joined else b[j : j + 1] + a[i + int(rng.integers(2)) :]))[:64])
    return out


def _violation(search: _Search) -> Violation:
    """Reduce what was found to few points, and compute each entry for its pair alone."""
    if search.best is None:
        empty = np.empty(0)
        return _result(search, False, [], empty, 0.0, 0.0)
    S, found = search.best
    if not search.violated:
        return _result(search, False, _raw(S), found.vector, found.smallest, found.bound)
    S, found = _fewer(search, S, found)
    pairwise, S = np.empty((len(S), len(S))), search.kernel.prepare(S)
    for i in range(len(S)):
        for j in range(i + 1):
            pairwise[i, j] = pairwise[j, i] = search.kernel.block(S[[i]], S[[j]])[0, 0]
    gap = float(np.abs(pairwise - search.matrix(S)).max())
    bound = max(_CERTAIN * found.bound, len(S) * gap)
    value = float(found.vector @ pairwise @ found.vector)
    return _result(search, value < -bound, _raw(S), found.vector, value, bound)


def _fewer(search: _Search, S: Samples, found: Definiteness) -> tuple[Samples, Definiteness]:
    """Leave out points that the violation does not need, those of the smallest entries of c first."""
    share = max(1, len(S) // 2)
    while share:
        kept = np.sort(np.argsort(-np.abs(found.vector), kind="stable")[: len(S) - share])
        smaller = search.look(S.take(kept)) if len(kept) else None
        # the violation of fewer points is smaller, but should stay plain
        if smaller is not None and smaller[1].smallest < min(-100.0 * smaller[1].bound, 0.05 * found.smallest):
            S, found = S.take(kept), smaller[1]
            share = min(share, max(1, len(S) // 2))
        else:
            share //= 2
    return S, found


def _raw(S: Samples) -> Any:
    """Return samples as a user would give them, where they have such a form."""
    if isinstance(S, Vectors):
        return np.asarray(S.dense())
    if isinstance(S, Strings):
        sequences: list[Any] = [S.symbols(i) for i in range(len(S))]
        letters = all(isinstance(symbol, str) and len(symbol) == 1 for one in sequences for symbol in one)
        return ["".join(one) for one in sequences] if letters else sequences
    return S


def _result(search: _Search, found: bool, points: Any, c: Floats, value: float, bound: float) -> Violation:
    seconds = time.monotonic() - search.began
    return Violation(found, points, c, value, bound, search.order, search.matrices, seconds)
