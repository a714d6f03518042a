"""Invariance: a kernel averaged over transformations of its arguments, such as shifts of an image.

Symbols: G the identity and the given transformations, |G| their number.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mercer.arguments import answer_of
from mercer.constraints import InstanceOf, Satisfies
from mercer.domains import Samples, Whole
from mercer.domains.sets import Sets
from mercer.errors import DomainError, ParameterError
from mercer.kernels.algebra.maps import Same
from mercer.kernels.kernel import Kernel
from mercer.kernels.sets.mean_map import MeanMap
from mercer.kernels.user_calls import ALL
from mercer.spec import derived

__all__ = ["Invariant"]
__public__ = __all__


class Invariant(MeanMap):
    r"""Invariant kernel: the average of a kernel over all transformed versions of both objects.

    .. math:: k(x, x') = \frac{1}{|G|^2} \sum_{g \in G} \sum_{h \in G} k_1(g(x), h(x'))

    Seed: [HSS] Section 3.1.5 names invariances; the average over a group is Haar integration, Haasdonk and Burkhardt,
    Invariant kernel functions for pattern analysis (2007). The mean of images in feature space is [HSS] Section 2.2.5.

    Parameters
    ----------
    kernel : Kernel
        k_1, on the objects themselves, of any domain.
    transformations : tuple of callables
        What does not matter: each takes all raw data at once and returns as many objects. The identity is always
        counted, and need not be given.

    Notes
    -----
    Domain that of the kernel, as Sets of an object and its transformed versions. If G is a group (all shifts around a
    circle, reflections, permutations of parts), k(g(x), x') = k(x, x') for each of its members; for a list of small
    transformations it is so nearly. Features those of the kernel, averaged; differentiable in its parameters if it is.
    Positive definite of order 0 if the kernel is, by its features. Not strict, as x and g(x) are alike. Not normalised.
    Adding transformed samples to the training set instead is `VirtualSamples`. Cost |G|^2 values of the kernel; those
    of a linear machine on features |G|.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> k = Invariant(Linear(), (np.negative,))  # the sign does not matter, and a linear kernel sees nothing else
    >>> k([[1.0], [2.0]])
    array([[0., 0.],
           [0., 0.]])
    >>> Invariant(Linear() ** 2, (np.negative,))([[1.0], [2.0]])
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    formula = r"\frac{1}{|G|^2} \sum_{g, h \in G} k_1(g(x), h(x'))"
    cost = "|G|^2 values of the kernel"
    constraints = {
        "kernel": InstanceOf(Kernel),
        "transformations": Satisfies(
            "a tuple of functions", lambda given: isinstance(given, tuple) and all(map(callable, given))
        ),
    }

    def __init__(self, kernel: Kernel, transformations: Any) -> None:
        self.kernel = kernel
        self.transformations = transformations

    @derived
    def average(self) -> bool:
        """Averages are taken."""
        return True

    def check(self) -> Any:
        """Raise ParameterError unless the transformations can be called."""
        given: Any = self.transformations
        if not isinstance(given, tuple) or not all(callable(one) for one in given):
            raise ParameterError(
                f"Invariant was given transformations={given!r}; a tuple of functions of all the data is accepted. "
                "Write for example (np.fliplr,)."
            )
        return super().check()

    @derived
    def part(self) -> Hashable:
        """A key that is the same for the same transformations."""
        return Whole(("orbits", tuple(Same(one) for one in self.transformations), tuple(self.kernel.parts())))

    def pack(self, X: Any) -> Samples:
        """Turn raw data into sets of each object and its transformed versions."""
        if isinstance(X, Samples):
            return Sets.pack(X)
        packed = self.kernel.pack(X)
        count, members = len(packed), packed
        for one in self.transformations:
            images = self.kernel.pack(answer_of(one, X, who=self, takes=ALL))
            if len(images) != count:
                raise DomainError(
                    f"A transformation of {self!r} made {len(images)} objects of {count}; it must keep their number. "
                    "Give a function that takes all the data and returns one object per sample."
                )
            members = members.concat(images)
        size = 1 + len(self.transformations)
        order = np.arange(count * size).reshape(size, count).T.ravel()  # the versions of an object side by side
        return Sets(members.take(order), np.arange(0, count * size + 1, size), np.ones(count * size))
