"""What + and * and `Kernel.of` build, which depends on what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import kernels  # whose names are imported when they are used
from mercer.errors import ParameterError
from mercer.kernels.algebra.maps import Composed, is_differentiable
from mercer.kernels.algebra.sums import Constant, Product, Sum
from mercer.kernels.composite import Scaled
from mercer.kernels.kernel import Kernel

__all__ = ["add", "compose", "multiply"]


def add(left: Any, right: Any) -> Sum:
    """Return the flat sum of two kernels, or of a kernel and a constant."""
    terms: list[Kernel] = []
    for side in (left, right):
        kernel = Constant(side) if _is_number(side) else side
        if not isinstance(kernel, Kernel):
            return NotImplemented
        terms.extend(kernel.kernels if isinstance(kernel, Sum) else (kernel,))
    return Sum(tuple(terms)).check()


def compose(kernel: Kernel, transform: Any) -> Kernel:
    """Return the kernel on images under a map; one that has parameters and a derivative in them is learned."""
    return (kernels.Deep if is_differentiable(transform) else Composed)(kernel, transform).check()


def multiply(left: Any, right: Any) -> Kernel:
    """Return the flat product of two kernels, or a number times a kernel."""
    if _is_number(left) or _is_number(right):
        scale, kernel = (left, right) if _is_number(left) else (right, left)
        if scale < 0:
            raise ParameterError(
                f"{scale!r} * {kernel!r} was given; a kernel may be scaled by numbers >= 0 only, since -k is not "
                "positive definite. To subtract in feature space use a difference of functions, not of kernels."
            )
        return Scaled(scale, kernel).check()
    terms: list[Kernel] = []
    for side in (left, right):
        if not isinstance(side, Kernel):
            return NotImplemented
        terms.extend(side.kernels if isinstance(side, Product) else (side,))
    return Product(tuple(terms)).check()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
