"""Kernels on columns, and on images under a map.

Symbols: k a kernel; t a map between domains.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from mercer.arguments import answer_of
from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Satisfies
from mercer.domains import WHOLE, Frames, Samples, Vectors, Whole
from mercer.domains.samples import sample_count
from mercer.errors import DomainError
from mercer.kernels.abilities import Differentiated, DifferentiatedByTiles, Featured
from mercer.kernels.algebra.transformers import Untransformed, fitted_to, unfitted_error, waits
from mercer.kernels.comparison import Base, Path, View
from mercer.kernels.composite import ATOM, enclosed, offered
from mercer.kernels.kernel import Kernel, Tiled, bases_of, derivative, feature_count, narrowed, pullback
from mercer.kernels.protocols import Pullback
from mercer.kernels.user_calls import ALL, rows_of
from mercer.spec import Spec, derived

__all__ = ["Composed", "RankOne", "Selected", "is_differentiable"]
__public__ = ["Composed", "RankOne", "Selected"]


class Same:
    """An object that equals only itself. A number from `id` would do, but not after unpickling."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __repr__(self) -> str:
        return f"<{getattr(self.thing, '__name__', type(self.thing).__name__)}>"


class _Part(Tiled, Featured, DifferentiatedByTiles):
    """A kernel that reads one part of the data and leaves the rest to others."""

    constraints = {"kernel": InstanceOf(Kernel)}
    kernel: Kernel

    @derived
    def domain(self) -> type[Samples]:
        """A table of parts."""
        return Frames

    def pack(self, X: Any) -> Samples:
        """Pack the one part this kernel reads."""
        return Frames.pack(X, self.parts())

    def _inner(self, A: Samples) -> Samples:
        """Return what the kernel inside reads, given a table or the part itself."""
        part = A.part(self.part) if isinstance(A, Frames) and self.part in A.parts else A
        return narrowed(self.kernel, part)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over the learned kernel."""
        learned = self.kernel.learn(self._inner(S), y, weight)
        return self if learned is self.kernel else self.replace(kernel=learned)

    def _prepare(self, A: Samples) -> Samples:
        """Let the kernel inside add what it computes once per collection."""
        if isinstance(A, Frames) and self.part in A.parts:
            return A.with_part(self.part, self.kernel.prepare(A.part(self.part)))
        return self.kernel.prepare(A)

    def tile(self, view: View) -> Floats:
        """Return the tile of the kernel inside."""
        return view.value(self.kernel)

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield the bases of the kernel inside, on this part."""
        for path, base, reach in bases_of(self.kernel):
            yield (self.part, *path), base, reach

    def _diag(self, A: Samples) -> Floats:
        """Return the diagonal of the kernel inside."""
        return self.kernel.diag(self._inner(A))

    @derived
    def order(self) -> int | None:
        """That of the kernel inside."""
        return self.kernel.order

    @derived
    def normalised(self) -> bool:
        """That of the kernel inside."""
        return self.kernel.normalised

    @derived
    def bounded(self) -> bool:
        """That of the kernel inside."""
        return self.kernel.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of the kernel inside that do not concern the inputs themselves."""
        return offered(self.kernel) & {"features", "pullback"}

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features of the kernel inside."""
        return self.kernel.features(self._inner(A), keys)

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of features of the kernel inside."""
        return feature_count(self.kernel, self._inner(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives of the kernel inside."""
        return pullback(self.kernel, self._inner(A), self._inner(B), W)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the tile of the kernel inside, and its pullback."""
        return derivative(view, self.kernel)


def _are_columns(value: Any) -> bool:
    names = value if isinstance(value, (list, tuple)) else [value]
    good = all(isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names)
    return bool(names) and good and len(set(names)) == len(names)


class Selected(_Part):
    r"""A kernel on some columns of a table.

    .. math:: k(x, x') = k_1(x_S, x'_S)

    Seed: [STS] Theorem 7 with the projection on the columns S.

    Parameters
    ----------
    kernel : Kernel
    columns : str, int or list of them
        One name or number gives the column itself (strings, sets, ...; a column of numbers for kernels
        on vectors), a list gives a table of these columns.

    Notes
    -----
    Written ``kernel.on(columns)``. Domain Frames: data frames (pandas, polars, pyarrow), dictionaries of
    columns and arrays. Terms on the same columns share them.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> k = Gaussian(1.0).on([0]) + Linear().on([1])
    >>> k([[0.0, 2.0], [1.0, 3.0]]).round(3)
    array([[ 5.   ,  6.607],
           [ 6.607, 10.   ]])
    """

    formula = r"k_1(x_S, x'_S)"
    cost = "that of the kernel"
    constraints = {
        "columns": Satisfies("a column name or number, or a list of different ones", _are_columns, "['age', 'income']")
    }

    @derived
    def continuous(self) -> bool:
        """That of the kernel inside."""
        return self.kernel.continuous

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    @property
    def _key(self) -> Any:
        return tuple(self.columns) if isinstance(self.columns, (list, tuple)) else self.columns

    @derived
    def part(self) -> Hashable:
        """The columns as a key, and how the kernel inside reads them unless it takes them as they are."""
        inner = tuple(self.kernel.parts())
        return self._key if inner in ((), (WHOLE,)) else Whole((self._key, inner))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the columns, packed by the kernel inside."""
        return {self.part: self._pack_selected if isinstance(self.part, Whole) else self._pack_columns}

    def _pack_selected(self, X: Any) -> Samples:
        return Frames.pack(X, {self._key: self._pack_columns}).part(self._key)

    def _pack_columns(self, data: Any) -> Samples:
        if isinstance(self._key, tuple) or self.kernel.domain is not Vectors:
            return self.kernel.pack(data)
        return self.kernel.pack(np.asarray(data).reshape(-1, 1))  # one column of numbers is a narrow table

    def __repr__(self) -> str:
        plain = [name if isinstance(name, str) else int(name) for name in np.atleast_1d(np.asarray(self._key, object))]
        columns = plain[0] if not isinstance(self.columns, (list, tuple)) else type(self.columns)(plain)
        return f"{enclosed(self.kernel, ATOM)}.on({columns!r})"


class Composed(_Part):
    r"""A kernel on the images of the data under a map.

    .. math:: k(x, x') = k_1(t(x), t(x'))

    Seed: [STS] Theorem 7, k_3(phi(x), phi(z)).

    Parameters
    ----------
    kernel : Kernel
        On the domain of the images.
    transform : callable or transformer
        Takes all raw data at once and returns as many images, of any domain.
    fitted : transformer, optional
        What `learn` has made of a transformer that was not fitted.

    Notes
    -----
    Written ``kernel.of(transform)``. The map is applied once, when the data are packed. A transformer that has not been
    fitted, as in ``Gaussian("median").of(StandardScaler())``, is learned like other parameters: ``fit`` of an estimator
    fits a copy to the training samples (each by its weight), so that nothing leaks between folds, and clones are not
    fitted. One that was fitted before stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> Linear().of(np.sqrt)([[4.0], [9.0]])
    array([[4., 6.],
           [6., 9.]])
    """

    formula = r"k_1(t(x), t(x'))"
    cost = "that of the kernel, and the map once per sample"
    constraints = {
        "transform": Satisfies(
            "a function of all the data, or a transformer",
            lambda value: callable(value) or hasattr(value, "transform"),
            "np.log1p",
        ),
        "fitted": Satisfies("None or a fitted transformer", lambda value: value is None or hasattr(value, "transform")),
    }

    def __init__(self, kernel: Kernel, transform: Any, fitted: Any = None) -> None:
        self.kernel = kernel
        self.transform = transform
        self.fitted = fitted

    def set_params(self, **params: Any) -> Self:
        """Change parameters; a new transformer is not fitted yet."""
        super().set_params(**params)
        if "fitted" not in params and any(name.partition("__")[0] == "transform" for name in params):
            self.fitted = None
        return self

    @derived
    def part(self) -> Hashable:
        """A key that is the same for the same map: text if the map has one, since files hold no objects as keys."""
        key = getattr(self.transform, "key_", None)
        return Whole(key if isinstance(key, str) else Same(self.transform))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the images, packed by the kernel inside."""
        return {self.part: self._pack_images}

    def __sklearn_clone__(self) -> Composed:
        # scikit-learn clones transformers to unfitted ones; the map is as fixed as a function
        return type(self)(copy.deepcopy(self.kernel), self.transform, self.fitted)

    @property
    def _waits(self) -> bool:
        """Whether the transformer is not fitted yet."""
        return self.fitted is None and waits(self.transform)

    def _pack_images(self, data: Any) -> Samples:
        return Untransformed.pack(data) if self._waits else self._images(data)

    def _images(self, data: Any) -> Samples:
        known = self.transform if self.fitted is None else self.fitted
        images = answer_of(getattr(known, "transform", known), data, who=self, takes=ALL)
        packed = self.kernel.pack(images)
        count = sample_count(data, len(packed))
        if len(packed) != count:
            raise DomainError(
                f"the map of {self!r} made {len(packed)} images of {count} samples; it must keep their number. "
                "Give a function that takes all the data and returns one image per sample."
            )
        return packed

    def _inner(self, A: Samples) -> Samples:
        """Return the images that the kernel inside reads; data that have waited are transformed now."""
        part = A.part(self.part) if isinstance(A, Frames) and self.part in A.parts else A
        if not isinstance(part, Untransformed):
            return narrowed(self.kernel, part)
        if self._waits:
            raise unfitted_error(self, self.transform)
        return narrowed(self.kernel, self._images(part.data))

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over the learned kernel, with the transformer fitted to the samples."""
        if not self._waits:
            return super()._learn(S, y, weight)
        part = S.part(self.part) if isinstance(S, Frames) and self.part in S.parts else S
        assert isinstance(part, Untransformed)
        return self.replace(fitted=fitted_to(self.transform, part.data, y, weight, self)).learn(part, y, weight)

    def _prepare(self, A: Samples) -> Samples:
        """Transform data that have waited, and let the kernel inside add what it computes once per collection."""
        part = A.part(self.part) if isinstance(A, Frames) and self.part in A.parts else A
        if not isinstance(part, Untransformed):
            return super()._prepare(A)
        if self._waits:
            raise unfitted_error(self, self.transform)
        ready = self.kernel.prepare(self._images(part.data))
        return ready if part is A else A.with_part(self.part, ready)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of the kernel inside; how many features there are is not known before the transformer is."""
        return super().capabilities - ({"features"} if self._waits else set())


class RankOne(Tiled, Featured, Differentiated):
    r"""The product of a function's values: a feature space of one dimension.

    .. math:: k(x, x') = f(x) \, f(x')

    Seed: [STS] Theorem 7; [ST] "Kernel constructions".

    Parameters
    ----------
    function : callable
        Takes all raw data at once and returns one real number per sample.

    Notes
    -----
    Any domain. ``RankOne(f) * k`` is f(x) k(x, x') f(x'), a conformal change of k.

    Examples
    --------
    >>> RankOne(lambda words: [len(word) for word in words])(["ab", "abc"])
    array([[4., 6.],
           [6., 9.]])
    """

    formula = r"f(x) \, f(x')"
    cost = "O(1) per pair, and the function once per sample"
    feature_limit = 1
    constraints = {"function": Satisfies("a function of all the data", callable, "lambda X: X[:, 0]")}

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    @derived
    def domain(self) -> type[Samples]:
        """A table with the function's values."""
        return Frames

    @derived
    def part(self) -> Hashable:
        """A key that is the same for the same function."""
        return Whole(Same(self.function))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the function's values as a column."""
        return {self.part: lambda data: Vectors.pack(rows_of(self.function, data, self, single=True))}

    def pack(self, X: Any) -> Samples:
        """Evaluate the function once per sample."""
        return Frames.pack(X, self.parts())

    def _values(self, A: Samples) -> Floats:
        part = A.part(self.part) if isinstance(A, Frames) else A
        assert isinstance(part, Vectors)
        return np.asarray(part.X)[:, 0]

    def tile(self, view: View) -> Floats:
        """Multiply the values of both sides."""
        A, B = view.collections
        return np.multiply(self._values(A)[view.rows, None], self._values(B)[view.columns], out=view.empty())

    def _diag(self, A: Samples) -> Floats:
        """Square the values."""
        return self._values(A) ** 2

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the values as the one feature."""
        return self._values(A)[:, None], None

    def _feature_count(self, A: Samples) -> int | None:
        """Return 1."""
        return 1

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)


def is_differentiable(transform: Any) -> bool:
    """Return whether a map has parameters of its own, and a derivative in them."""
    return isinstance(transform, Spec) and callable(transform) and callable(getattr(transform, "pullback", None))
