"""What an error costs: base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mercer.arrays import Floats
from mercer.spec import Spec

__all__ = ["Loss"]


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
