"""Auto: a documented choice of how to hold K."""

from __future__ import annotations

from mercer.budget import Plan, Resources, budget
from mercer.constraints import Boolean
from mercer.domains import Samples
from mercer.gram.dense import Dense
from mercer.gram.features import Features
from mercer.gram.gram import Gram, GramSpec
from mercer.gram.tiles import Tiles
from mercer.kernels.kernel import Kernel

__all__ = ["Auto"]

_NOTHING = Resources()


class Auto(GramSpec):
    """Choose how the Gram matrix is held, by a rule that can be asked.

    Parameters
    ----------
    features : bool, default True
        Whether the primal form may be chosen.

    Notes
    -----
    The rule, in this order; every choice is exact:

    1. `Features` if the kernel has a finite map of D features with D < n that fits the memory budget;
    2. `Dense` if 8 n^2 bytes fit the memory budget;
    3. `Tiles` otherwise.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Auto().choose(Gaussian(1.0), 1000), Auto().choose(Gaussian(1.0), 10_000_000)
    (Dense(), Tiles('1GB'))
    """

    constraints = {"features": Boolean()}

    def __init__(self, features: bool = True) -> None:
        self.features = features

    def plan(self, kernel: Kernel, n: int, width: int = 1) -> Plan:
        """Return the plan of the choice."""
        return self.choose(kernel, n).plan(kernel, n, width)

    def choose(
        self, kernel: Kernel, n: int, features: int | None = None, memory: int | float | str | None = None
    ) -> GramSpec:
        """Return the choice for n samples and, if there is a finite map, its number of features."""
        allowed = budget(memory)
        if self.features and features is not None and features < n:
            primal = Features()
            if primal.plan(kernel, n, features).total <= allowed:
                return primal
        return Dense() if 8 * n * n <= allowed else Tiles()

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = _NOTHING) -> Gram:
        """Build what the rule chooses."""
        kernel.check()
        count = kernel.feature_count(samples) if "features" in kernel.capabilities else None
        return self.choose(kernel, len(samples), count, resources.memory).build(kernel, samples, resources)
