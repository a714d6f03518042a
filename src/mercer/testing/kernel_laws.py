"""The laws of kernels, each one function; `check_kernel` tests all of them.

Symbols: S packed samples, K = k(S, S), n their number, eps the rounding unit of K.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError
from mercer.hilbert.definiteness import Definiteness, definiteness, polynomials
from mercer.hilbert.violation import find_violation
from mercer.kernels.algebra.sums import Constant
from mercer.kernels.comparison import Comparison
from mercer.kernels.composite import Composite
from mercer.kernels.kernel import Kernel, bases_of, feature_count, offers
from mercer.kernels.protocols import Differentiable, HasFeatures, InputDifferentiable
from mercer.kernels.vectors.pointwise import OneBase
from mercer.language import parse
from mercer.runtime.tiling import spans
from mercer.spec import Spec, free_names, free_values, with_free

__all__ = ["KERNEL_LAWS", "Law", "Trial", "check_kernel", "violating_vector"]
__public__ = ["KERNEL_LAWS", "check_kernel", "violating_vector"]

_RESTARTS, _SECONDS = 2, 2.0  # of the search for points that violate definiteness; as a rule it takes a quarter
_ADVICE = "declare order = None if k is indefinite, or refuse such samples in `pack`"


class Trial:
    """A kernel on data, with what several laws need: packed samples, the matrix, sizes of its entries."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.given, self.X = kernel.check(), X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateWarning)
            packed = kernel.pack(X)
            self.kernel = kernel.learn(packed)
            self.S = self.kernel.prepare(packed)
        self.rng = np.random.default_rng(0)

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.S)

    @cached_property
    def K(self) -> Floats:
        """The whole matrix as the kernel's block gives it."""
        return np.array(self.kernel.block(self.S, self.S))

    @cached_property
    def slack(self) -> float:
        """Rounding allowed, relative to the size of an entry."""
        return 4096.0 * float(np.finfo(self.K.dtype).eps)

    @cached_property
    def size(self) -> Floats:
        """What errors of the entries are compared with: sqrt(k(x, x) k(z, z)), or the largest entry."""
        if self.kernel.order == 0:
            root = np.sqrt(np.abs(np.diagonal(self.K)).astype(float))
            return np.multiply.outer(root, root)
        return np.full(self.K.shape, float(np.abs(self.K).max(initial=0.0)))

    def rows(self) -> tuple[slice, slice]:
        """Two overlapping runs of samples."""
        return slice(0, max(1, 2 * self.n // 3)), slice(self.n // 3, self.n)

    def block_of(self, kernel: Kernel) -> Floats:
        """Return the matrix of another kernel on the same raw data."""
        S = kernel.prepare(kernel.pack(self.X))
        return np.array(kernel.block(S, S))

    def same(self, got: Any, expected: Any, size: Any, slack: float | None = None) -> None:
        """Raise unless two arrays agree up to rounding relative to some size."""
        got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
        if got.shape != expected.shape:
            raise Broken(f"shape {got.shape} instead of {expected.shape}")
        allowed = (self.slack if slack is None else slack) * np.asarray(size) + np.finfo(float).tiny
        wrong = ~(np.abs(got - expected) <= allowed)  # NaN is wrong
        if wrong.any():
            place = tuple(map(int, np.argwhere(wrong)[0]))
            raise Broken(f"entry {place} is {got[place]!r}, expected {expected[place]!r}")


class Broken(AssertionError):
    """A law does not hold; the caller adds its name."""


@dataclass(frozen=True)
class Law:
    """One law of kernels: its name, its formula, whether a kernel claims it, and the test."""

    name: str
    statement: str
    holds: Callable[[Trial], None]
    claimed: Callable[[Trial], bool]

    def check(self, trial: Trial) -> None:
        """Raise AssertionError, with the law's name, if it is claimed and does not hold."""
        if not self.claimed(trial):
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DegenerateWarning)
                self.holds(trial)
        except Broken as broken:
            message = f"{trial.given!r} breaks the law of {self.name}: {self.statement}. {broken}."
            raise AssertionError(message) from None


KERNEL_LAWS: dict[str, Law] = {}


def _law(name: str, statement: str, claimed: Callable[[Trial], bool] = lambda trial: True):
    def register(holds: Callable[[Trial], None]) -> Callable[[Trial], None]:
        KERNEL_LAWS[name] = Law(name, statement, holds, claimed)
        return holds

    return register


def _require(condition: Any, detail: str) -> None:
    if not condition:
        raise Broken(detail)


def _is_definite(trial: Trial) -> bool:
    return trial.kernel.order == 0


def _is_dense(trial: Trial) -> bool:
    return type(trial.S) is Vectors and not trial.S.is_sparse


def check_kernel(kernel: Kernel, X: Any, *, laws: Iterable[str] | None = None) -> None:
    """Check all laws of kernels on some data.

    Parameters
    ----------
    kernel : Kernel
        Of mercer or of your own; all it declares (order, normalised, stationary, capabilities) is tested.
    X : raw data
        Some samples of the kernel's domain, as a user gives them; ten or twenty are enough. Definiteness is tested
        beyond them: other points are made from them, for about half a second (see
        `mercer.hilbert.find_violation`, which can be given more time).
    laws : iterable of str, optional
        Names out of `KERNEL_LAWS`; all by default.

    Raises
    ------
    AssertionError
        With the name of the law that is broken, its formula, and where.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> check_kernel(Gaussian(1.0), [[0.0], [0.5], [2.0]])
    """
    trial = Trial(kernel, X)
    chosen = list(KERNEL_LAWS if laws is None else laws)
    for name in chosen:
        KERNEL_LAWS[name].check(trial)
    if "definiteness" in chosen:
        SEARCH.check(trial)


# ------------------------------------------------------------------------------- numbers


@_law("symmetry", "k(x, z) = k(z, x)")
def _symmetry(trial: Trial) -> None:
    _require(trial.K.shape == (trial.n, trial.n), f"block has shape {trial.K.shape} for {trial.n} samples")
    _require(np.isfinite(trial.K).all(), "a value is not finite")
    _require(np.array_equal(trial.K, trial.K.T), "block(S, S) is not symmetric to the bit")
    copied = trial.S.take(np.arange(trial.n))
    trial.same(trial.kernel.block(trial.S, copied), trial.K, trial.size)


@_law("definiteness", "sum_ij c_i c_j k(x_i, x_j) >= 0 (for all c, or for c orthogonal to polynomials)")
def _definiteness(trial: Trial) -> None:
    if trial.kernel.order is not None:
        found = _sign(trial)
        _require(found.positive, f"c = {found.vector!r} gives {found.smallest:.3g}; {_ADVICE}")


def _no_violation(trial: Trial) -> None:
    if trial.kernel.order is not None:
        found = find_violation(trial.given, trial.X, restarts=_RESTARTS, max_time=_SECONDS)
        _require(not found, f"Searched for: {str(found)[:2000]}; {_ADVICE}")


SEARCH = Law("definiteness", KERNEL_LAWS["definiteness"].statement, _no_violation, lambda trial: True)


def violating_vector(kernel: Kernel, X: Any) -> Floats | None:
    """Return c with sum_ij c_i c_j k(x_i, x_j) < 0 beyond rounding, or None if there is none on these data.

    For a conditionally positive definite kernel c is orthogonal to polynomials; for others any c will do.
    `mercer.hilbert.find_violation` also looks for the points.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> violating_vector(Gaussian(1.0), [[0.0], [1.0]]) is None
    True
    """
    found = _sign(Trial(kernel, X))
    return None if found.positive else found.vector


def _sign(trial: Trial) -> Definiteness:
    order = trial.kernel.order or 0
    return definiteness(trial.K, order, basis=polynomials(trial.S, order) if order else None)


@_law("Cauchy-Schwarz", "k(x, z)^2 <= k(x, x) k(z, z)", _is_definite)
def _cauchy_schwarz(trial: Trial) -> None:
    over = np.abs(trial.K) - trial.size * (1.0 + trial.slack)
    _require((over <= np.finfo(float).tiny).all(), f"an entry exceeds its bound by {over.max():.3g}")


@_law("the diagonal", "diag(S) = diagonal of block(S, S)")
def _diagonal(trial: Trial) -> None:
    trial.same(trial.kernel.diag(trial.S), np.diagonal(trial.K), np.diagonal(trial.size))


@_law("distances", "|Phi(x) - Phi(z)|^2 = k(x, x) + k(z, z) - 2 k(x, z), with the triangle inequality")
def _distances(trial: Trial) -> None:
    if trial.kernel.order not in (0, 1):
        return
    d = np.diagonal(trial.K).astype(float)
    size = float(np.abs(trial.K).max(initial=0.0))
    squares = np.add.outer(d, d) - 2.0 * trial.K
    _require(squares.min() >= -4.0 * trial.slack * size, f"a squared distance is {squares.min():.3g}")
    D = trial.kernel.distance(trial.S)
    trial.same(D**2, np.maximum(squares, 0.0), 4.0 * size)
    detour = (D[:, :, None] + D[None]).min(axis=1)
    _require((detour - D >= -4.0 * np.sqrt(trial.slack * size)).all(), "a detour is shorter than the distance")


@_law("transposition", "block(A, B) = block(B, A)^T")
def _transposition(trial: Trial) -> None:
    a, b = trial.rows()
    A, B = trial.S[a], trial.S[b]
    trial.same(trial.kernel.block(A, B), np.asarray(trial.kernel.block(B, A)).T, trial.size[a, b])


@_law("slices", "the block of a slice is the slice of the block")
def _slices(trial: Trial) -> None:
    a, b = trial.rows()
    trial.same(trial.kernel.block(trial.S[a], trial.S[b]), trial.K[a, b], trial.size[a, b])
    trial.same(trial.kernel.block(trial.S[a], trial.S[a]), trial.K[a, a], trial.size[a, a])
    one = trial.S[trial.n - 1]
    trial.same(trial.kernel.block(one, one), trial.K[-1:, -1:], trial.size[-1:, -1:])


@_law("tiles", "the matrix does not depend on the tiles it is computed in")
def _tiles(trial: Trial) -> None:
    for side in (1, 2):
        comparison = Comparison(trial.kernel, trial.S, trial.S)
        out = np.empty_like(trial.K)
        for rows in spans(trial.n, side):
            for columns in spans(trial.n, side):
                out[rows, columns] = comparison.at(rows, columns).value(trial.kernel)
        trial.same(out, trial.K, trial.size)


@_law("permutation", "reordering the samples reorders the matrix")
def _permutation(trial: Trial) -> None:
    order = trial.rng.permutation(trial.n)
    P = trial.S.take(order)
    trial.same(trial.kernel.block(P, P), trial.K[np.ix_(order, order)], trial.size[np.ix_(order, order)])


@_law("calls", "k(X) and k(X, X) are block(S, S), for any number of threads to the bit")
def _calls(trial: Trial) -> None:
    one, two = (trial.kernel(trial.X, n_threads=threads) for threads in (1, 2))
    _require(np.array_equal(one, two), "one thread and two threads differ")
    trial.same(one, trial.K, trial.size)
    trial.same(trial.kernel(trial.X, trial.X), trial.K, trial.size)


# --------------------------------------------------------------------------- the algebra


@_law("sums", "(k + c)(x, z) = k(x, z) + c, and k + k is 2 k")
def _sums(trial: Trial) -> None:
    shifted, doubled = trial.kernel + 0.5, trial.kernel + trial.kernel
    trial.same(trial.block_of(shifted), trial.K + 0.5, trial.size + 0.5)
    trial.same(trial.block_of(doubled), 2.0 * trial.K, trial.size)
    for kernel in (shifted, doubled):
        _definiteness(Trial(kernel, trial.X))


@_law("products", "(k k)(x, z) = k(x, z)^2 is a kernel (Schur)", _is_definite)
def _products(trial: Trial) -> None:
    square = trial.kernel * trial.kernel
    with np.errstate(over="ignore", under="ignore"):
        if np.isfinite(trial.size.astype(trial.K.dtype) ** 2).all():
            trial.same(trial.block_of(square), trial.K.astype(float) ** 2, 2.0 * trial.size**2)
            _definiteness(Trial(square, trial.X))


@_law("multiples", "(a k)(x, z) = a k(x, z) for a >= 0; a < 0 is refused")
def _multiples(trial: Trial) -> None:
    trial.same(trial.block_of(0.25 * trial.kernel), 0.25 * trial.K, trial.size)
    try:
        _ = -1.0 * trial.kernel
    except ValueError:
        return
    raise Broken("-1.0 * k was accepted")


@_law("normalisation", "k(x, z) / sqrt(k(x, x) k(z, z)) is a kernel with ones on the diagonal", _is_definite)
def _normalisation(trial: Trial) -> None:
    N = trial.block_of(trial.kernel.normalized())
    _require(np.abs(N).max() <= 1.0 + trial.slack, f"an entry is {np.abs(N).max()!r}")
    usual = np.diagonal(trial.K) > np.sqrt(np.finfo(trial.K.dtype).tiny)
    trial.same(np.diagonal(N)[usual], np.ones(int(usual.sum())), 1.0)
    both = np.ix_(usual, usual)
    trial.same(N[both] * trial.size[both], trial.K[both], trial.size[both])


# ------------------------------------------------------------------------ what is declared


@_law("unit self-similarity", "k(x, x) = 1", lambda trial: trial.kernel.normalised)
def _normalised(trial: Trial) -> None:
    trial.same(np.diagonal(trial.K), np.ones(trial.n), 1.0)


@_law("translation", "k(x + t, z + t) = k(x, z)", lambda trial: trial.kernel.stationary and _is_dense(trial))
def _translation(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    steps = trial.rng.integers(-4, 5, trial.S.width) * 2.0 ** np.ceil(np.log2(max(1.0, trial.S.largest)))
    moved = Vectors.pack(np.asarray(trial.S.X, dtype=float) + steps)
    trial.same(trial.kernel.block(moved, moved), trial.K, trial.size, 1e-10)


def _reflects(trial: Trial) -> bool:
    bases = list(bases_of(trial.kernel))
    plain = all(path == () and base.period is None for path, base, _ in bases)
    return _is_dense(trial) and bool(bases) and plain and _is_based(trial.kernel)


def _is_based(kernel: Kernel) -> bool:
    """Whether a kernel, with all its terms, is known to be a function of its bases."""
    if isinstance(kernel, Composite):
        return not kernel.anchored and all(map(_is_based, kernel.kernels))
    return isinstance(kernel, (OneBase, Constant))


@_law("reflection", "k of a distance or dot product does not change with the signs of columns", _reflects)
def _reflection(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    signs = np.where(trial.rng.random(trial.S.width) < 0.5, -1.0, 1.0)
    turned = Vectors.pack(np.asarray(trial.S.X) * signs)
    trial.same(trial.kernel.block(turned, turned), trial.K, trial.size)


def _rotates(trial: Trial) -> bool:
    plain = (base.kind != "manhattan" and base.scale is None for _, base, _ in bases_of(trial.kernel))
    return _reflects(trial) and all(plain)


@_law("rotation", "k(Q x, Q z) = k(x, z) for orthogonal Q", _rotates)
def _rotation(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    Q, _ = np.linalg.qr(trial.rng.normal(size=(trial.S.width, trial.S.width)))
    # not by a matrix product, whose rounding may differ from row to row: equal rows stay equal
    turned = Vectors.pack((np.asarray(trial.S.X, dtype=float)[:, None, :] * Q).sum(axis=-1))
    size = np.maximum(trial.size, 1e-8)  # where all values are zero, as r^2 log r at r = 1, rounding shows
    trial.same(trial.kernel.block(turned, turned), trial.K, size, 1e-7)


@_law("sparse storage", "sparse vectors give what dense ones give", _is_dense)
def _sparse_storage(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    try:
        S = trial.kernel.prepare(trial.kernel.pack(sp.csr_array(trial.S.X)))
        K = trial.kernel.block(S, S)
    except (DomainError, CapabilityError):
        return  # refused explicitly
    trial.same(K, trial.K, trial.size, max(1e-9, trial.slack))
    trial.same(trial.kernel.diag(S), np.diagonal(trial.K), np.diagonal(trial.size), max(1e-9, trial.slack))


@_law("single precision", "float32 data give float32 values near those of float64", _is_dense)
def _single_precision(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    narrow = np.asarray(trial.S.X, dtype=np.float32)
    if not np.isfinite(narrow).all():
        return
    wide = trial.kernel(narrow.astype(float))
    single = trial.kernel(narrow)
    _require(single.dtype == np.float32, f"float32 data give {single.dtype}")
    trial.same(single, wide, np.maximum(trial.size, np.abs(wide)), 5e-3)


@_law("features", "block(A, B) = F(A) F(B)^T", lambda trial: offers(trial.kernel, HasFeatures))
def _features(trial: Trial) -> None:
    F, keys = trial.kernel.features(trial.S)
    count = feature_count(trial.kernel, trial.S)
    _require(count is None or count == F.shape[1], f"{F.shape[1]} features, but feature_count says {count}")
    a, _ = trial.rows()
    new, _ = trial.kernel.features(trial.S[a], keys)
    for left, rows in ((F, slice(None)), (new, a)):
        product = left @ F.T
        product = product.toarray() if sp.issparse(product) else product
        trial.same(product, trial.K[rows], trial.size[rows], max(1e-12, trial.slack))


# --------------------------------------------------------------------------- derivatives


def _within(low: Floats, high: Floats, W: Floats, got: Any, size: float, what: str) -> None:
    """Raise unless sum W d lies between the one-sided differences; at a kink any value between will do."""
    least = np.minimum(W * low, W * high).sum(axis=-1)
    most = np.maximum(W * low, W * high).sum(axis=-1)
    slack = 1e-5 * (np.abs(W) * np.maximum(np.abs(low), np.abs(high))).sum(axis=-1) + 1e-7 * size
    wrong = ~((got >= least - slack) & (got <= most + slack))
    if np.any(wrong):
        place = np.flatnonzero(np.atleast_1d(wrong))[0]
        lo, hi, at = (np.atleast_1d(v)[place] for v in (least, most, got))
        raise Broken(f"{what}: derivative {at!r}, differences {lo!r} to {hi!r}")


@_law("the gradient", "pullback(A, B, W) = sum_ij W_ij dk(a_i, b_j) / dtheta",
      lambda trial: offers(trial.kernel, Differentiable))  # fmt: skip
def _gradient(trial: Trial) -> None:
    kernel, (a, b) = trial.kernel, trial.rows()
    A, B = trial.S[a], trial.S[b]
    W = trial.rng.normal(size=(len(A), len(B)))
    try:
        got, theta = kernel.pullback(A, B, W), free_values(kernel)
    except DomainError:
        return  # refused where there is no derivative
    _require(got.shape == theta.shape, f"shape {got.shape} for {len(theta)} free parameters")
    middle = np.asarray(kernel.block(A, B), dtype=float)
    for place, name in enumerate(free_names(kernel)):
        step = np.zeros(len(theta))
        step[place] = 1e-6 * max(abs(theta[place]), 1e-3)
        up, down = (
            np.asarray(k.block(k.prepare(A), k.prepare(B)), dtype=float)
            for k in (with_free(kernel, theta + step), with_free(kernel, theta - step))
        )
        low, high = (middle - down) / step[place], (up - middle) / step[place]
        size = np.abs(W).sum() * np.abs(middle).max() / max(abs(theta[place]), 1e-3)
        _within(low.ravel(), high.ravel(), W.ravel(), got[place], float(size), name)


@_law("the gradient in the inputs", "pullback_inputs(A, B, W) = sum_j W_ij dk(a_i, b_j) / da_i",
      lambda trial: offers(trial.kernel, InputDifferentiable) and _is_dense(trial))  # fmt: skip
def _input_gradient(trial: Trial) -> None:
    kernel, (a, b) = trial.kernel, trial.rows()
    A, B = trial.S[a], trial.S[b]
    assert isinstance(A, Vectors)
    X = np.asarray(A.X, dtype=float)
    if not (kernel.continuous or np.any(X, axis=1).all()):
        return  # at the zero vector, which has no direction, it jumps
    W = trial.rng.normal(size=(len(A), len(B)))
    got = kernel.pullback_inputs(A, B, W)
    _require(got.shape == X.shape, f"shape {got.shape} for inputs of shape {X.shape}")
    middle = np.asarray(kernel.block(A, B), dtype=float)
    h = 1e-6 * max(1.0, float(np.abs(X).max()))
    for column in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[column] = h
        try:
            moved = [kernel.prepare(kernel.pack(X + sign * step)) for sign in (1.0, -1.0)]
        except DomainError:
            continue  # at the border of the domain
        up, down = (np.asarray(kernel.block(M, B), dtype=float) for M in moved)
        low, high = (middle - down) / h, (up - middle) / h
        size = float(np.abs(W).sum() * max(np.abs(up).max(), np.abs(down).max()) / (1e6 * h))
        _within(low, high, W, got[:, column], size, f"column {column}")


# --------------------------------------------------------------- a pure, describable object


def _is_plain(trial: Trial) -> bool:
    return "<" not in repr(trial.given)  # functions and large arrays have no text


@_law("text", "parse(repr(k)) == k", _is_plain)
def _text(trial: Trial) -> None:
    names = {type(spec).__name__: type(spec) for spec in _specs(trial.given)}
    read = parse(repr(trial.given), names=names)
    _require(read == trial.given, f"{trial.given!r} is read as {read!r}")


def _specs(spec: Spec) -> list[Spec]:
    return [spec, *(inner for _, child in spec._children() for inner in _specs(child))]


@_law("parameters", "get_params, set_params, clone and copies give an equal kernel")
def _parameters(trial: Trial) -> None:
    kernel = trial.given
    copies: list[Any] = [kernel.replace(), clone(kernel)]
    for again in copies:
        _require(again is not kernel and type(again) is type(kernel), "a copy is the kernel itself")
        params = again.get_params(deep=False)
        deep = {key: value for key, value in again.get_params(deep=True).items() if key not in params}
        _require(again.set_params(**params).set_params(**deep) is again, "set_params does not return the kernel")
        _require(repr(again) == repr(kernel), f"{kernel!r} becomes {again!r}")
        _require(again == kernel or not _is_plain(trial), f"{again!r} is not equal to {kernel!r}")
    deep_copy = copy.deepcopy(trial.kernel)
    trial.same(trial.block_of(deep_copy), trial.K, trial.size)


@_law("purity", "a kernel changes neither its arguments nor itself, and repeats itself to the bit")
def _purity(trial: Trial) -> None:
    arrays, text = [array.copy() for array in trial.S.arrays], repr(trial.given)
    first = np.array(trial.kernel.block(trial.S, trial.S))
    trial.kernel.diag(trial.S)
    _require(np.array_equal(first, trial.kernel.block(trial.S, trial.S)), "two calls differ")
    # by their bytes: missing values do not equal themselves
    unchanged = all(a.tobytes() == b.tobytes() for a, b in zip(arrays, trial.S.arrays, strict=True))
    _require(unchanged and repr(trial.given) == text, "the samples or the kernel were changed")
