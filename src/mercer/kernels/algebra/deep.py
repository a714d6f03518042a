"""Kernels on images under a map that has parameters of its own, which are learned together with the kernel's.

Symbols: k a kernel on vectors; t_w a map of vectors with parameters w.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arguments import answer_of
from mercer.arrays import Floats, real_numbers
from mercer.constraints import InstanceOf, Satisfies
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.algebra.maps import is_differentiable
from mercer.kernels.comparison import View
from mercer.kernels.composite import offered
from mercer.kernels.kernel import Kernel, Tiled, offers, pullback
from mercer.kernels.protocols import InputDifferentiable, Pullback
from mercer.kernels.user_calls import rows_of
from mercer.spec import derived, free_values

__all__ = ["Deep"]
__public__ = __all__


class Deep(Tiled, DifferentiatedByTiles):
    r"""Deep kernel: a kernel on the outputs of a map, whose parameters are learned with those of the kernel.

    .. math:: k(x, x') = k_1(t_w(x), t_w(x'))

    Seed: [STS] Theorem 7, k_3(phi(x), phi(z)); Wilson et al., Deep kernel learning (2016).

    Parameters
    ----------
    kernel : Kernel
        k_1, on vectors.
    map : Spec
        t_w, an object of a class that you write: a `mercer.spec.Spec` whose constructor stores its numbers and whose
        ``constraints`` declare them, with ``__call__(X)``, which returns the images (n, m) of the rows of an (n, d)
        array, and ``pullback(X, G)``, which returns the sum over rows of G_i . dt(x_i)/dw for weights G (n, m): the
        derivative in all parameters, one after another, (p,).

    Notes
    -----
    Written ``kernel.of(map)``. Domain Vectors. Features no; differentiable in the parameters of the kernel and of the
    map, if the kernel is in its parameters and its inputs: what maximises the evidence, as Gaussian processes do, then
    trains the map. Of the order of the kernel; not known to be strict, since the map may take points for one. Cost that
    of the kernel, and the map once per sample. A map without parameters is given to ``.of`` as a function.

    Examples
    --------
    >>> from mercer.constraints import Interval
    >>> from mercer.kernels import Gaussian
    >>> from mercer.spec import Spec
    >>> class Squashed(Spec):
    ...     constraints = {"slopes": Interval(-np.inf, np.inf, vector=True)}
    ...
    ...     def __init__(self, slopes):
    ...         self.slopes = slopes
    ...
    ...     def __call__(self, X):
    ...         return np.tanh(X * np.asarray(self.slopes))
    ...
    ...     def pullback(self, X, G):
    ...         return np.sum(G * X * (1.0 - self(X) ** 2), axis=0)
    >>> k = Gaussian(1.0).of(Squashed((0.5, 2.0)))
    >>> k([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.565],
           [0.565, 1.   ]])
    >>> from mercer.free_parameters import free_names
    >>> free_names(k)
    ('kernel__length_scale', 'map__slopes[0]', 'map__slopes[1]')
    """

    domain = Vectors
    formula = r"k_1(t_w(x), t_w(x'))"
    cost = "that of the kernel, and the map once per sample"

    constraints = {
        "kernel": InstanceOf(Kernel),
        "map": Satisfies("a Spec with __call__ and pullback", lambda map: is_differentiable(map)),
    }

    def __init__(self, kernel: Kernel, map: Any) -> None:
        self.kernel = kernel
        self.map = map

    def check(self) -> Any:
        """Raise ParameterError unless there is a kernel on vectors, and a map with a derivative."""
        if not isinstance(self.kernel, Kernel) or self.kernel.domain is not Vectors:
            raise ParameterError(
                f"Deep was given {self.kernel!r}; a kernel on vectors is needed. Use for example Gaussian(1.0)."
            )
        if not is_differentiable(self.map):
            raise ParameterError(
                f"Deep was given the map {self.map!r}; a Spec with __call__(X) and pullback(X, G) is needed. For a map "
                "without parameters write kernel.of(function)."
            )
        return super().check()

    @derived
    def order(self) -> int | None:
        """That of the kernel."""
        return self.kernel.order

    @derived
    def normalised(self) -> bool:
        """That of the kernel."""
        return self.kernel.normalised

    @derived
    def bounded(self) -> bool:
        """That of the kernel."""
        return self.kernel.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives in the parameters, if the kernel has those in its parameters and in its inputs."""
        both = offers(self.kernel, InputDifferentiable)
        return (offered(self.kernel) & {"pullback"}) if both else frozenset()

    def _images(self, A: Samples) -> Samples:
        """Return the images of all samples, as the kernel reads them."""
        X = _rows(A)
        return self.kernel.prepare(self.kernel.pack(rows_of(self.map, X, self)))

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let the kernel learn from the images."""
        learned = self.kernel.learn(self.kernel.pack(rows_of(self.map, _rows(S), self)), y, weight)
        return self if learned is self.kernel else self.replace(kernel=learned)

    def _sides(self, view: View) -> tuple[Samples, Samples]:
        """Return the images of both sides of a tile, the same twice on the diagonal; those of all samples are kept."""

        def mapped() -> tuple[Samples, Samples]:
            A, B = view.collections
            left = self._images(A)
            return left, left if B is A else self._images(B)

        left, right = view.comparison.keep(("images", id(self), view.path), mapped)
        one = left[view.rows]
        return one, one if right is left and view.rows == view.columns else right[view.columns]

    def tile(self, view: View) -> Floats:
        """Return the kernel of the images."""
        out = view.empty()
        out[...] = self.kernel.block(*self._sides(view))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the diagonal of the kernel on the images."""
        return self.kernel.diag(self._images(A))

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile, and the pullback through the images to the parameters of the map."""
        P, Q = self._sides(view)
        A, B = view.sides

        def back(W: Floats) -> Floats:
            W = np.asarray(W, dtype=float)
            kernel: Any = self.kernel
            own = pullback(kernel, P, Q, W)
            through = self._through(A, kernel.pullback_inputs(P, Q, W))
            return np.concatenate([own, through + self._through(B, kernel.pullback_inputs(Q, P, W.T))])

        return self.tile(view), back

    def _through(self, A: Samples, G: Floats) -> Floats:
        """Return the map's pullback, checked."""
        count = len(free_values(self.map))
        given = answer_of(self.map.pullback, _rows(A), G, who=self, takes="X and G")
        found = real_numbers(given, "The pullback of the map", DomainError)
        if found.shape != (count,) or not np.isfinite(found).all():
            raise DomainError(
                f"The pullback of the map of {self!r} returned shape {found.shape}; {count} finite numbers are needed, "
                "one for each parameter of the map. Correct the map."
            )
        return found


def _rows(A: Samples) -> Floats:
    assert isinstance(A, Vectors)
    return np.asarray(A.dense(), dtype=float)
