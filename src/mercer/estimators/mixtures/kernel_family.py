r"""A family of kernels k_1, ..., k_m for one learner: names, scales, and a Gram matrix for each.

Symbols: w_i sample weights and W their sum, a_t the scale that makes kernel t comparable with the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan, Resources, budget
from mercer.constraints import Constraint
from mercer.domains import Frames, Samples
from mercer.errors import DegenerateWarning, ParameterError, warn_caller
from mercer.gram import Dense, Gram, GramSpec, Tiles
from mercer.gram.gram import has_array, is_factored, is_stored, is_undecided
from mercer.kernels import Gaussian, Kernel, Scaled, Sum
from mercer.kernels.foreign import as_kernel
from mercer.kernels.kernel import narrowed
from mercer.solvers.mixtures.stack import Matrix

__all__ = ["Family", "Kernels", "combined", "family_of"]

NORMALIZATIONS = ("trace", "variance", "cosine")
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the default family, times the median distance
_UNEQUAL = 10.0  # ratio of scales from which a warning says so


class Kernels(Constraint):
    """Several kernels: a list of them, a dict of names to kernels, or a sum of kernels, which are its terms."""

    @property
    def accepted(self) -> str:
        return "a list of kernels, a dict of names to kernels, a sum of kernels, or None"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, Kernel):
            return True
        members = value.values() if isinstance(value, Mapping) else value
        if not isinstance(value, (Mapping, Sequence)) or isinstance(value, (str, bytes)) or not len(value):
            return False
        return all(isinstance(as_kernel(one), Kernel) for one in members)

    def advice(self, name: str, value: Any) -> str:
        return (
            f"Write {name}=[Gaussian(0.5), Gaussian(2.0)], or {name}={{'near': Gaussian(0.5), 'far': Gaussian(2.0)}}."
        )


@dataclass(frozen=True, eq=False)
class Family:
    """Kernels with names.

    Attributes
    ----------
    names : tuple of str
    kernels : tuple of Kernel
    """

    names: tuple[str, ...]
    kernels: tuple[Kernel, ...]

    @property
    def kernel(self) -> Kernel:
        """The sum of all, which packs the data for each of them."""
        return Sum(self.kernels)

    def learned(self, S: Samples, y: Any, w: Floats) -> Family:
        """Return the family with everything that is learned from training samples."""
        found = tuple(k.learn(narrowed(k, S), y, w) for k in self.kernels)
        return replace(self, kernels=found)

    def normalized(self) -> Family:
        """Return the family of cosines in the feature spaces."""
        return replace(self, kernels=tuple(k.normalized() for k in self.kernels))

    def __len__(self) -> int:
        return len(self.kernels)


def family_of(kernels: Any) -> Family | None:
    """Return kernels with names; None is the default family, which needs the samples.

    Examples
    --------
    >>> family_of([Gaussian(1.0), Gaussian(1.0)]).names
    ('Gaussian(1.0)', 'Gaussian(1.0), 2')
    """
    if kernels is None:
        return None
    if isinstance(kernels, Mapping):
        return Family(tuple(map(str, kernels)), tuple(as_kernel(one) for one in kernels.values()))
    if isinstance(kernels, Kernel):
        kernels = kernels.terms if isinstance(kernels, Sum) else (kernels,)
    members = tuple(as_kernel(one) for one in kernels)
    seen: dict[str, int] = {}
    names = []
    for member in members:
        text = repr(member)
        seen[text] = seen.get(text, 0) + 1
        names.append(text if seen[text] == 1 else f"{text}, {seen[text]}")
    return Family(tuple(names), members)


def widths(S: Samples, y: Any, w: Floats) -> Family:
    """Return the default family: Gaussian kernels around the median distance between samples."""
    base: Any = Gaussian("median").learn(S, y, w)
    names = tuple(f"{factor:g} x median" for factor in _WIDTHS)
    return Family(names, tuple(Gaussian(factor * base.length_scale) for factor in _WIDTHS))


def default_size(kernels: Any) -> int:
    """Return the number of kernels that were given, or of the default family."""
    family = family_of(kernels)
    return len(_WIDTHS) if family is None else len(family)


@dataclass(frozen=True, eq=False)
class Built:
    """A family on training samples.

    Attributes
    ----------
    family : Family
        Its kernels are multiplied by the scales.
    scales : (m,) array
        a_t.
    grams : list of Gram
    spec : GramSpec
        How they are held.
    """

    family: Family
    scales: Floats
    grams: list[Any]
    spec: GramSpec


def chosen_spec(given: GramSpec | None, m: int, n: int, memory: Any) -> tuple[GramSpec, bool]:
    """Return how all Grams are held, and whether in float32: as arrays where they fit, else in tiles."""
    if given is not None and not is_undecided(given):
        return given, False
    allowed, matrix = budget(memory), n * n
    if 8 * (m + 2) * matrix <= allowed // 2:
        return Dense(), False
    if (4 * m + 20) * matrix <= allowed:
        return Dense(), True
    return Tiles(), False


def plan_of(m: int, n: int, width: int, given: GramSpec | None, memory: Any, kernel: Kernel) -> Plan:
    """Return the large buffers of the Grams of a family."""
    spec, single = chosen_spec(given, m, n, memory)
    if is_stored(spec):
        size = (4 if single else 8) * n * n
        options = ("fewer kernels",)
        held = {f"{m} Gram matrices": m * size, "their weighted sum": 8 * n * n}
        return Plan(f"{m} kernels on {n} samples", held, options)
    one = spec.plan(kernel, n, width, memory)
    times = m if is_factored(spec) else 1
    return Plan(f"{m} kernels on {n} samples", {name: times * size for name, size in one.buffers.items()}, one.options)


def build(family: Family, S: Samples, w: Floats, by: str | None, given: GramSpec | None, resources: Resources) -> Built:
    """Return the Gram of each kernel, scaled.

    Parameters
    ----------
    family : Family
        Learned.
    S : Samples
    w : (n,) array
    by : {"trace", "variance", "cosine", None}
    given : GramSpec or None
    resources : Resources
    """
    spec, single = chosen_spec(given, len(family), len(S), resources.memory)
    kernels, scales, grams, sizes = [], [], [], []
    for kernel in family.kernels:
        part = kernel.prepare(narrowed(kernel, S))
        diagonal = np.asarray(kernel.diag(part), dtype=float)
        mean = float(w @ diagonal / w.sum())
        sizes.append(mean)
        gram: Any = spec.build(kernel, part, resources) if is_stored(spec) or by == "variance" else None
        scale = 1.0
        if by == "trace":
            scale = _inverse(mean)
        elif by == "variance":
            scale = _inverse(mean - float(w @ (gram @ w)) / float(w.sum()) ** 2, mean)
        scaled = kernel if by in (None, "cosine") else Scaled(scale, kernel)
        if gram is None or (scale != 1.0 and not has_array(gram)):
            gram = spec.build(scaled, part, resources)
        elif scale != 1.0:
            array = gram.release()
            array *= scale
            gram = Matrix(array, resources)
        if has_array(gram):
            array = gram.array
            gram = Matrix(array.astype(np.float32) if single else array, resources)
        kernels.append(scaled)
        scales.append(scale)
        grams.append(gram)
    if by is None:
        _warn_of(family, np.array(sizes))
    return Built(replace(family, kernels=tuple(kernels)), np.array(scales), grams, spec)


def _inverse(size: float, of: float | None = None) -> float:
    """Return 1 over a size; 1 where the size is nothing but rounding."""
    return 1.0 / size if size > 1e-12 * abs(size if of is None else of) and np.isfinite(size) else 1.0


def _warn_of(family: Family, sizes: Floats) -> None:
    some = sizes[sizes > 0.0]
    if len(some) < 2 or some.max() <= _UNEQUAL * some.min():
        return
    small, large = family.names[int(np.argmin(np.where(sizes > 0.0, sizes, np.inf)))], family.names[int(sizes.argmax())]
    warn_caller(
        f"the kernels have very different scales: k(x, x) is {some.min():.3g} on average for {small}, and "
        f"{some.max():.3g} for {large}, so that weights say little about what a kernel contributes, and the larger is "
        "favoured. Use normalization='trace' or 'variance', or kernels with .normalized().",
        DegenerateWarning,
    )


def combined(family: Family, d: Floats) -> Kernel:
    """Return the weighted sum of a family as an ordinary kernel; kernels without a weight are left out."""
    terms = [_scaled(float(a), k) for a, k in zip(d, family.kernels, strict=True) if a > 0.0]
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _scaled(a: float, kernel: Kernel) -> Kernel:
    if isinstance(kernel, Scaled):
        return Scaled(a * float(kernel.scale), kernel.kernel)
    return Scaled(a, kernel)


def require_members(kernels: Any) -> None:
    """Raise ParameterError unless the parameters of all kernels are acceptable."""
    family = family_of(kernels)
    if family is None:
        return
    if len(set(family.names)) < len(family.names):
        raise ParameterError(f"kernels={kernels!r} have the same name twice; names must differ. Give other names.")
    for kernel in family.kernels:
        kernel.check()


def held(grams: Sequence[Any]) -> bool:
    """Return whether all Grams are arrays in memory."""
    return all(has_array(gram) for gram in grams)


def part_read(kernel: Any, S: Samples) -> Samples:
    """Return what a kernel packs on its own, of samples that were packed for it and others."""
    if not isinstance(S, Frames) or not kernel.composite:
        return narrowed(kernel, S)
    label = kernel.one_part()
    return S if label is None else S.part(label)


def exact_gram(kernel: Kernel, S: Samples, resources: Resources) -> Gram:
    """Return the Gram of the weighted sum, of which nothing is computed yet."""
    return Tiles().build(kernel, S, resources)
