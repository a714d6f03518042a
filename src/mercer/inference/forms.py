"""Centred Gram matrices as tests need them: quadratic forms, a diagonal, perhaps entries or a factor.

Symbols: K the Gram matrix of n samples, P = I - 1 1^T / n, K~ = P K P; F a centred factor, (n, r), K~ = F F^T;
Z rows of weights, (B, n).

Means of images are all that the statistics compare, so K~ serves as well as K, and kernels that are conditionally
positive definite of order 1 (distances) serve as well as positive definite ones. Its sums are free of cancellation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.constraints import Integer
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError, warn_caller
from mercer.gram import Dense, Gram, GramSpec, HasFactor, HasRows
from mercer.gram.algebra import Centered, centred
from mercer.gram.gram import has_array, is_stored
from mercer.inference.options import part_of, require_matrices, tell
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.foreign import KernelLike, any_kernel
from mercer.kernels.kernel import AnyKernel
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.pivoting import pivoted_cholesky
from mercer.runtime.tiling import blas_for, in_background, run_tasks, serial_blas, spans

__all__ = [
    "DenseForm",
    "FactorForm",
    "Form",
    "ProductForm",
    "eigenpairs",
    "entries",
    "factor_of",
    "inner",
    "is_dense",
    "matrix",
    "packed",
    "pair",
    "paired",
    "pooled",
    "product",
    "represent",
]

_RANK_TOL = 1e-12  # eigenvalues below it, relative to the largest, are rounding
_SMALL = 1e7  # multiplications that are not worth a task
_TASK = 2e9  # multiplications of a task, half of which are done: some 50 milliseconds
_SIDE = 256  # of blocks, in which half of the products are left out
_PASS = 2**21  # numbers of a matrix that are changed at once


class Form(ABC):
    """A centred Gram matrix."""

    n: int
    resources: Resources

    @abstractmethod
    def forms(self, Z: Floats) -> Floats:
        """Return z^T K~ z for each row of Z, (B,)."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return the diagonal of K~."""

    @abstractmethod
    def times(self, V: Floats) -> Floats:
        """Return K~ V."""

    @abstractmethod
    def rows(self, index: Index, columns: Index = slice(None)) -> Floats:
        """Return some rows of K~, and of these some columns; they must not be changed."""


class DenseForm(Form):
    """A Gram matrix in memory."""

    def __init__(self, K: Floats, resources: Resources = UNLIMITED) -> None:
        self.array, self.n, self.resources = K, len(K), resources

    def forms(self, Z: Floats) -> Floats:
        """Return the quadratic forms by products with the blocks on and above the diagonal: half of all."""
        out = np.empty(len(Z))
        if Z.size * self.n < _SMALL:
            with serial_blas():
                self._some(Z, out)
        else:
            rows = spans(len(Z), max(8, min(128, int(_TASK / self.n**2))))
            run_tasks(rows, lambda part: self._some(Z[part], out[part]), n_threads=self.resources.n_threads)
        return out

    def _some(self, Z: Floats, out: Floats) -> None:
        out[:] = 0.0
        for own in spans(self.n, _SIDE):
            above = Z[:, : own.start] @ self.array[: own.start, own]
            above *= 2.0
            above += Z[:, own] @ self.array[own, own]
            out += np.einsum("bi,bi->b", above, Z[:, own])

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.array).copy()

    def times(self, V: Floats) -> Floats:
        """Return the product."""
        return product(self.array, V)

    def rows(self, index: Index, columns: Index = slice(None)) -> Floats:
        """Return entries as they are, where that needs no copy."""
        found = self.array[index]
        return found if isinstance(columns, slice) and columns == slice(None) else found[:, columns]


class FactorForm(Form):
    """A Gram matrix by its factor."""

    def __init__(self, F: Floats, resources: Resources = UNLIMITED) -> None:
        self.factor, self.n, self.resources = F, len(F), resources

    def forms(self, Z: Floats) -> Floats:
        """Return the squared lengths of Z F."""
        found = product(Z, self.factor)
        return np.einsum("br,br->b", found, found)

    def diagonal(self) -> Floats:
        """Return the squared lengths of the factor's rows."""
        return np.einsum("ir,ir->i", self.factor, self.factor)

    def times(self, V: Floats) -> Floats:
        """Return the product, by two with the factor."""
        return product(self.factor, product(self.factor.T, V))

    def rows(self, index: Index, columns: Index = slice(None)) -> Floats:
        """Return inner products of the factor's rows."""
        return product(self.factor[index], self.factor[columns].T)


class ProductForm(Form):
    """A Gram matrix that is never stored."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.n, self.resources = gram, gram.shape[0], gram.resources

    def forms(self, Z: Floats) -> Floats:
        """Return the quadratic forms by products with the Gram."""
        return np.einsum("ib,bi->b", self.gram @ np.ascontiguousarray(Z.T), Z)

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return self.gram.diag()

    def times(self, V: Floats) -> Floats:
        """Return the product with the Gram."""
        return self.gram @ V

    def rows(self, index: Index, columns: Index = slice(None)) -> Floats:
        """Return entries, which are computed now."""
        below = getattr(self.gram, "gram", self.gram)
        if not (isinstance(below, HasRows) and isinstance(self.gram, HasRows)):
            raise CapabilityError(
                "Only products with the Gram matrix are available, and its entries are needed. Use gram=Tiles() or "
                "Dense()."
            )
        return np.asarray(self.gram.rows(np.arange(self.n)[index], columns), dtype=float)


# data -------------------------------------------------------------------------------------------------------


def packed(X: Any, kernel: KernelLike) -> tuple[Kernel, Samples]:
    """Return the kernel that is meant and the samples as it packs them; a vector of numbers is a column.

    Examples
    --------
    >>> packed([1.0, 2.0], None)
    (Gaussian('median'), <Vectors: 2 samples, 1 column, float64>)
    """
    AnyKernel().check("kernel", kernel, "a measure or test")
    if kernel is None:
        kernel = Gaussian("median")
    found: Kernel = kernel if isinstance(kernel, Kernel) else any_kernel(kernel, _width(X))
    found.check()
    if found.domain is Vectors and not isinstance(X, Samples) and _is_column(X):
        X = np.asarray(X)[:, None]
    if found.order is None:
        warn_caller(
            f"{found!r} is not positive definite, so what the statistic measures need not be a distance; p-values by "
            "permutation stay exact. Use a positive definite kernel.",
            IndefiniteWarning,
        )
    elif found.order > 1:
        raise CapabilityError(
            f"{found!r} is conditionally positive definite of order {found.order}; means are compared by kernels of "
            "order 0 or 1. Use a positive definite kernel, for example Gaussian()."
        )
    return found, found.pack(X)


def _width(X: Any) -> int:
    """Return the number of columns, on which scikit-learn's names of kernels depend; 1 of anything but a table."""
    if isinstance(X, Samples):
        return int(getattr(X, "width", 1))
    try:
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # rows of unequal lengths
        return 1
    return int(shape[1]) if len(shape) == 2 else 1


def _is_column(X: Any) -> bool:
    """Return whether data are a vector of numbers; packing checks everything else."""
    try:
        return np.ndim(X) == 1
    except ValueError:  # rows of unequal lengths
        return False


def pooled(X: Any, Y: Any, kernel: KernelLike, least: int = 2) -> tuple[Kernel, Samples, int]:
    """Return the kernel, learned from both samples at once so that it does not know which is which, and both, joined.

    Returns
    -------
    kernel : Kernel
    S : Samples
        X before Y.
    m : int
        Number of samples of X.
    """
    found, A = packed(X, kernel)
    _, B = packed(Y, found)
    for name, part in (("X", A), ("Y", B)):
        if len(part) < least:
            raise DomainError(f"{name} has {len(part)} samples; at least {least} are needed. Give more samples.")
    S = A.concat(B)
    return found.learn(S), S, len(A)


def paired(
    parts: Sequence[Any], kernels: Sequence[KernelLike] | None, least: int = 4
) -> tuple[tuple[Kernel, ...], tuple[Samples, ...]]:
    """Return a learned kernel and packed samples for each variable; all must have been observed together."""
    if not isinstance(parts, (Sequence, np.ndarray)) or isinstance(parts, str) or len(parts) < 2:
        raise ParameterError(
            f"variables={parts!r} was given; a sequence of at least two is accepted, each the values of one variable. "
            "Write variables=(X, Y, Z)."
        )
    if kernels is None:
        kernels = (None,) * len(parts)
    if not isinstance(kernels, Sequence) or isinstance(kernels, str) or len(kernels) != len(parts):
        raise ParameterError(
            f"kernels={kernels!r} was given for {len(parts)} variables; one kernel each is accepted, as a tuple. Write "
            f"kernels=({', '.join(['Gaussian(1.0)'] * len(parts))})."
        )
    found = [packed(X, kernel) for X, kernel in zip(parts, kernels, strict=True)]
    sizes = {len(S) for _, S in found}
    if len(sizes) > 1 or min(sizes) < least:
        raise DomainError(
            f"The variables have {', '.join(str(len(S)) for _, S in found)} samples; equally many, at least {least}, "
            "are needed. Give the values that were observed together, in the same order."
        )
    return tuple(kernel.learn(S) for kernel, S in found), tuple(S for _, S in found)


# representation ---------------------------------------------------------------------------------------------


def product(A: Floats, B: Floats) -> Floats:
    """Return A B; Ctrl-C is answered in the meantime."""
    return in_background(np.matmul, A, B, work=2.0 * A.size * B.shape[-1])


def inner(K: Floats, L: Floats) -> float:
    """Return the sum of products of entries, of parts of two matrices at a time.

    Examples
    --------
    >>> inner(np.eye(2), np.full((2, 2), 3.0))
    6.0
    """
    return sum(float(np.vdot(K[part], L[part])) for part in spans(len(K), max(1, _PASS // max(1, K.shape[1]))))


def entries(kernel: Kernel, S: Samples, resources: Resources = UNLIMITED) -> Floats:
    """Return the Gram matrix as an array that may be overwritten."""
    return Dense().build(kernel, S, resources).release()


def matrix(kernel: Kernel, S: Samples, resources: Resources = UNLIMITED) -> Floats:
    """Return the centred Gram matrix as an array that may be overwritten."""
    return centred(entries(kernel, S, resources), n_threads=resources.n_threads)


def represent(
    kernel: Kernel,
    S: Samples,
    gram: GramSpec | int | None = None,
    resources: Resources = UNLIMITED,
    *,
    centre: bool = True,
) -> Form:
    """Return the Gram matrix in the representation that the user chose.

    Parameters
    ----------
    kernel : Kernel
    S : Samples
    gram : GramSpec or int, optional
        None is `Dense`; a number is the rank of an incomplete Cholesky factor.
    resources : Resources
    centre : bool, default True
        Whether it is K~ or K.
    """
    if not (gram is None or isinstance(gram, GramSpec) or Integer(1).accepts(gram)):
        raise ParameterError(
            f"gram={gram!r:.100} was given; None, a Gram specification or the rank of an incomplete Cholesky factor is "
            "accepted. Write gram=Nystrom(200) or gram=50."
        )
    if isinstance(gram, (int, np.integer)):
        F = _incomplete(kernel, S, int(gram), resources)
    else:
        built = (gram or Dense()).build(kernel, S, resources)
        if has_array(built):
            K = built.release()
            return DenseForm(centred(K, n_threads=resources.n_threads) if centre else K, resources)
        if not isinstance(built, HasFactor):
            return ProductForm(Centered(built) if centre else built)
        F = np.array(built.factor(), dtype=float)
    tell(resources, 1.0)
    return FactorForm(F - F.mean(axis=0) if centre else F, resources)


def is_dense(gram: GramSpec | int | None) -> bool:
    """Return whether the matrix is to be held in memory.

    Examples
    --------
    >>> is_dense(None), is_dense(200)
    (True, False)
    """
    return gram is None or is_stored(gram)


def pair(
    kernels: Sequence[Kernel], parts: Sequence[Samples], gram: GramSpec | int | None, resources: Resources, name: str
) -> tuple[Form, Form]:
    """Return the centred Gram matrices of two variables, if both together fit the memory."""
    if is_dense(gram):
        require_matrices(name, len(parts[0]), 2, resources)
    first = represent(kernels[0], parts[0], gram, part_of(resources, 0.0, 0.5))
    return first, represent(kernels[1], parts[1], gram, part_of(resources, 0.5, 1.0))


def _incomplete(kernel: Kernel, S: Samples, rank: int, resources: Resources) -> Floats:
    """Return the incomplete Cholesky factor of a kernel on samples, (n, r)."""
    if kernel.order != 0:
        raise CapabilityError(
            f"{kernel!r} is not positive definite; incomplete Cholesky factors exist of positive definite kernels. "
            "Use gram=Dense()."
        )
    n = len(S)
    Plan(f"incomplete Cholesky factor of {kernel!r}", {"factor": 16 * n * min(rank, n)}).require(resources.memory)
    S = kernel.prepare(S)
    return pivoted_cholesky(kernel.diag(S), lambda i: kernel.block(S[i : i + 1], S)[0], rank).array


def factor_of(form: Form) -> Floats:
    """Return F with K~ = F F^T, by eigenvectors where no factor is at hand."""
    if isinstance(form, FactorForm):
        return form.factor
    values, vectors = eigenpairs(form)
    return vectors.T * np.sqrt(values)


def eigenpairs(form: Form) -> tuple[Floats, Floats]:
    """Return the positive eigenvalues of K~, descending, and its eigenvectors as rows.

    Eigenvalues that are zero or negative, by rounding or because the kernel is indefinite, are left out.
    """
    if isinstance(form, FactorForm):
        F = form.factor
        turns = product(F.T, F)
    else:
        F = None
        if not isinstance(form, DenseForm):
            raise _products_alone()
        turns = form.array.copy()
    with blas_for(len(turns)):
        values = eigh_in_place(turns)
    kept = np.flatnonzero(values > _RANK_TOL * max(float(np.max(values, initial=0.0)), 0.0))[::-1]
    values, turns = values[kept], turns[kept]
    return values, turns if F is None else product(turns, F.T) / np.sqrt(values)[:, None]


def _products_alone() -> CapabilityError:
    return CapabilityError(
        "Only products with the Gram matrix are available, and its eigenvalues are needed; entries or a factor "
        "give them. Use gram=Dense(), gram=Nystrom(200) or a rank, gram=200."
    )
