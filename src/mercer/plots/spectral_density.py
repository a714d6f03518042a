r"""What a stationary kernel is made of: its frequencies, and what it therefore penalises.

Symbols: t a difference on the line, omega a frequency (radians per unit), v the spectral density, m_i masses of atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.estimators.processes.posterior import sample_prior
from mercer.hilbert.bochner import SpectralMeasure, spectral_measure
from mercer.kernels import Kernel
from mercer.plots.canvas import COLOURS, axes, logarithmic

__all__ = ["SpectralDensityDisplay"]
__public__ = __all__

POINTS = 301
REACH = 8.0  # frequencies, in units of the measure's scale
WHAT = ("kernel", "density", "penalty", "paths")
_FLOOR = 1e-12  # of the largest density: below, a logarithmic picture says nothing


@dataclass(eq=False, repr=False)
class SpectralDensityDisplay:
    r"""Kernels on the line beside their spectral densities, what they penalise, and functions they make likely.

    .. math:: k(t) = \int \cos(\omega t) \, v(\omega) \, d\omega, \qquad
        \|f\|_k^2 = \frac{1}{2 \pi} \int \frac{|F[f](\omega)|^2}{v(\omega)} \, d\omega

    Seed: [HSS] Theorem 8, Eqs. (65)-(72).

    Parameters
    ----------
    t, omega : (q,) arrays
        Differences and frequencies.
    values, densities : (p, q) arrays
        One row per kernel.
    atoms : tuple of p pairs of arrays
        Frequencies that have mass, and the masses.
    paths : (p, q, s) array
        Functions drawn from the Gaussian process of each kernel, at the places t.
    names : tuple of str

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> from mercer.plots.spectral_density import SpectralDensityDisplay
    >>> display = SpectralDensityDisplay.from_kernel([Gaussian(1.0), Matern(0.5)], what="density", omega=[0.0, 3.0])
    >>> display.densities.round(3)
    array([[0.399, 0.004],
           [0.318, 0.032]])
    """

    t: Floats
    omega: Floats
    values: Floats
    densities: Floats
    atoms: tuple[tuple[Floats, Floats], ...]
    paths: Floats
    names: tuple[str, ...]

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel | Sequence[Kernel] | Mapping[str, Kernel],
        *,
        what: str = "density",
        t: Any = None,
        omega: Any = None,
        n_paths: int = 1,
        random_state: int = 0,
        ax: Any = None,
    ) -> SpectralDensityDisplay:
        """Draw one of four pictures of stationary kernels on the line; `plot` draws the others from the same numbers.

        Parameters
        ----------
        kernel : Kernel, sequence of kernels, or mapping from names to kernels
        what : {"density", "kernel", "penalty", "paths"}, default "density"
        t : (q,) array, optional
            Differences; None is 301 from -5 to 5.
        omega : (q,) array, optional
            Frequencies; None is 301 from zero to eight times the largest scale of the measures.
        n_paths : int, default 1
            Functions drawn for each kernel.
        random_state : int, default 0
        ax : matplotlib axes, optional
        """
        named = dict(kernel) if isinstance(kernel, Mapping) else {repr(one): one for one in _several(kernel)}
        measures = [spectral_measure(one, 1) for one in named.values()]
        places = np.linspace(-5.0, 5.0, POINTS) if t is None else _line(t, "t")
        if omega is None:
            reach = REACH * max(float(np.max(measure.scale)) for measure in measures)
            frequencies = np.linspace(0.0, reach, POINTS)
        else:
            frequencies = _line(omega, "omega")
        values = np.array([measure(places[:, None]) for measure in measures])
        densities = np.array([_density(measure, frequencies) for measure in measures])
        paths = np.array(
            [sample_prior(one, places[:, None], n_paths, random_state=random_state) for one in named.values()]
        )
        atoms = tuple((measure.atoms[0][:, 0], measure.atoms[1]) for measure in measures)
        return cls(places, frequencies, values, densities, atoms, paths, tuple(named)).plot(what, ax)

    def plot(self, what: str = "density", ax: Any = None) -> SpectralDensityDisplay:
        """Draw one picture: the kernels, their densities (logarithmic, atoms as stems), the penalties, or paths."""
        if what not in WHAT:
            raise ParameterError(f"what={what!r} was given; one of {', '.join(WHAT)} is accepted. Use 'density'.")
        self.ax_, self.figure_ = axes(ax)
        for place, name in enumerate(self.names):
            getattr(self, f"_draw_{what}")(place, {"color": COLOURS[place % len(COLOURS)], "label": name})
        labels = {
            "kernel": ("t", "k(t)"),
            "density": ("frequency", "spectral density"),
            "penalty": ("frequency", "penalty 1 / v"),
            "paths": ("x", "f(x)"),
        }
        self.ax_.set(xlabel=labels[what][0], ylabel=labels[what][1])
        if what in ("density", "penalty") and any(line.get_ydata().size for line in self.ax_.get_lines()):
            logarithmic(self.ax_)
        for text in self.ax_.legend().get_texts():
            text.set_parse_math(False)
        return self

    def _draw_kernel(self, place: int, style: dict[str, Any]) -> None:
        self.ax_.plot(self.t, self.values[place], linewidth=1.6, **style)

    def _draw_density(self, place: int, style: dict[str, Any]) -> None:
        seen = self._seen(place)
        if seen.any():
            self.ax_.plot(self.omega[seen], self.densities[place][seen], linewidth=1.6, **style)
            style = {"color": style["color"]}
        at, masses = self.atoms[place]
        inside = (
            (at >= self.omega.min()) & (at <= self.omega.max()) & (masses > _FLOOR * max(masses.max(initial=0), 1e-300))
        )
        if inside.any():
            floor = min(masses[inside].min(), self.densities[place][seen].min(initial=np.inf))
            self.ax_.vlines(at[inside], floor, masses[inside], linewidth=1.2, color=style["color"])
            self.ax_.plot(at[inside], masses[inside], "o", markersize=3.5, **style)

    def _draw_penalty(self, place: int, style: dict[str, Any]) -> None:
        seen = self._seen(place)
        self.ax_.plot(self.omega[seen], 1.0 / self.densities[place][seen], linewidth=1.6, **style)

    def _draw_paths(self, place: int, style: dict[str, Any]) -> None:
        for path in self.paths[place].T:
            self.ax_.plot(self.t, path, linewidth=1.0, **style)
            style = {"color": style["color"]}

    def _seen(self, place: int) -> Any:
        """Frequencies where a density is positive, finite and not lost in rounding."""
        v = self.densities[place]
        finite = np.isfinite(v)
        return finite & (v > _FLOOR * v[finite].max(initial=0.0))

    def __repr__(self) -> str:
        return f"<SpectralDensityDisplay: {', '.join(self.names)}>"


def _several(kernel: Any) -> list[Kernel]:
    kernels = [kernel] if isinstance(kernel, Kernel) else list(kernel)
    if not kernels or not all(isinstance(one, Kernel) for one in kernels):
        raise ParameterError(
            f"{kernel!r} was given; a kernel, a sequence of kernels or a mapping from names to kernels is accepted. "
            "Give for example [Gaussian(1.0), Matern(0.5)]."
        )
    return kernels


def _line(values: Any, name: str) -> Floats:
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise ParameterError(
            f"{name} of shape {found.shape} was given; finite numbers in one dimension are accepted. Use np.linspace."
        )
    return found


def _density(measure: SpectralMeasure, omega: Floats) -> Floats:
    return measure.density(omega[:, None]) if measure.has_density else np.zeros(len(omega))
