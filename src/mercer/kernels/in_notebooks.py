r"""What a notebook shows of a kernel: its formula, what is known of it, and a small picture.

The picture of a kernel on vectors is :math:`k(x, 0)` in one dimension, or :math:`k(x, 1)` where the origin is compared
with nothing; of a kernel on strings, its values between a few words.
"""

from __future__ import annotations

import html
import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mercer.errors import MercerError
from mercer.kernels.protocols import WritesFormula
from mercer.notebooks import curve, heat_map

if TYPE_CHECKING:
    from mercer.kernels.kernel import Kernel

__all__ = ["Shown", "latex", "page"]

_WORDS = ("kernel", "kernels", "colonel", "banana")
_TEX = r"k_1(x, x')"


class Shown:
    """What is shown in a notebook where a kernel is the value of a cell."""

    def _repr_latex_(self) -> str:
        return f"$k(x, x') = {latex(cast('Kernel', self))}$"

    def _repr_html_(self) -> str:
        return page(cast("Kernel", self))


def latex(kernel: Kernel) -> str:
    r"""Return the formula of a kernel as LaTeX: sums, products and multiples written out, parts of others named.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> latex(0.5 * Linear())
    "0.5 \\, \\langle x, x' \\rangle"
    """
    if isinstance(kernel, WritesFormula):
        return kernel.latex(latex)
    part = getattr(kernel, "kernel", None)
    if part is not None and hasattr(part, "formula") and kernel.formula:
        return rf"{kernel.formula}, \quad {_TEX} = {latex(part)}"
    return kernel.formula or rf"\mathrm{{{type(kernel).__name__}}}(x, x')"


def page(kernel: Kernel) -> str:
    """Return name, formula, facts and picture of a kernel as HTML."""
    facts = [_order(kernel), *(name for name in ("stationary", "normalised", "bounded") if _is(kernel, name))]
    domain = getattr(kernel, "domain", None)
    if isinstance(domain, type):
        facts.insert(0, f"on {domain.__name__.lower()}")
    return (
        f"<div><code>{html.escape(repr(kernel))}</code><p>$$k(x, x') = {html.escape(latex(kernel))}$$</p>"
        f"<p>{html.escape(', '.join(fact for fact in facts if fact))}</p>{_picture(kernel)}</div>"
    )


def _is(kernel: Any, name: str) -> bool:
    try:
        return bool(getattr(kernel, name))
    except (MercerError, AttributeError):  # of a kernel whose width is still to be learned
        return False


def _order(kernel: Any) -> str:
    try:
        order = kernel.order
    except (MercerError, AttributeError):
        return ""
    if order is None:
        return "indefinite"
    return "positive definite" if order == 0 else f"conditionally positive definite of order {order}"


def _picture(kernel: Kernel) -> str:
    """Return a drawing of some values; nothing for other objects, or where the kernel has still to learn from data."""
    domain = getattr(kernel, "domain", None)
    name = domain.__name__ if isinstance(domain, type) else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about the points of the picture, not about the data of the user
            if name == "Strings":
                return heat_map(np.asarray(kernel(list(_WORDS))).tolist(), _WORDS)
            if name == "Vectors":
                return _profile(kernel)
    except (MercerError, TypeError, ValueError):
        return ""
    return ""


def _profile(kernel: Kernel) -> str:
    reach = getattr(kernel, "length_scale", 1.0)
    x = np.linspace(-3.0, 3.0, 61)[:, None] * (float(reach) if isinstance(reach, int | float) else 1.0)
    values = np.asarray(kernel(x, np.zeros((1, 1))))[:, 0]
    if np.ptp(values) == 0.0:
        values = np.asarray(kernel(x, np.ones((1, 1))))[:, 0]
    return curve(values.tolist())
