"""Two collections side by side, and what the terms of a kernel share while they compare them.

A `Comparison` holds two whole collections and whatever is worth computing once for them (operands of
matrix products, self-similarities). A `View` is one tile of it: a range of rows and a range of
columns. The distinct bases of a composed kernel (dot products, squared distances) are computed once
per tile, and the last term that needs one may overwrite it.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.domains import WHOLE, Frames, Samples, Vectors
from mercer.errors import DomainError
from mercer.numerics import operands
from mercer.runtime.tiling import Scratch

if TYPE_CHECKING:
    from mercer.kernels.kernel import Kernel

Index = Indices | None
Path = tuple[Hashable, ...]  # which part of a table; of a table inside a table; ...


@dataclass(frozen=True)
class Base:
    """What one pass over two sets of vectors gives, before a kernel's own formula is applied.

    "dot" is the inner product, "distance" the half negative squared distance ``-|x - z|^2 / 2``, and
    "manhattan" the distance ``|x - z|_1``. `scale` divides the columns first (ARD length scales); `period`
    winds every column around a circle of that circumference before all else.
    """

    kind: Literal["dot", "distance", "manhattan"]
    scale: tuple[float, ...] | None = None
    period: float | None = None

    @property
    def twin(self) -> Base:
        """The distances from which the same dot products follow."""
        return Base("distance", self.scale, self.period)


@dataclass
class Use:
    """How often a base is used in one tile, and the shortest length scale (squared) it is used at."""

    count: int = 0
    reach: float | None = None


_FEW = 2**16  # entries of points whose operand is kept with them
_RIGHT: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()  # points -> base -> operand


@dataclass(frozen=True, eq=False, slots=True)
class Recipe:
    """All that a tile of one base needs: what both sides contribute, and how the base is used."""

    kind: str
    left: Any
    right: Any
    use: Use
    norms: tuple[Floats, Floats] | None = None  # half squared norms, if dot products come from distances

    def narrow(self, rows: Index, columns: Index) -> Recipe:
        """Return the recipe for some rows and columns; None takes all."""
        left = self.left if rows is None else self.left.take(rows)
        right = self.right if columns is None else self.right.take(columns, nonzeros=False)
        if rows is columns and self.right is self.left:
            right = left
        if self.norms is None:
            return Recipe(self.kind, left, right, self.use)
        a, b = self.norms
        norms = a if rows is None else a[rows], b if columns is None else b[columns]
        return Recipe(self.kind, left, right, self.use, norms)


class Comparison:
    """Two collections that a kernel compares tile by tile.

    Parameters
    ----------
    kernel : Kernel
        Asked once which bases its terms use.
    A, B : Samples
        Packed and prepared; ``B is A`` makes the comparison symmetric.
    dtype : dtype, optional
        Of the tiles; by default the wider of the two collections (float64 if they are not vectors).
    """

    def __init__(self, kernel: Kernel, A: Samples, B: Samples, dtype: Any = None) -> None:
        require_same_columns(A, B)
        self._sides: list[Any] = [A, B]  # a narrow comparison takes its samples when they are needed
        self.lengths = len(A), len(B)
        self.symmetric = B is A
        self.dtype = np.dtype(dtype) if dtype is not None else common_dtype(A, B)
        self.scratch = Scratch()
        self.uses: dict[tuple[Path, Base], Use] = {}
        for path, base, reach in kernel.bases() if hasattr(type(kernel), "bases") else ():
            use = self.uses.setdefault((path, base), Use())
            use.count += 1
            if reach is not None:
                use.reach = reach if use.reach is None else min(reach, use.reach)
        for path, base in list(self.uses):
            if base.kind == "dot" and (path, base.twin) in self.uses:
                self.uses[path, base.twin].count += 1  # the dot products are made of the distances
        self._kept: dict[Hashable, Any] = {}
        self._recipes: dict[tuple[Path, int], tuple[Recipe, Base]] = {}
        self._lock = threading.RLock()
        self._whole: tuple[Comparison, Index, Index] | None = None

    @classmethod
    def across(cls, kernel: Kernel, A: Samples, B: Samples, dtype: Any = None) -> Comparison:
        """Return the comparison of two collections that are treated as different even if they are the same object.

        A model asked about the very collection it holds answers what its copy from a file would answer, to the bit.
        """
        return cls(kernel, A.twin() if A is B else A, B, dtype)

    def narrow(self, rows: Index = None, columns: Index = None) -> Comparison:
        """Return the comparison of some rows and columns, made of what was prepared for all of them.

        Parameters
        ----------
        rows, columns : (q,) array of int, optional
            None takes all; the same array twice keeps a symmetric comparison symmetric.
        """
        small = copy.copy(self)
        small._sides = [self._sides[0] if rows is None else None, self._sides[1] if columns is None else None]
        small.lengths = tuple(
            length if index is None else len(index) for length, index in zip(self.lengths, (rows, columns), strict=True)
        )
        small.symmetric = self.symmetric and rows is columns
        small.scratch, small._lock = Scratch(), threading.RLock()
        small._kept, small._recipes = {}, {}
        small._whole = self, rows, columns
        return small

    def take(self, index: Indices) -> Samples:
        """Return some samples of the left side, without making all of it."""
        if self._sides[0] is None:
            whole, rows, _ = self._whole  # pyright: ignore[reportGeneralTypeIssues]
            return whole.take(index if rows is None else rows[index])
        return self._sides[0].take(index)

    @property
    def A(self) -> Samples:
        """The left side."""
        with self._lock:
            if self._sides[0] is None:
                whole, rows, _ = self._whole  # pyright: ignore[reportGeneralTypeIssues]
                self._sides[0] = whole.A if rows is None else whole.A.take(rows)
            return self._sides[0]

    @property
    def B(self) -> Samples:
        """The right side; the very object on the left if the comparison is symmetric."""
        if self.symmetric:
            return self.A
        with self._lock:
            if self._sides[1] is None:
                whole, _, columns = self._whole  # pyright: ignore[reportGeneralTypeIssues]
                self._sides[1] = whole.B if columns is None else whole.B.take(columns)
            return self._sides[1]

    def keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made for this key before, or make it now; safe from several threads."""
        if key in self._kept:  # nothing is ever taken out, so no lock is needed to find it
            return self._kept[key]
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            return self._kept[key]

    def sides(self, path: Path) -> tuple[Samples, Samples]:
        """Return the two sides narrowed to one part of a table (of a table in a table ...)."""
        A, B = self.A, self.B
        for key in path:
            A, B = A.part(key), B.part(key)  # pyright: ignore[reportAttributeAccessIssue]
        return A, B.twin() if B is A and not self.symmetric else B

    def is_table(self, path: Path) -> bool:
        """Return whether a part of the data is a table of several parts."""
        if self._whole is not None:
            return self._whole[0].is_table(path)
        return isinstance(self.sides(path)[0], Frames)

    def at(self, rows: slice, columns: slice) -> View:
        """Return the tile of these rows and columns; it invalidates this thread's former tile."""
        self.scratch.reset()
        rows, columns = (slice(*s.indices(n)[:2]) for s, n in zip((rows, columns), self.lengths, strict=True))
        return View(self, (), rows, columns, {})

    def recipe(self, path: Path, base: Base) -> Recipe:
        """Return what a tile of a base needs, made once; equal bases share it.

        It is needed in every tile, so it is looked up by the base's identity first: hashing its numbers takes longer.
        """
        found = self._recipes.get((path, id(base)))
        if found is None:
            recipe = self.keep((path, base), lambda: self._make_recipe(path, base))
            found = self._recipes.setdefault((path, id(base)), (recipe, base))  # holds the base: its id stays its own
        return found[0]

    def rounding(self) -> float:
        """Return a bound on the relative error of tiles, for kernels whose slope in distances is at most one.

        It grows with the extent of the points in length scales, whose coordinates are rounded.
        """
        whole = self if self._whole is None else self._whole[0]
        if whole is not self:
            return whole.rounding()
        extent = 0.0
        for (path, base), use in self.uses.items():
            if base.kind == "distance" and use.reach and not self.is_table(path):
                recipe = self.recipe(path, base)
                unit = recipe.left.unit**2 / use.reach
                extent = max(extent, (recipe.left.largest + recipe.right.largest) * unit)
        return float(np.finfo(self.dtype).eps * (32.0 + 4.0 * min(extent, 64.0) + 8.0 * np.sqrt(extent)))

    def use(self, path: Path, base: Base) -> Use:
        """Return how a base is used; a kernel does not know whether it is one of several on a table."""
        return self.uses.get((_bare(path), base), Use(1))

    def _make_recipe(self, path: Path, base: Base) -> Recipe:
        if self._whole is not None:
            whole, rows, columns = self._whole
            return whole.recipe(path, base).narrow(rows, columns)
        A, B = self.sides(path)
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        same = B is A
        X, Z = A.X, B.X
        if Z is X and not same and isinstance(Z, np.ndarray):
            Z = Z.view()  # operands of one array are taken for those of one collection
        scale = None if base.scale is None else np.asarray(base.scale)
        use = self.use(path, base)
        if not same and base.kind == "distance" and (sides := self._beside(A, B, base)) is not None:
            require_one_unit((X, Z), scale, sides[0].unit, use.reach)
            return Recipe(base.kind, *sides, use)
        if base.period is not None:
            X = wound(X, base.period)
            Z = X if same else wound(Z, base.period)
        # dot products are about the origin; for distances any point will do, and what is near it keeps its digits
        center = None if base.kind == "dot" or operands.is_mostly_zero(X) else operands.center_of(Z)
        narrow = self.dtype.itemsize < max(X.dtype.itemsize, Z.dtype.itemsize)
        shift = center if narrow and not sp.issparse(X) and not sp.issparse(Z) else None
        X = operands.narrowed(X, shift, self.dtype)
        Z = X if same else operands.narrowed(Z, shift, self.dtype)
        center = center if shift is None else None
        if scale is not None and len(scale) != X.shape[1]:
            raise DomainError(
                f"{len(scale)} length scales were given for data with {X.shape[1]} columns; one length scale, or one "
                "per column, is accepted. Give a single number or as many as there are columns."
            )
        if base.kind == "distance":
            sides = operands.distance_operands(X, Z, center, scale)
        else:
            sides = operands.dot_operands(X, Z, scale)
        if base.kind != "manhattan":
            require_one_unit((X, Z), scale, sides[0].unit, use.reach)
        related = base.kind == "dot" and (_bare(path), base.twin) in self.uses
        return Recipe(base.kind, *sides, use, comparable_norms(*sides) if related else None)

    def _beside(self, A: Vectors, B: Vectors, base: Base) -> tuple[Any, Any] | None:
        """Return the operands of distances to few points that nobody else can write to; theirs is kept.

        A model that predicts row after row would otherwise spend half of the time on what does not change.
        """
        X, Z = A.X, B.X
        if not B.owns or not isinstance(X, np.ndarray) or not isinstance(Z, np.ndarray) or not X.size:
            return None
        if base.period is not None or not 0 < Z.size <= _FEW or not X.dtype == Z.dtype == self.dtype:
            return None
        if operands.is_mostly_zero(X) or (base.scale is not None and len(base.scale) != A.width):
            return None
        known = _RIGHT.get(B)
        if known is None:
            known = _RIGHT[B] = {}
        if base not in known:
            known[base] = operands.right_side(Z, None if base.scale is None else np.asarray(base.scale))
        return None if known[base] is None else operands.beside(X, known[base])


class View:
    """One tile of a comparison, for one part of the data. Kernels read it; they never keep it."""

    def __init__(
        self, comparison: Comparison, path: Path, rows: slice, columns: slice, shared: dict[Hashable, Any]
    ) -> None:
        self.comparison, self.path, self.rows, self.columns = comparison, path, rows, columns
        self.shape = (rows.stop - rows.start, columns.stop - columns.start)
        self._shared = shared  # bases of this tile: recipe -> [pristine array, uses left]
        self._sides: tuple[Samples, Samples] | None = None

    @property
    def dtype(self) -> np.dtype:
        """Of the tile's numbers."""
        return self.comparison.dtype

    @property
    def collections(self) -> tuple[Samples, Samples]:
        """The two whole collections, narrowed to this view's part of a table."""
        return self.comparison.sides(self.path)

    @property
    def sides(self) -> tuple[Samples, Samples]:
        """The two slices as collections; the same object twice on the diagonal of a symmetric comparison."""
        if self._sides is None:
            A, B = self.collections
            left = A[self.rows]
            self._sides = left, left if B is A and self.rows == self.columns else B[self.columns]
        return self._sides

    @property
    def on_diagonal(self) -> bool:
        """Whether both slices are the same samples of one collection, so that the tile is symmetric."""
        return self.comparison.symmetric and self.rows == self.columns

    def value(self, kernel: Kernel) -> Floats:
        """Return a kernel's numbers on this tile, in an array that the caller may overwrite."""
        return kernel.tile(self.part(kernel))

    def part(self, kernel: Kernel) -> View:
        """Return what a kernel reads of this tile: of a table its part, else all."""
        if not kernel.composite and self.comparison.is_table(self.path):
            return View(self.comparison, (*self.path, kernel.part), self.rows, self.columns, self._shared)
        return self

    def empty(self) -> Floats:
        """Return an uninitialised array of the tile's shape, valid until the thread's next tile."""
        return self.comparison.scratch.empty(self.shape, self.dtype)

    def full(self, value: float) -> Floats:
        """Return a constant array of the tile's shape."""
        out = self.empty()
        out.fill(value)
        return out

    def base(self, base: Base) -> tuple[Floats, float]:
        """Return a base's numbers, to be overwritten, and the unit they are in.

        The unit is 1 unless the data are so large or small that squares would overflow or vanish:
        then lengths are ``unit`` times those of the tile (its square for products and squared distances).
        """
        recipe = self.comparison.recipe(self.path, base)
        entry = self._shared.get(recipe)
        if entry is None:
            tile = self._compute(recipe) if recipe.norms is None else self._from_distances(recipe, base.twin)
            entry = self._shared[recipe] = [tile, recipe.use.count]
        entry[1] -= 1
        if entry[1] <= 0:
            del self._shared[recipe]
            return entry[0], recipe.left.unit
        own = self.empty()
        np.copyto(own, entry[0])
        return own, recipe.left.unit

    def _from_distances(self, recipe: Recipe, twin: Base) -> Floats:
        """Return dot products by one pass over distances that another term needs as well."""
        assert recipe.norms is not None
        tile, unit = self.base(twin)
        if unit != 1.0:
            return self._compute(recipe)
        tile += recipe.norms[0][self.rows, None]
        tile += recipe.norms[1][self.columns]
        return tile

    def _compute(self, recipe: Recipe) -> Floats:
        out, left, right = self.empty(), recipe.left, recipe.right
        if recipe.kind == "distance":
            operands.half_distance_tile(left, right, self.rows, self.columns, out, recipe.use.reach)
        elif recipe.kind == "dot":
            operands.dot_tile(left, right, self.rows, self.columns, out)
        else:
            operands.manhattan_tile(left.points, right.points, self.rows, self.columns, out)
        return out


def _bare(path: Path) -> Path:
    """Return a path without the parts that are all of a table, which a kernel does not know of."""
    return tuple(key for key in path if key != WHOLE)


def comparable_norms(left: Any, right: Any) -> tuple[Floats, Floats] | None:
    """Return the half squared norms of both sides if dot products may be found from distances, else None.

    <x, z> = h + |x|^2 / 2 + |z|^2 / 2 is off by the rounding of the norms, and a matrix product by that of |x| |z|:
    both are the same while no norm is much larger than another.
    """
    if left.is_sparse or right.is_sparse or left.unit != 1.0:
        return None
    a, b = (0.5 * np.einsum("ij,ij->i", side.points, side.points) for side in (left, right))
    smallest = min(float(a.min(initial=np.inf)), float(b.min(initial=np.inf)))
    largest = max(float(a.max(initial=0.0)), float(b.max(initial=0.0)))
    return (a, b) if largest <= 16.0 * smallest else None


def require_same_columns(A: Samples, B: Samples) -> None:
    """Raise DomainError if vectors, or vectors that are parts of two tables, have different numbers of columns."""
    if isinstance(A, Frames) and isinstance(B, Frames):
        for key in A.parts.keys() & B.parts.keys():
            require_same_columns(A.parts[key], B.parts[key])
    elif isinstance(A, Vectors) and isinstance(B, Vectors) and A.width != B.width:
        raise DomainError(
            f"Vectors with {A.width} and with {B.width} columns were compared; both sides must have the "
            "same columns. Give new samples the columns of the training samples, in their order."
        )


def require_one_unit(sides: tuple[Any, Any], scale: Any, unit: float, reach: float | None) -> None:
    """Raise DomainError if squares of small numbers vanish beside huge ones and this affects the kernel.

    Huge numbers are held in a large unit, so that their squares do not overflow. Distances of the order of the
    length scale (its square is `reach`) vanish in it; that matters if they occur, in some column on both sides.
    """
    lost = 2.0**500 if sides[0].dtype == np.float64 else 2.0**60
    if unit < lost * (1.0 if reach is None else np.sqrt(reach)):
        return
    X, Z = (S.toarray() if sp.issparse(S) else S for S in sides)
    if scale is not None:
        with np.errstate(over="ignore"):  # what overflows is huge, and not looked at here
            X, Z = X / scale, Z / scale
    low = [np.min(S, axis=0, where=np.abs(S) < unit / lost, initial=np.inf) for S in (X, Z)]
    high = [np.max(S, axis=0, where=np.abs(S) < unit / lost, initial=-np.inf) for S in (X, Z)]
    differ = np.isfinite(low[0]) & np.isfinite(low[1]) & (np.minimum(*low) < np.maximum(*high))
    if differ.any():
        j = int(np.flatnonzero(differ)[0])
        raise DomainError(
            f"Input X has numbers up to {max(np.abs(X).max(), np.abs(Z).max()):.3g} beside small ones (column {j} has "
            f"{low[0][j]:.3g}), whose differences vanish next to them; numbers must be comparable. Look for "
            "values that mark missing ones, drop such rows, or scale the columns."
        )


def common_dtype(*collections: Samples) -> np.dtype:
    """Return the wider float type of some collections; float64 for everything but vectors."""
    return np.result_type(*(_dtype_of(S) for S in collections))


def _dtype_of(samples: Samples) -> np.dtype:
    if isinstance(samples, Vectors):
        return samples.X.dtype
    if isinstance(samples, Frames):
        return common_dtype(*samples.parts.values()) if samples.parts else np.dtype(float)
    return np.dtype(float)


def wound(X: Any, period: float) -> Floats:
    """Return the columns wound around a circle: cos and sin of 2 pi x / period, so 2 d columns."""
    # the remainder is exact: points however far out, and periods however short, keep their phase
    turns = np.fmod(np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float), period) / period
    angle = 2.0 * np.pi * turns
    return np.ascontiguousarray(np.hstack([np.cos(angle), np.sin(angle)]), dtype=X.dtype)


LANES = 4  # strings that compiled loops take at a time


def side_of_tiles(comparison: Comparison, cells: float, multiple: int = 1) -> int:
    """Return the side of tiles whose pairs of sequences have this many pairs of places, a multiple of a number."""
    sides: tuple[Any, ...] = comparison.sides(())
    lengths = [max(1.0, float(S.lengths.mean())) if len(S) else 100.0 for S in sides]
    side = int(np.sqrt(cells / (lengths[0] * lengths[1])))
    return max(multiple, side - side % multiple)
