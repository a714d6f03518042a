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

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError, warn_caller
from mercer.gram import Dense, Gram, GramSpec, HasFactor
from mercer.gram.algebra import Centered
from mercer.gram.dense import DenseGram
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.kernels.kernel import Kernel as _Kernel
from mercer.numerics.background import in_background
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.pivoting import pivoted_cholesky

__all__ = ["DenseForm", "FactorForm", "Form", "ProductForm", "centred", "factor_of", "packed", "pooled", "represent"]

_RANK_TOL = 1e-12  # eigenvalues below it, relative to the largest, are rounding


class Form(ABC):
    """A centred Gram matrix."""

    n: int

    @abstractmethod
    def forms(self, Z: Floats) -> Floats:
        """Return z^T K~ z for each row of Z, (B,)."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return the diagonal of K~."""


class DenseForm(Form):
    """A centred Gram matrix in memory."""

    def __init__(self, K: Floats) -> None:
        self.array, self.n = K, len(K)

    def forms(self, Z: Floats) -> Floats:
        """Return the quadratic forms by one matrix product."""
        return np.einsum("bi,bi->b", in_background(np.matmul, Z, self.array, work=2.0 * Z.size * self.n), Z)

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.array).copy()


class FactorForm(Form):
    """A centred Gram matrix by its factor."""

    def __init__(self, F: Floats) -> None:
        self.factor, self.n = F, len(F)

    def forms(self, Z: Floats) -> Floats:
        """Return the squared lengths of Z F."""
        product = Z @ self.factor
        return np.einsum("br,br->b", product, product)

    def diagonal(self) -> Floats:
        """Return the squared lengths of the factor's rows."""
        return np.einsum("ir,ir->i", self.factor, self.factor)


class ProductForm(Form):
    """A centred Gram matrix that is never stored."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.n = Centered(gram), gram.shape[0]

    def forms(self, Z: Floats) -> Floats:
        """Return the quadratic forms by products with the Gram."""
        return np.einsum("ib,bi->b", self.gram @ np.ascontiguousarray(Z.T), Z)

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return self.gram.diag()


# data -------------------------------------------------------------------------------------------------------


def packed(X: Any, kernel: Kernel | str | None) -> tuple[Kernel, Samples]:
    """Return the kernel that is meant and the samples as it packs them; a vector of numbers is a column.

    Examples
    --------
    >>> packed([1.0, 2.0], None)
    (Gaussian('median'), <Vectors: 2 samples, 1 column, float64>)
    """
    if kernel is None:
        kernel = Gaussian("median")
    elif isinstance(kernel, str) and kernel == "precomputed":
        kernel = Precomputed()
    if not isinstance(kernel, _Kernel):
        raise ParameterError(
            f"kernel={kernel!r} was given; a Kernel, 'precomputed' or None (the Gaussian at the median distance) is "
            "accepted. Use an object of mercer.kernels such as Gaussian(1.0)."
        )
    kernel.check()
    if kernel.domain is Vectors and not isinstance(X, Samples) and np.ndim(X) == 1:
        X = np.asarray(X)[:, None]
    if kernel.order is None:
        warn_caller(
            f"{kernel!r} is not positive definite, so what the statistic measures need not be a distance; p-values by "
            "permutation stay exact. Use a positive definite kernel.",
            IndefiniteWarning,
        )
    elif kernel.order > 1:
        raise CapabilityError(
            f"{kernel!r} is conditionally positive definite of order {kernel.order}; means are compared by kernels of "
            "order 0 or 1. Use a positive definite kernel, for example Gaussian()."
        )
    return kernel, kernel.pack(X)


def pooled(X: Any, Y: Any, kernel: Kernel | str | None, least: int = 2) -> tuple[Kernel, Samples, int]:
    """Return the kernel, learned from both samples at once so that it does not know which is which, and both, joined.

    Returns
    -------
    kernel : Kernel
    S : Samples
        X before Y.
    m : int
        Number of samples of X.
    """
    kernel, A = packed(X, kernel)
    _, B = packed(Y, kernel)
    for name, part in (("X", A), ("Y", B)):
        if len(part) < least:
            raise DomainError(f"{name} has {len(part)} samples; at least {least} are needed. Give more samples.")
    S = A.concat(B)
    return kernel.learn(S), S, len(A)


def paired(
    parts: Sequence[Any], kernels: Sequence[Kernel | str | None] | None, least: int = 4
) -> tuple[tuple[Kernel, ...], tuple[Samples, ...]]:
    """Return a learned kernel and packed samples for each variable; all must have been observed together."""
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


def centred(K: Floats) -> Floats:
    """Centre a symmetric matrix in place: its rows and columns sum to zero.

    Examples
    --------
    >>> centred(np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    means = K.mean(axis=1)
    K += means.mean() - means
    K -= means[:, None]
    return K


def represent(kernel: Kernel, S: Samples, gram: GramSpec | int | None = None) -> Form:
    """Return the centred Gram matrix as the user wants it held.

    Parameters
    ----------
    kernel : Kernel
    S : Samples
    gram : GramSpec or int, optional
        None is `Dense`; a number is the rank of an incomplete Cholesky factor.
    """
    if isinstance(gram, bool) or not (gram is None or isinstance(gram, (GramSpec, int, np.integer))):
        raise ParameterError(
            f"gram={gram!r} was given; None, a Gram specification or the rank of an incomplete Cholesky factor is "
            "accepted. Write gram=Nystrom(200) or gram=50."
        )
    if isinstance(gram, (int, np.integer)):
        return FactorForm(_incomplete(kernel, S, int(gram)))
    built = (gram or Dense()).build(kernel, S)
    if isinstance(built, HasFactor):
        F = np.array(built.factor(), dtype=float)
        return FactorForm(F - F.mean(axis=0))
    if isinstance(built, DenseGram):
        return DenseForm(centred(built.release()))
    return ProductForm(built)


def _incomplete(kernel: Kernel, S: Samples, rank: int) -> Floats:
    """Return the centred incomplete Cholesky factor of a kernel on samples, (n, r)."""
    if rank < 1:
        raise ParameterError(f"gram={rank} was given; a rank of at least 1 is accepted. Write gram=50.")
    if kernel.order != 0:
        raise CapabilityError(
            f"{kernel!r} is not positive definite; incomplete Cholesky factors exist of positive definite kernels. "
            "Use gram=Dense()."
        )
    n = len(S)
    Plan(f"incomplete Cholesky factor of {kernel!r}", {"factor": 16 * n * min(rank, n)}).require(None)
    S = kernel.prepare(S)
    F = pivoted_cholesky(kernel.diag(S), lambda i: kernel.block(S[i : i + 1], S)[0], rank).array
    return F - F.mean(axis=0)


def factor_of(form: Form) -> Floats:
    """Return F with K~ = F F^T, by eigenvectors where no factor is at hand; F^T F is diagonal then.

    Eigenvalues that are zero or negative, by rounding or because the kernel is indefinite, are left out.
    """
    if isinstance(form, FactorForm):
        return form.factor
    if not isinstance(form, DenseForm):
        raise CapabilityError(
            "Only products with the Gram matrix are at hand, and eigenvalues of it are needed; entries or a factor "
            "give them. Use gram=Dense(), gram=Nystrom(200) or a rank, gram=200."
        )
    vectors = form.array.copy()
    values = eigh_in_place(vectors)
    kept = values > _RANK_TOL * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, bool)
    return vectors[kept][::-1].T * np.sqrt(values[kept][::-1])
