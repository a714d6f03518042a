"""Kernels on vectors of complex numbers, and how estimators for real numbers use them.

Symbols: <x, z> = sum_j x_j conj(z_j), H a Hermitian matrix of kernel values h, (x, a) a half: the real part (a = 0) or
the imaginary part (a = 1) of a value at x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.constraints import InstanceOf
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.kernel import Kernel, mirror, offers
from mercer.kernels.power_series import Degrees
from mercer.kernels.protocols import HasSeries
from mercer.kernels.vectors.pointwise import dense
from mercer.spec import derived

__all__ = ["Hermitian", "halves", "joined"]
__public__ = ["Hermitian"]


class Hermitian(Kernel):
    r"""A power series in the dot product of complex vectors, in halves: real and imaginary parts of values.

    .. math:: h(x, x') = \sum_n a_n \langle x, x' \rangle^n, \quad \langle x, x' \rangle = \sum_j x_j \overline{x'_j},
        \qquad k\big((x, a), (x', a')\big) = \begin{pmatrix} \Re h & -\Im h \\ \Im h & \Re h \end{pmatrix}_{a a'}

    Seed: [HSS] after Definition 3 and after Theorem 8 (the complex-valued case); [SS] footnote 12; [HSS] Proposition 7
    for the series.

    Parameters
    ----------
    kernel : Kernel
        A positive definite kernel that is a power series in the dot product: Linear, Polynomial, ExponentialDot,
        PowerSeries, and their sums, products, powers and exponentials.

    Notes
    -----
    Domain Vectors of 2 d + 1 columns: real parts, imaginary parts, and 0 or 1 for the half; `halves` makes them from
    complex vectors and `joined` puts values together again. A Hermitian matrix H is positive semi-definite if and only
    if the real matrix with the blocks Re H, -Im H, Im H, Re H is, which has each eigenvalue of H twice; and H a = y
    holds if and only if it holds in halves. So every learner of real values becomes one of complex values. Strict if
    all degrees occur; never universal: its functions are analytic. ``Hermitian(ExponentialDot(l)).normalized()`` is a
    complex Gaussian kernel, abs(h) = exp(-\|x - x'\|^2 / (2 l^2)). Features no; no derivatives. Cost O(mnd).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Z = np.array([[1.0 + 1.0j], [2.0j]])
    >>> Hermitian(Linear())(halves(Z)).round(3)
    array([[ 2.,  2.,  0.,  2.],
           [ 2.,  4., -2.,  0.],
           [ 0., -2.,  2.,  2.],
           [ 2.,  0.,  2.,  4.]])
    >>> Z @ Z.conj().T
    array([[2.+0.j, 2.-2.j],
           [2.+2.j, 4.+0.j]])
    """

    domain = Vectors
    formula = r"\sum_n a_n \langle x, x' \rangle^n"
    cost = "O(mnd), two matrix products"
    continuous = True
    constraints = {"kernel": InstanceOf(Kernel)}

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def check(self) -> Any:
        """Raise ParameterError unless the kernel is a positive definite power series in the dot product."""
        super().check()
        if self.kernel.order != 0 or not offers(self.kernel, HasSeries):
            raise ParameterError(
                f"Hermitian was given {self.kernel!r}; a positive definite kernel that is a power series in the dot "
                "product is accepted. Use for example ExponentialDot(1.0), and .normalized() for a Gaussian."
            )
        return self

    @derived
    def strict(self) -> bool:
        """Whether all degrees occur; without some, say every third, x may equal its rotation by 120 degrees."""
        return self.kernel.series().degrees == Degrees.of((), [(0, 1)])

    def pack(self, X: Any) -> Samples:
        """Pack halves of complex vectors."""
        return self.prepare(super().pack(X))

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples that are not halves of complex vectors."""
        assert isinstance(A, Vectors)
        last = dense(A.columns((A.width - 1,)))
        if A.width % 2 == 0 or A.width < 3 or not np.isin(last, (0.0, 1.0)).all():
            raise DomainError(
                f"X has {A.width} columns and is not made of halves of complex vectors; 2 d + 1 columns are accepted: "
                "real parts, imaginary parts, and 0 or 1. Make them with mercer.kernels.vectors.complex.halves(Z)."
            )
        return A

    def block(self, A: Samples, B: Samples) -> Floats:
        """Evaluate the series at complex dot products, and take the part that each pair of halves asks for."""
        A, B = packed_pair(A, B, self._ready)
        (x, a), (z, b) = _vectors(A), _vectors(B)
        if x.shape[1] != z.shape[1]:
            raise DomainError(
                f"Complex vectors with {x.shape[1]} and with {z.shape[1]} columns were compared; both sides must have "
                "the same columns. Give new samples the columns of the training samples, in their order."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            h = self.kernel.series()(x @ z.conj().T)
        sign = np.subtract.outer(a, b)  # 0 for halves of one kind, 1 for imaginary beside real, -1 the other way round
        out = np.where(sign == 0, h.real, sign * h.imag + 0.0).astype(np.result_type(_dtype(A), _dtype(B)))
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Evaluate the series at squared lengths, which are real."""
        x, _ = _vectors(A)
        return np.asarray(self.kernel.series()((np.abs(x) ** 2).sum(axis=1)), dtype=float)


def halves(values: Any) -> Floats:
    """Return complex vectors (n, d) as rows for both halves, (2 n, 2 d + 1), or complex values (n,) as halves, (2 n,).

    Examples
    --------
    >>> halves([1.0 + 2.0j, 3.0])
    array([1., 3., 2., 0.])
    >>> halves([[1.0 + 2.0j, 3.0]])
    array([[1., 3., 2., 0., 0.],
           [1., 3., 2., 0., 1.]])
    """
    Z: NDArray[Any] = np.asarray(values)
    if Z.dtype.kind not in "biufc" or Z.ndim not in (1, 2) or not np.isfinite(Z).all():
        raise DomainError(
            f"an array of type {Z.dtype} and shape {Z.shape} was given; finite complex vectors (n, d) or values (n,) "
            "are accepted. Fill what is missing, and give each sample a row."
        )
    real, imaginary = np.real(Z).astype(float), np.imag(Z).astype(float)
    if Z.ndim == 1:
        return np.concatenate([real, imaginary])
    parts = np.hstack([real, imaginary])
    which = np.repeat([0.0, 1.0], len(Z))
    return np.column_stack([np.vstack([parts, parts]), which])


def joined(values: Any) -> NDArray[np.complex128]:
    """Return halves, (2 n,) or (2 n, k), as complex values.

    Examples
    --------
    >>> joined([1.0, 3.0, 2.0, 0.0])
    array([1.+2.j, 3.+0.j])
    """
    v = np.asarray(values, dtype=float)
    if v.ndim == 0 or len(v) % 2:
        raise DomainError(
            f"an array of shape {v.shape} was given; as many imaginary parts as real parts are needed. Give the "
            "predictions for halves(Z) as they are."
        )
    return v[: len(v) // 2] + 1j * v[len(v) // 2 :]


def _vectors(A: Samples) -> tuple[NDArray[np.complex128], Floats]:
    X = dense(A)
    d = X.shape[1] // 2
    return X[:, :d] + 1j * X[:, d : 2 * d], X[:, -1]


def _dtype(A: Samples) -> Any:
    assert isinstance(A, Vectors)
    return A.X.dtype
