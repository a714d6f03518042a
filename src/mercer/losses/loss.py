"""What an error costs: base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol, runtime_checkable

from mercer.arrays import Floats, Indices
from mercer.spec import Spec

__all__ = ["BoxDual", "HasBoxDual", "Loss"]


class BoxDual(NamedTuple):
    r"""The dual of a loss with a bias: what a BoxQP says besides K, in signed variables.

    Attributes
    ----------
    linear, lower, upper : (N,) arrays
        The linear term and the box, N variables.
    index : (N,) array of int or None
        Which sample each variable belongs to; None: variable i belongs to sample i. The coefficient of a sample
        is the sum over its variables.
    ridge : float or (N,) array
        Added to the diagonal.
    """

    linear: Floats
    lower: Floats
    upper: Floats
    index: Indices | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    ridge: float | Floats = 0.0


@runtime_checkable
class HasBoxDual(Protocol):
    """A loss whose regularised risk has a BoxQP as its dual."""

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Dual of :math:`\sum_i c_i \psi(y_i, f(x_i)) + \frac12 \|f\|^2`, where ``weight`` is c = C w."""
        ...


class Loss(Spec, ABC):
    """Formulas on arrays: no kernel, no Gram, no state.

    ``y`` is what was observed and ``f`` what is predicted, of the same shape, (n,) or (n, k); everything is
    elementwise and in float64. Losses are summed over the samples by whoever uses them, never averaged.
    """

    @abstractmethod
    def value(self, y: Floats, f: Floats) -> Floats:
        """Cost of predicting f where y was observed."""

    @abstractmethod
    def gradient(self, y: Floats, f: Floats) -> Floats:
        """Derivative of the value in f; at a kink the element of the subdifferential nearest to zero."""

    @abstractmethod
    def curvature(self, y: Floats, f: Floats) -> Floats:
        """Number c such that value + gradient d + c d^2 / 2 at f is never below the value at f + d.

        For a smooth loss it may instead be the second derivative, where the loss says so. At a kink no such
        number exists; near one it is capped at 1e10.
        """
