"""Kernels on columns, on images under a map, and on pairs.

Symbols: k, k_1, k_2 kernels; t a map between domains; x = (x_1, x_2) a pair.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.domains import WHOLE, Frames, Pairs, Samples, Vectors, Whole
from mercer.errors import DomainError, ParameterError
from mercer.kernels.calls import called, sample_count
from mercer.kernels.comparison import Base, Path, View
from mercer.kernels.composite import ATOM, enclosed
from mercer.kernels.kernel import Kernel, Pullback, Tiled, derivative, narrowed, offered
from mercer.kernels.pair_forms import PairTerm, gathered, learned, pair_function
from mercer.kernels.transformers import Untransformed, fitted_to, unfitted_error, waits

__all__ = ["Composed", "DirectSum", "Selected", "Tensor"]


class _Same:
    """A thing that equals itself only. A number from `id` would do, but not after unpickling."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __repr__(self) -> str:
        return f"<{getattr(self.thing, '__name__', type(self.thing).__name__)}>"


class _Part(Tiled):
    """A kernel that reads one part of the data and leaves the rest to others."""

    kernel: Kernel

    @property
    def domain(self) -> type[Samples]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A table of parts."""
        return Frames

    def check(self) -> Any:
        """Raise ParameterError unless there is a kernel inside."""
        if not isinstance(self.kernel, Kernel):
            raise ParameterError(
                f"{type(self).__name__} was given {self.kernel!r}; a kernel is needed. "
                "Use an object of mercer.kernels, for example Gaussian(1.0)."
            )
        return super().check()

    def pack(self, X: Any) -> Samples:
        """Pack the one part this kernel reads."""
        return Frames.pack(X, self.parts())

    def _inner(self, A: Samples) -> Samples:
        """Return what the kernel inside reads, given a table or the part itself."""
        part = A.part(self.part) if isinstance(A, Frames) and self.part in A.parts else A
        return narrowed(self.kernel, part)

    def learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over the learned kernel."""
        learned = self.kernel.learn(self._inner(S), y, weight)
        return self if learned is self.kernel else self.replace(kernel=learned)

    def prepare(self, A: Samples) -> Samples:
        """Let the kernel inside add what it computes once per collection."""
        if isinstance(A, Frames) and self.part in A.parts:
            return A.with_part(self.part, self.kernel.prepare(A.part(self.part)))
        return self.kernel.prepare(A)

    def tile(self, view: View) -> Floats:
        """Return the tile of the kernel inside."""
        return view.value(self.kernel)

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield the bases of the kernel inside, on this part."""
        for path, base, reach in self.kernel.bases():
            yield (self.part, *path), base, reach

    def diag(self, A: Samples) -> Floats:
        """Return the diagonal of the kernel inside."""
        return self.kernel.diag(self._inner(A))

    @property
    def order(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the kernel inside."""
        return self.kernel.order

    @property
    def normalised(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the kernel inside."""
        return self.kernel.normalised

    @property
    def bounded(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the kernel inside."""
        return self.kernel.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of the kernel inside that do not concern the inputs themselves."""
        return offered(self.kernel) & {"features", "pullback"}

    def features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features of the kernel inside."""
        return self.kernel.features(self._inner(A), keys)

    def feature_count(self, A: Samples) -> int | None:
        """Return the number of features of the kernel inside."""
        return self.kernel.feature_count(self._inner(A))

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives of the kernel inside."""
        return self.kernel.pullback(self._inner(A), self._inner(B), W)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the tile of the kernel inside, and its way back."""
        return derivative(view, self.kernel)


class Selected(_Part):
    r"""A kernel on some columns of a table.

    .. math:: k(x, x') = k_1(x_S, x'_S)

    Seed: [STS] Theorem 7 with the projection on the columns S. Ledger: K-ALG-PULL.

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

    @property
    def continuous(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the kernel inside."""
        return self.kernel.continuous

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def check(self) -> Any:
        """Raise ParameterError unless columns are names or numbers."""
        names = self.columns if isinstance(self.columns, (list, tuple)) else [self.columns]
        good = all(isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names)
        if not names or not good or len(set(names)) != len(names):
            raise ParameterError(
                f"{self.kernel!r}.on({self.columns!r}) was given; a column name or number, or a list of different "
                "ones, is accepted. Write for example .on('age') or .on(['age', 'income'])."
            )
        return super().check()

    @property
    def _key(self) -> Any:
        return tuple(self.columns) if isinstance(self.columns, (list, tuple)) else self.columns

    @property
    def part(self) -> Hashable:  # pyright: ignore[reportIncompatibleVariableOverride]
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

    Seed: [STS] Theorem 7, k_3(phi(x), phi(z)). Ledger: K-ALG-PULL.

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
    fitted, as ``Gaussian("median").of(StandardScaler())``, is learned like other parameters: ``fit`` of an estimator
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

    def __init__(self, kernel: Kernel, transform: Any, fitted: Any = None) -> None:
        self.kernel = kernel
        self.transform = transform
        self.fitted = fitted

    def set_params(self, **params: Any) -> Self:
        """Change parameters; another transformer has yet to be fitted."""
        super().set_params(**params)
        if "fitted" not in params and any(name.partition("__")[0] == "transform" for name in params):
            self.fitted = None
        return self

    def check(self) -> Any:
        """Raise ParameterError unless the transform can be applied."""
        if not (callable(self.transform) or hasattr(self.transform, "transform")):
            raise ParameterError(
                f"{self.kernel!r}.of({self.transform!r}) was given; a function of all the data or a "
                "transformer is accepted. Write for example .of(np.log1p)."
            )
        return super().check()

    @property
    def part(self) -> Hashable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A key that is the same for the same map."""
        return Whole(_Same(self.transform))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the images, packed by the kernel inside."""
        return {self.part: self._pack_images}

    def __sklearn_clone__(self) -> Composed:
        # scikit-learn clones transformers to unfitted ones; the map is as fixed as a function
        return type(self)(copy.deepcopy(self.kernel), self.transform, self.fitted)

    @property
    def _waits(self) -> bool:
        """Whether the transformer has yet to be fitted."""
        return self.fitted is None and waits(self.transform)

    def _pack_images(self, data: Any) -> Samples:
        return Untransformed.pack(data) if self._waits else self._images(data)

    def _images(self, data: Any) -> Samples:
        known = self.transform if self.fitted is None else self.fitted
        images = called(getattr(known, "transform", known), data, self)
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

    def learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over the learned kernel, with the transformer fitted to the samples."""
        if not self._waits:
            return super().learn(S, y, weight)
        part = S.part(self.part) if isinstance(S, Frames) and self.part in S.parts else S
        assert isinstance(part, Untransformed)
        return self.replace(fitted=fitted_to(self.transform, part.data, y, weight, self)).learn(part, y, weight)

    def prepare(self, A: Samples) -> Samples:
        """Transform data that have waited, and let the kernel inside add what it computes once per collection."""
        part = A.part(self.part) if isinstance(A, Frames) and self.part in A.parts else A
        if not isinstance(part, Untransformed):
            return super().prepare(A)
        if self._waits:
            raise unfitted_error(self, self.transform)
        ready = self.kernel.prepare(self._images(part.data))
        return ready if part is A else A.with_part(self.part, ready)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of the kernel inside; how many features there are is not known before the transformer is."""
        return super().capabilities - ({"features"} if self._waits else set())


class _OnPairs(Kernel):
    """A kernel on pairs, made of a kernel on each side."""

    domain = Pairs

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def check(self) -> Any:
        """Raise ParameterError unless both sides are kernels."""
        for side in (self.left, self.right):
            if not isinstance(side, Kernel):
                raise ParameterError(
                    f"{type(self).__name__} was given {side!r}; it is made of two kernels. "
                    "Write k1.tensor(k2) or k1.direct_sum(k2)."
                )
        return super().check()

    def pack(self, X: Any) -> Samples:
        """Pack the left and the right members of the pairs."""
        return Pairs.pack(X, self.left.pack, self.right.pack)

    def learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over kernels that have learned from the members, as often as they occur."""
        assert isinstance(S, Pairs)
        i, j = S.index.T
        found = learned(self.left, S.left, i, weight), learned(self.right, S.right, j, weight)
        return self if found == (self.left, self.right) else type(self)(*found)

    def prepare(self, A: Samples) -> Samples:
        """Prepare the members once, however many pairs they are in."""
        assert isinstance(A, Pairs)
        return A.with_members(self.left.prepare(A.left), self.right.prepare(A.right))

    @staticmethod
    def _sides(A: Samples) -> tuple[Samples, Samples]:
        assert isinstance(A, Pairs)
        return A.left.take(A.index[:, 0]), A.right.take(A.index[:, 1])

    def _blocks(self, A: Samples, B: Samples) -> tuple[Floats, Floats]:
        assert isinstance(A, Pairs) and isinstance(B, Pairs)
        (i, j), (other_i, other_j) = A.index.T, B.index.T
        left = gathered(self.left, A.left, i, B.left, other_i)
        return left, gathered(self.right, A.right, j, B.right, other_j)

    @abstractmethod
    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the products of a function of either member that this kernel is the sum of."""

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) by matrices between the members of each side."""
        return pair_function(self, samples, coef)

    def _diags(self, A: Samples) -> tuple[Floats, Floats]:
        left, right = self._sides(A)
        return self.left.diag(left), self.right.diag(right)

    @property
    def order(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Positive definite if both kernels are."""
        return 0 if self.left.order == 0 and self.right.order == 0 else None

    @property
    def bounded(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether both kernels are."""
        return self.left.bounded and self.right.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives in the parameters if both kernels have them."""
        return offered(self.left) & offered(self.right) & {"pullback"}


class Tensor(_OnPairs):
    r"""Tensor product: pairs are similar if both members are.

    .. math:: k((x_1, x_2), (x'_1, x'_2)) = k_1(x_1, x'_1) \, k_2(x_2, x'_2)

    Seed: [HSS] Proposition 5 (iii); [KIKS] Section 6.1.1, K_1 (x) K_2 for links between two sets. Ledger: K-ALG-TENSOR,
    K-ALG-BIP.

    Parameters
    ----------
    left, right : Kernel
        On the first and the second members. Written ``left.tensor(right)``.

    Notes
    -----
    Domain Pairs. Derivatives in the parameters of both. The matrix of n pairs of q_1 and q_2 objects is a part of the
    Kronecker product of two small ones; ``gram=Kronecker()`` works with these alone, and so does every fitted function.
    Cost q_1^2 + q_2^2 evaluations, then two operations an entry.

    Examples
    --------
    >>> from mercer.kernels import Linear, Spectrum
    >>> k = Linear().tensor(Spectrum(1))
    >>> k([([2.0], "a"), ([3.0], "aa")])
    array([[ 4., 12.],
           [12., 36.]])
    """

    formula = r"k_1(x_1, x'_1) \, k_2(x_2, x'_2)"
    cost = "sum of both"

    @property
    def normalised(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether both kernels are."""
        return self.left.normalised and self.right.normalised

    @property
    def strict(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether both kernels are: tensor products of strict kernels are strict on different pairs."""
        return self.order == 0 and self.left.strict and self.right.strict

    @property
    def universal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether both kernels are: sums of products of functions of one member each are dense."""
        return self.left.universal and self.right.universal

    @property
    def nonzero(self) -> bool:
        """Whether both kernels are."""
        return self.order == 0 and self.left.nonzero and self.right.nonzero

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the one product."""
        return (PairTerm(1.0, self.left, self.right),)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Multiply the blocks of both sides."""
        left, right = self._blocks(A, B)
        return left * right

    def diag(self, A: Samples) -> Floats:
        """Multiply the diagonals of both sides."""
        left, right = self._diags(A)
        return left * right

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the product rule."""
        left, right = self._blocks(A, B)
        a, b = self._sides(A), self._sides(B)
        return np.concatenate([self.left.pullback(a[0], b[0], W * right), self.right.pullback(a[1], b[1], W * left)])

    def __repr__(self) -> str:
        return f"{enclosed(self.left, ATOM)}.tensor({self.right!r})"


class DirectSum(_OnPairs):
    r"""Direct sum: pairs are similar as far as their members are.

    .. math:: k((x_1, x_2), (x'_1, x'_2)) = k_1(x_1, x'_1) + k_2(x_2, x'_2)

    Seed: [HSS] Proposition 5 (iii). Ledger: K-ALG-DSUM.

    Parameters
    ----------
    left, right : Kernel
        On the first and the second members. Written ``left.direct_sum(right)``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().direct_sum(Linear())([([2.0], [1.0]), ([3.0], [1.0])])
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    formula = r"k_1(x_1, x'_1) + k_2(x_2, x'_2)"
    cost = "sum of both"

    @property
    def nonzero(self) -> bool:
        """Whether one kernel is."""
        return self.order == 0 and (self.left.nonzero or self.right.nonzero)

    @property
    def injective(self) -> bool:
        """Whether both kernels are."""
        return self.order == 0 and self.left.injective and self.right.injective

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return each kernel beside a factor of one."""
        return PairTerm(1.0, self.left, None), PairTerm(1.0, None, self.right)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Add the blocks of both sides."""
        left, right = self._blocks(A, B)
        return left + right

    def diag(self, A: Samples) -> Floats:
        """Add the diagonals of both sides."""
        left, right = self._diags(A)
        return left + right

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives of both sides one after another."""
        a, b = self._sides(A), self._sides(B)
        return np.concatenate([self.left.pullback(a[0], b[0], W), self.right.pullback(a[1], b[1], W)])

    def __repr__(self) -> str:
        return f"{enclosed(self.left, ATOM)}.direct_sum({self.right!r})"
