r"""Sums of Gaussians in linear time: which of three transforms is cheapest for given points, and its products.

.. math:: G(x_i) = \sum_j v_j \, e^{-|x_i - y_j|^2}, \qquad
    \max_i |\tilde G(x_i) - G(x_i)| \le \mathrm{tol} \sum_j |v_j|

Three ways to it, each with a proof of its bound in its module:

* "hermite": Hermite and Taylor series on a grid of boxes, `mercer.gram.gauss.hermite`; one to four dimensions;
* "taylor": clusters with a Taylor series of total degree, `mercer.gram.gauss.taylor`; wide kernels, up to
  about ten dimensions;
* "tree": a tree of sources and one of targets, `mercer.gram.gauss.dual_tree`; narrow kernels.

The choice is made by counting operations on some of the points. It does not depend on a clock: the same points give the
same choice, and the same bits, on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.gram.gauss.dual_tree import TreeTransform
from mercer.gram.gauss.hermite import HermiteTransform, grid_size, half_side
from mercer.gram.gauss.taylor import TaylorTransform, covering, farthest_points
from mercer.runtime.tiling import spans

__all__ = ["METHODS", "Choice", "GaussTransform", "choose_method"]

METHODS = ("hermite", "taylor", "tree")
SMALL = 2**21  # pairs: fewer are summed directly
_SAMPLE = 2048  # points on which operations are counted
_BOXED = 2**14  # points whose boxes are counted
_TERMS = 2**15  # of a series at most
_DEGREES = 60
_ORDERS = (4, 8, 12, 16, 20, 24)
_CENTRES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# nanoseconds of one core, measured: a pair of points, of two leaves, a term of a tensor and of a graded series, a
# multiplication of a translation; and what a point, a cluster that may be near, and a translation cost besides
_PAIR, _LEAVES, _TENSOR, _GRADED, _TRANSLATION = 1.8, 3.0, 0.17, 0.7, 0.3
_POINT, _CLUSTER, _BOX = 60.0, 4.0, 40.0
_NUMBERS = 2**22  # of series that are held at once for several right-hand sides


@dataclass(frozen=True)
class Choice:
    """Which transform, and at what cost.

    Attributes
    ----------
    method : str
        "hermite", "taylor", "tree", or "direct" if no transform is cheaper than all pairs.
    costs : mapping from methods to nanoseconds
        Estimates for one product on one core; inf where a method does not apply.
    order : int
        Terms per axis, of "hermite".
    centres, radius : (q, d) array or None, float
        Of "taylor".
    """

    method: str
    costs: Mapping[str, float]
    order: int = 12
    centres: Floats | None = None
    radius: float = 0.0


def choose_method(Y: Floats, tol: float, method: str = "auto", targets: int | None = None) -> Choice:
    """Choose the transform for sources and about as many targets, spread like them.

    Parameters
    ----------
    Y : (n, d) array
        Sources, in the unit in which the kernel is exp(-d^2).
    tol : float
        Error over the sum of the absolute weights.
    method : str, default "auto"
        "auto" compares all; the name of a transform chooses the parameters of that one.
    targets : int, optional
        Their number; None is that of the sources.

    Examples
    --------
    >>> Y = np.random.default_rng(0).normal(size=(20000, 2))
    >>> choose_method(Y, 1e-6).method, choose_method(300.0 * Y, 1e-6).method
    ('hermite', 'tree')
    """
    n = len(Y)
    m = n if targets is None else targets
    costs = {"direct": _PAIR * m * n, "hermite": math.inf, "taylor": math.inf, "tree": math.inf}
    if method == "auto" and m * n <= SMALL:
        return Choice("direct", costs)
    some = Y if n <= _SAMPLE else Y[np.random.default_rng(0).choice(n, _SAMPLE, replace=False)]
    order, centres, radius = 12, None, 0.0
    if method in ("auto", "tree"):
        costs["tree"] = _tree_cost(some, n, m, tol)
    if method in ("auto", "hermite"):
        costs["hermite"], order = _hermite_cost(Y, m, tol, min(costs.values()) if method == "auto" else math.inf)
    if method in ("auto", "taylor"):
        limit = min(costs.values()) if method == "auto" else math.inf
        costs["taylor"], centres, radius = _taylor_cost(some, n, m, tol, limit)
    chosen = min(costs, key=lambda name: costs[name]) if method == "auto" else method
    return Choice(chosen, costs, order, centres, radius)


def _hermite_cost(Y: Floats, m: int, tol: float, limit: float) -> tuple[float, int]:
    """Return the least cost over the number of terms per axis, and that number."""
    n, d = Y.shape
    some = Y if n <= _BOXED else Y[np.random.default_rng(0).choice(n, _BOXED, replace=False)]
    best, order = math.inf, _ORDERS[0]
    for p in _ORDERS:
        if d * math.log2(p) > math.log2(_TERMS):
            break
        series = _TENSOR * p**d * (m + n) + _POINT * (m + n)
        if series > min(best, limit):
            break
        share = math.expm1(math.log1p(0.9 * tol) / d)
        if grid_size(some, half_side(p, share)) > max(4 * n, 2**16):
            continue
        transform = HermiteTransform(some, tol, p)
        boxes = len(transform.sources.cells)
        # boxes that the sample has not seen: where most of them have one point, there are as many more as points
        unseen = n / len(some) if boxes > 0.5 * len(some) else 1.0
        sweeps = transform.aim().sweeps
        if max(s.count for s in sweeps) * unseen * p**d > max(2**22, 128 * n):  # memory is to be linear
            continue
        translations = sum(int(np.sum(s.high - s.low)) for s in sweeps) * unseen
        cost = series + translations * (_BOX + _TRANSLATION * p ** (d + 1))
        if cost < best:
            best, order = cost, p
    return best, order


def _taylor_cost(some: Floats, n: int, m: int, tol: float, limit: float) -> tuple[float, Floats | None, float]:
    """Return the least cost over the number of clusters, the centres and the radius of the clusters.

    Whatever is certain to cost more than the limit is skipped.
    """
    counts = [count for count in _CENTRES if _CLUSTER * m * count < limit]
    if not counts:
        return math.inf, None, 0.0
    chosen, radii = farthest_points(some, counts[-1])
    best, centres, radius, worse = math.inf, None, 0.0, 0
    for count in counts:
        if count > len(chosen) or worse >= 3:
            break
        try:
            transform = TaylorTransform(some, tol, some[chosen[:count]], most_terms=_TERMS)
        except ValueError:  # too many terms
            continue
        if transform.degrees.max() > _DEGREES:  # clusters of all points may be larger than those of some
            continue
        sources, targets, near = transform.terms_per_point()
        series = _GRADED * (n * sources + m * targets)
        cost = series + _POINT * (n + m * near) + _CLUSTER * m * count
        worse = 0 if cost < best else worse + 1
        if cost < best:
            best, centres, radius = cost, some[chosen[:count]], float(radii[count - 1])
    return best, centres, radius


def _tree_cost(some: Floats, n: int, m: int, tol: float) -> float:
    """Return about what pairs of leaves cost that are not farther apart than the kernel reaches."""
    targets = some[:: max(1, len(some) // 64)]
    distances = np.stack([np.sqrt(np.sum((some - target) ** 2, axis=1)) for target in targets])
    rank = min(max(1, math.ceil(64 * len(some) / n)), len(some) - 1)
    leaf = np.sort(distances, axis=1)[:, rank][:, None]  # about the extent of a leaf around each target
    near = np.mean(distances < math.sqrt(-math.log(tol)) + leaf)
    return _LEAVES * m * (n * float(near) + 64.0) + 10.0 * _POINT * m


def _with_outliers(Y: Floats, tol: float, centres: Floats, radius: float) -> TaylorTransform:
    """Return the transform of all points by the centres of some: larger clusters are preferred to many more of them."""
    try:
        return TaylorTransform(Y, tol, covering(Y, centres, 1.5 * radius))
    except ValueError:  # too many terms
        return TaylorTransform(Y, tol, covering(Y, centres, radius))


class GaussTransform:
    """Sums of Gaussians at sources or other targets, by the cheapest transform that keeps to a tolerance.

    Parameters
    ----------
    Y : (n, d) array
        Sources, in the unit in which the kernel is exp(-d^2).
    tol : float
        Error over the sum of the absolute weights.
    choice : Choice
        From `choose_method`, not "direct".

    Attributes
    ----------
    method : str
    bound : float
        Error over the sum of the absolute weights, at most tol.

    Examples
    --------
    >>> Y = np.random.default_rng(0).normal(size=(500, 2))
    >>> transform = GaussTransform(Y, 1e-6, choose_method(Y, 1e-6, "hermite"))
    >>> exact = np.exp(-np.sum((Y[:, None] - Y) ** 2, axis=2)).sum(axis=1)
    >>> bool(np.max(np.abs(transform.product(np.ones((500, 1)))[:, 0] - exact)) <= transform.bound * 500)
    True
    """

    def __init__(self, Y: Floats, tol: float, choice: Choice) -> None:
        self.choice, self.method = choice, choice.method
        if choice.method == "hermite":
            self.way: Any = HermiteTransform(Y, tol, choice.order)
        elif choice.method == "taylor":
            centres = choice.centres
            if centres is None:
                raise ValueError("no number of clusters was found whose series have few enough terms")
            self.way = _with_outliers(Y, tol, centres, choice.radius)
        else:
            self.way = TreeTransform(Y, tol)
        self.bound = float(self.way.bound)
        self._here: Any = None

    @property
    def held(self) -> int:
        """Numbers of series that one right-hand side takes."""
        return int(self.way.held)

    def aim(self, X: Floats | None = None) -> Any:
        """Return what products at some targets need; None are the sources, whose aim is kept."""
        if X is not None:
            return self.way.aim(X)
        if self._here is None:
            self._here = self.way.aim()
        return self._here

    def product(self, V: Floats, aim: Any = None, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), for weights V (n, k); targets are the sources unless aimed."""
        aim = self.aim() if aim is None else aim
        parts = [self.values(self.moments(V[:, some], n_threads), aim, n_threads) for some in self.columns(V.shape[1])]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def columns(self, k: int) -> list[slice]:
        """Cut k right-hand sides into batches whose series fit in memory."""
        return spans(k, max(1, _NUMBERS // max(self.held, 1))) if k else [slice(0, 0)]

    def moments(self, V: Floats, n_threads: int | None = None) -> Any:
        """Return what the transform makes of the sources alone."""
        return self.way.moments(np.asarray(V, dtype=np.float64), n_threads)

    def values(self, moments: Any, aim: Any, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets from what `moments` gave."""
        return self.way.values(moments, aim, n_threads)
