"""Mixture: base of what decides the weights of several kernels."""

from __future__ import annotations

from mercer.spec import Spec

__all__ = ["Mixture"]
__public__ = __all__


class Mixture(Spec):
    """How the weights of several kernels are found, as a user writes it: ``mixture=LpBall(2.0)``.

    Examples
    --------
    >>> from mercer.mixtures import LpBall, Mixture
    >>> isinstance(LpBall(2.0), Mixture)
    True
    """
