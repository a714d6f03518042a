"""Laws as functions: what every kernel, Gram, loss, solver and domain must obey, to be called on your own.

``check_kernel(MyKernel(), X)`` returns nothing if all laws hold on the data X, and otherwise raises an
AssertionError that names the law, says it in a formula and tells where it was broken. A law that a kernel
does not claim (derivatives, features, translation invariance) is not asked of it.

Symbols: S packed samples, K = k(S, S), n their number, eps the rounding unit of K.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer.arrays import Floats
from mercer.constraints import free_names, free_values, with_free
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError
from mercer.gram import Dense, Features, GramSpec, HasEigen, HasFactor, HasRows
from mercer.kernels.algebra import Constant
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import RankOne
from mercer.kernels.radial import Gaussian
from mercer.language import parse
from mercer.losses import Loss
from mercer.numerics.tiling import spans
from mercer.problems import LinearSystem, Solution, Status
from mercer.solvers import Solver
from mercer.spec import Spec

__all__ = [
    "KERNEL_LAWS",
    "check_domain",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
    "violating_vector",
]


class Trial:
    """A kernel on data, with what several laws need: packed samples, the matrix, sizes to compare errors with."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.given, self.X = kernel.check(), X
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
    """A law does not hold; told without its name, which the caller adds."""


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
            told = f"{trial.given!r} breaks the law of {self.name}: {self.statement}. {broken}."
            raise AssertionError(told) from None


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
        Of mercer or of your own; everything it declares (order, normalised, stationary, capabilities) is tested.
    X : raw data
        Some samples of the kernel's domain, as a user gives them; ten or twenty are enough.
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
    for name in KERNEL_LAWS if laws is None else laws:
        KERNEL_LAWS[name].check(trial)


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
        c = _violation(trial)
        _require(c is None, f"c = {c!r} gives a negative number; declare order = None if k is indefinite")


def violating_vector(kernel: Kernel, X: Any) -> Floats | None:
    """Return c with sum_ij c_i c_j k(x_i, x_j) < 0 beyond rounding, or None if there is none on these data.

    For a conditionally positive definite kernel c is orthogonal to polynomials; for an indefinite one any c will do.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> violating_vector(Gaussian(1.0), [[0.0], [1.0]]) is None
    True
    """
    return _violation(Trial(kernel, X))


def _violation(trial: Trial) -> Floats | None:
    K, n = trial.K.astype(float), trial.n
    floor = 64.0 * n * float(np.finfo(trial.K.dtype).eps)
    basis = np.eye(n)
    if trial.kernel.order:
        powers = _polynomials(trial.S, trial.kernel.order)
        U, singular, _ = np.linalg.svd(powers, full_matrices=True)
        basis = U[:, int(np.sum(singular > 1e-12 * singular[0])) :]
        floor *= n
    if basis.shape[1] == 0:
        return None
    values, vectors = np.linalg.eigh(basis.T @ K @ basis)
    top = float(values[-1]) if not trial.kernel.order else float(np.abs(K).max())
    return basis @ vectors[:, 0] if values[0] < -floor * max(top, 0.0) else None


def _polynomials(S: Samples, order: int) -> Floats:
    """Return all monomials of total degree below the order at vectors; for other samples the constants."""
    if not isinstance(S, Vectors):
        return np.ones((len(S), 1))
    X = S.X.toarray() if sp.issparse(S.X) else S.X
    X = np.asarray(X, dtype=float) / max(1.0, float(np.abs(X).max()))
    columns = range(X.shape[1])
    chosen = [c for degree in range(order) for c in combinations_with_replacement(columns, degree)]
    return np.stack([np.prod(X[:, list(c)], axis=1) for c in chosen], axis=1)


@_law("Cauchy-Schwarz", "k(x, z)^2 <= k(x, x) k(z, z)", _is_definite)
def _cauchy_schwarz(trial: Trial) -> None:
    over = np.abs(trial.K) - trial.size * (1.0 + trial.slack)
    _require((over <= np.finfo(float).tiny).all(), f"an entry exceeds its bound by {over.max():.3g}")


@_law("distances", "|Phi(x) - Phi(z)|^2 = k(x, x) + k(z, z) - 2 k(x, z), with the triangle inequality")
def _distances(trial: Trial) -> None:
    if trial.kernel.order not in (0, 1):
        return
    D, d = trial.kernel.distance(trial.S), np.diagonal(trial.K).astype(float)
    size = float(np.abs(trial.K).max(initial=0.0))
    squares = np.add.outer(d, d) - 2.0 * trial.K
    _require(squares.min() >= -4.0 * trial.slack * size, f"a squared distance is {squares.min():.3g}")
    trial.same(D**2, np.maximum(squares, 0.0), 4.0 * size)
    detour = (D[:, :, None] + D[None]).min(axis=1)
    _require((D <= detour + 4.0 * np.sqrt(trial.slack * size)).all(), "a detour is shorter than the distance")


@_law("the diagonal", "diag(S) = diagonal of block(S, S)")
def _diagonal(trial: Trial) -> None:
    trial.same(trial.kernel.diag(trial.S), np.diagonal(trial.K), np.diagonal(trial.size))


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
    bases = list(trial.kernel.bases())
    return (
        _is_dense(trial)
        and bool(bases)
        and all(path == () and base.period is None for path, base, _ in bases)
    )


@_law("reflection", "k of a distance or dot product does not change with the signs of columns", _reflects)
def _reflection(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    signs = np.where(trial.rng.random(trial.S.width) < 0.5, -1.0, 1.0)
    turned = Vectors.pack(np.asarray(trial.S.X) * signs)
    trial.same(trial.kernel.block(turned, turned), trial.K, trial.size)


def _rotates(trial: Trial) -> bool:
    plain = (base.kind != "manhattan" and base.scale is None for _, base, _ in trial.kernel.bases())
    return _reflects(trial) and all(plain)


@_law("rotation", "k(Q x, Q z) = k(x, z) for orthogonal Q", _rotates)
def _rotation(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    Q, _ = np.linalg.qr(trial.rng.normal(size=(trial.S.width, trial.S.width)))
    # not by a matrix product, whose rounding may differ from row to row: equal rows stay equal
    turned = Vectors.pack((np.asarray(trial.S.X, dtype=float)[:, None, :] * Q).sum(axis=-1))
    trial.same(trial.kernel.block(turned, turned), trial.K, trial.size, 1e-7)


@_law("sparse storage", "sparse vectors give what dense ones give", _is_dense)
def _sparse_storage(trial: Trial) -> None:
    assert isinstance(trial.S, Vectors)
    try:
        S = trial.kernel.prepare(trial.kernel.pack(sp.csr_array(trial.S.X)))
        K = trial.kernel.block(S, S)
    except (DomainError, CapabilityError):
        return  # refused in so many words
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


@_law("features", "block(A, B) = F(A) F(B)^T", lambda trial: "features" in trial.kernel.capabilities)
def _features(trial: Trial) -> None:
    F, keys = trial.kernel.features(trial.S)
    count = trial.kernel.feature_count(trial.S)
    _require(count is None or count == F.shape[1], f"{F.shape[1]} features, but feature_count tells {count}")
    a, _ = trial.rows()
    new, _ = trial.kernel.features(trial.S[a], keys)
    for left, rows in ((F, slice(None)), (new, a)):
        product = left @ F.T
        product = product.toarray() if sp.issparse(product) else product
        trial.same(product, trial.K[rows], trial.size[rows], max(1e-12, trial.slack))


# --------------------------------------------------------------------------- derivatives


def _within(low: Floats, high: Floats, W: Floats, got: Any, size: float, what: str) -> None:
    """Raise unless sum W d lies between what one-sided differences allow; at a kink any value between will do."""
    least = np.minimum(W * low, W * high).sum(axis=-1)
    most = np.maximum(W * low, W * high).sum(axis=-1)
    slack = 1e-5 * (np.abs(W) * np.maximum(np.abs(low), np.abs(high))).sum(axis=-1) + 1e-7 * size
    wrong = ~((got >= least - slack) & (got <= most + slack))
    if np.any(wrong):
        place = np.flatnonzero(np.atleast_1d(wrong))[0]
        lo, hi, at = (np.atleast_1d(v)[place] for v in (least, most, got))
        raise Broken(f"{what}: derivative {at!r}, differences {lo!r} to {hi!r}")


@_law("the gradient", "pullback(A, B, W) = sum_ij W_ij dk(a_i, b_j) / dtheta",
      lambda trial: "pullback" in trial.kernel.capabilities)  # fmt: skip
def _gradient(trial: Trial) -> None:
    kernel, (a, b) = trial.kernel, trial.rows()
    A, B = trial.S[a], trial.S[b]
    W = trial.rng.normal(size=(len(A), len(B)))
    got, theta = kernel.pullback(A, B, W), free_values(kernel)
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
      lambda trial: "pullback_inputs" in trial.kernel.capabilities and _is_dense(trial))  # fmt: skip
def _input_gradient(trial: Trial) -> None:
    kernel, (a, b) = trial.kernel, trial.rows()
    A, B = trial.S[a], trial.S[b]
    assert isinstance(A, Vectors)
    X = np.asarray(A.X, dtype=float)
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
    for again in (kernel.replace(), clone(kernel)):
        _require(again is not kernel and type(again) is type(kernel), "a copy is the kernel itself")
        params = again.get_params(deep=False)
        deep = {key: value for key, value in again.get_params(deep=True).items() if key not in params}
        _require(
            again.set_params(**params).set_params(**deep) is again, "set_params does not return the kernel"
        )
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
    unchanged = map(np.array_equal, arrays, trial.S.arrays)
    _require(all(unchanged) and repr(trial.given) == text, "the samples or the kernel were changed")


# ------------------------------------------------------------------- Grams, losses, solvers


def _close(got: Any, expected: Any, tol: float, what: str) -> None:
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, f"{what}: shape {got.shape} instead of {expected.shape}"
    error = float(np.abs(got - expected).max(initial=0.0))
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-300)
    assert error <= tol * size, f"{what}: off by {error:.3g}, of numbers up to {size:.3g}"


def check_gram(spec: GramSpec, kernel: Kernel, X: Any, *, exact: bool = True, tol: float = 1e-10) -> None:
    """Check that all a Gram offers is the one matrix, and (if exact) that it is the dense one.

    Parameters
    ----------
    spec : GramSpec
    kernel : Kernel
    X : raw data
    exact : bool, default True
        Whether the matrix must be that of `Dense`; otherwise its own ``to_dense`` is what it is compared with.
    tol : float, default 1e-10
        Error allowed relative to the largest number.

    Examples
    --------
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Gaussian
    >>> check_gram(Tiles(), Gaussian(1.0), [[0.0], [0.5], [2.0]])
    """
    S, rng = kernel.pack(X), np.random.default_rng(0)
    gram, n = spec.check().build(kernel, S), len(S)
    K = Dense().build(kernel, S).to_dense() if exact else np.asarray(gram.to_dense())
    assert gram.shape == (n, n), f"shape {gram.shape} for {n} samples"
    _close(gram.to_dense(), K, tol, "to_dense")
    for shape in ((n,), (n, 1), (n, 3)):
        V = rng.normal(size=shape)
        assert (gram @ V).dtype == np.float64, "products are not float64"
        _close(gram @ V, K @ V, tol, f"product with shape {shape}")
    _close(gram.diag(), np.diagonal(K), tol, "diag")
    index = rng.permutation(n)[: max(1, n // 2)]
    _close(gram.take(index) @ np.eye(len(index)), K[np.ix_(index, index)], tol, "take")
    if isinstance(gram, HasRows):
        _check_rows(gram, K, index, tol)
    if isinstance(gram, HasFactor):
        _check_factor(gram, K, tol)
    if isinstance(gram, HasEigen):
        values, vectors = gram.eigh()
        _close((vectors * values) @ vectors.T, K, tol, "eigh")
    T, coef = S.take(index), rng.normal(size=(n, 2))
    cross = gram.cross(T)
    assert cross.shape == (len(index), n), f"cross has shape {cross.shape}"
    _close(cross.to_dense(), K[index], tol, "cross.to_dense")
    _close(cross @ coef, K[index] @ coef, tol, "cross")
    function = gram.expand(Solution(coef, Status.CONVERGED, 0.0), intercept=np.array([1.0, -2.0]))
    _close(function(T), K[index] @ coef + [1.0, -2.0], tol, "expand")


def _check_rows(gram: Any, K: Floats, index: Any, tol: float) -> None:
    some, out = np.arange(len(K))[::2], np.empty((len(index), len(K)))
    _close(gram.rows(index), K[index], tol, "rows")
    _close(gram.rows(index, some), K[np.ix_(index, some)], tol, "rows and columns")
    gram.rows(index, out=out)
    _close(out, K[index], tol, "rows into an array")
    for shape in ((len(index),), (len(index), 2)):
        V, total = np.random.default_rng(1).normal(size=shape), np.ones((len(K), *shape[1:]))
        gram.update(index, V, total)
        _close(total, 1.0 + K[:, index] @ V, tol, f"update with shape {shape}")


def _check_factor(gram: Any, K: Floats, tol: float) -> None:
    F, n = gram.factor(), len(K)
    rng = np.random.default_rng(2)
    weight, rhs = rng.random(n) + 0.5, rng.normal(size=n)
    _close(F @ F.T, K, tol, "factor")
    _close(gram.factor(slice(1, n)), F[1:], tol, "rows of the factor")
    square, moment = gram.normal(weight, rhs)
    _close(square, (F.T * weight) @ F, tol, "normal equations")
    _close(moment, (F.T * weight) @ rhs, tol, "right-hand side of the normal equations")


def check_loss(loss: Loss, y: Sequence[float] = (-1.0, 1.0), *, convex: bool = True) -> None:
    """Check a loss: shapes, not negative, gradient = difference, convexity, curvature.

    Parameters
    ----------
    loss : Loss
    y : sequence of float, default (-1, 1)
        What may be observed.
    convex : bool, default True
        Whether the loss is convex in the prediction.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> check_loss(Squared())
    """
    loss.check()
    rng, step = np.random.default_rng(0), 1e-6
    targets = rng.choice(np.asarray(y, dtype=float), size=200)
    f = np.concatenate([rng.normal(size=150) * 3.0, targets[150:]])  # exact predictions are among them
    value, slope, curve = loss.value(targets, f), loss.gradient(targets, f), loss.curvature(targets, f)
    for what, numbers in (("value", value), ("gradient", slope), ("curvature", curve)):
        assert np.shape(numbers) == f.shape, f"{loss!r}: {what} has shape {np.shape(numbers)}"
        assert np.isfinite(numbers).all(), f"{loss!r}: {what} is not finite"
        pairs = getattr(loss, what)(targets.reshape(-1, 2), f.reshape(-1, 2))
        assert np.array_equal(pairs, numbers.reshape(-1, 2)), f"{loss!r}: {what} is not elementwise"
    assert (value >= 0).all(), f"{loss!r} is negative: {value.min()}"
    low = (value - loss.value(targets, f - step)) / step
    high = (loss.value(targets, f + step) - value) / step
    slack = 1e-5 * (1.0 + np.abs(slope))
    within = (slope >= np.minimum(low, high) - slack) & (slope <= np.maximum(low, high) + slack)
    assert within.all(), f"{loss!r}: the gradient is not the derivative at f = {f[~within][:1]}"
    assert (curve >= 0).all(), f"{loss!r}: a curvature is negative"
    other = f[::-1].copy()
    if convex:
        middle = loss.value(targets, 0.5 * (f + other))
        above = middle - 0.5 * (value + loss.value(targets, other))
        assert (above <= 1e-9 * (1.0 + np.abs(middle))).all(), f"{loss!r} is not convex"
    _check_curvature(loss, targets, f, other)
    assert parse(repr(loss), names={type(loss).__name__: type(loss)}) == loss, f"{loss!r} is not its text"
    assert clone(loss) == loss, f"a clone of {loss!r} is another loss"


def _check_curvature(loss: Loss, y: Floats, f: Floats, other: Floats) -> None:
    """Raise unless the curvature majorises or is the second derivative."""
    d = other - f
    quadratic = loss.value(y, f) + loss.gradient(y, f) * d + 0.5 * loss.curvature(y, f) * d * d
    majorises = (quadratic >= loss.value(y, other) - 1e-9 * (1.0 + np.abs(quadratic))).all()
    h = 1e-4
    second = (loss.value(y, f + h) - 2.0 * loss.value(y, f) + loss.value(y, f - h)) / h**2
    bends = np.abs(second - loss.curvature(y, f)) <= 1e-4 * (1.0 + np.abs(second))
    assert majorises or bends.all(), f"{loss!r}: the curvature neither majorises nor is the second derivative"


def check_solver(solver: Solver, *, tol: float = 1e-6) -> None:
    """Check a solver of linear systems: against elimination, from a start, on reordered samples.

    Parameters
    ----------
    solver : Solver
        One that solves `LinearSystem`.
    tol : float, default 1e-6
        Error allowed relative to the largest coefficient.

    Examples
    --------
    >>> from mercer.solvers import Cholesky
    >>> check_solver(Cholesky())
    """
    if not issubclass(LinearSystem, solver.solves):
        raise CapabilityError(
            f"check_solver was given {solver!r}, which solves {solver.solves.__name__}; it checks solvers of "
            "LinearSystem. Check this one against another solver of its problem."
        )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    columns = [RankOne(_Column(j)) for j in range(2)]
    factored = HasFactor in solver.needs
    kernel = columns[0] + columns[1] + Constant(1.0) if factored else Gaussian(1.0)
    gram = (Features() if factored else Dense()).build(kernel, kernel.pack(X))
    K = gram @ np.eye(24)
    for shift in (0.5, rng.random(24) + 0.1):
        for rhs in (rng.normal(size=24), rng.normal(size=(24, 3))):
            for border in (None, np.ones((24, 1))):
                _check_solution(solver, LinearSystem(_Operator.around(gram), shift, rhs, border), K, tol)


class _Column:
    """A function that gives one column; unlike a lambda it can be copied and pickled."""

    def __init__(self, column: int) -> None:
        self.column = column

    def __call__(self, X: Any) -> Floats:
        return np.asarray(X)[:, self.column]


class _Operator:
    """A Gram that may be used again after a solver has overwritten its array."""

    @staticmethod
    def around(gram: Any) -> Any:
        return gram.take(np.arange(gram.shape[0]))


def _check_solution(solver: Solver, problem: LinearSystem, K: Floats, tol: float) -> None:
    n, border = len(K), problem.border
    shift = np.broadcast_to(np.asarray(problem.shift, dtype=float), (n,))
    s = 0 if border is None else border.shape[1]
    whole = np.zeros((n + s, n + s))
    whole[:n, :n] = K + np.diag(shift)
    if border is not None:
        whole[:n, n:], whole[n:, :n] = border, border.T
    rhs = np.concatenate([problem.rhs, np.zeros((s, *problem.rhs.shape[1:]))])
    expected = np.linalg.solve(whole, rhs)
    order = np.random.default_rng(1).permutation(n)
    again, reordered = _Operator.around(problem.gram), problem.gram.take(order)
    try:
        solution = solver.solve(problem)
    except CapabilityError:
        assert border is not None, f"{solver!r} refuses a system without a border"
        return
    assert solution.status is Status.CONVERGED, f"{solver!r} ended with {solution.status}"
    assert solution.residual <= tol, f"{solver!r} left a residual of {solution.residual:.3g}"
    _close(solution.coef, expected[:n], tol, f"{solver!r}: coefficients")
    if s:
        _close(
            np.reshape(solution.multipliers, expected[n:].shape),
            expected[n:],
            tol,
            f"{solver!r}: multipliers",
        )
    warm = solver.solve(LinearSystem(again, problem.shift, problem.rhs, border), start=solution.coef)
    _close(warm.coef, expected[:n], tol, f"{solver!r}: coefficients from a start")
    assert len(warm.trace) <= max(len(solution.trace), 2), f"{solver!r} takes longer from the solution itself"
    turned = LinearSystem(
        reordered, shift[order], problem.rhs[order], None if border is None else border[order]
    )
    _close(
        solver.solve(turned).coef, expected[:n][order], tol, f"{solver!r}: coefficients of reordered samples"
    )


def check_domain(domain: type[Samples], X: Any) -> None:
    """Check a domain on raw data: packing, slices, joining, copies.

    Parameters
    ----------
    domain : type of Samples
    X : raw data
        As its ``pack`` takes them.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> check_domain(Vectors, [[0.0], [0.5], [2.0]])
    """
    S = domain.pack(X)
    n, name = len(S), domain.__name__
    assert isinstance(S, domain) and domain.pack(S) is S, (
        f"{name}.pack does not return packed samples as they are"
    )
    assert copy.deepcopy(S) is S and clone(S, safe=False) is S, (
        f"copies of {name} are not the collection itself"
    )
    assert S.shape[0] == n and S.nbytes >= 0, f"{name} have another shape than their length"
    marked = S.with_derived("place", np.arange(n))
    for index in (slice(0, n, 2), np.arange(n)[::-1], np.arange(n) % 2 == 0, np.array([0, 0])):
        expected = np.arange(n)[index]
        assert np.array_equal(marked[index].derived["place"], expected), (
            f"{name}[{index!r}] takes other samples"
        )
        assert len(marked.take(index)) == len(expected), f"{name}.take({index!r}) has another length"
    assert sum(len(tile) for tile in S.tiles(2)) == n, f"tiles of {name} lose samples"
    half = n // 2
    assert len(S[:half].concat(S[half:])) == n, f"joined {name} lose samples"
