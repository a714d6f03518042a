r"""Certificates of sums: machines of several kernels, and boosted weak learners.

Symbols: f = sum_t f_t + b, f_t in s_t F_t, where F_t is the unit ball of kernel t, or all stumps; s = sum_t s_t, so
that f - b is in s times the convex hull of the union of the F_t, whose complexity is that of the union.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import theory  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.estimators.certificates.assumptions import assumptions_of
from mercer.estimators.certificates.certified import Certified, best_pac_bayes, shared
from mercer.estimators.certificates.fitted_balls import FAR, Ball, Size, class_codes
from mercer.estimators.certificates.measured_errors import Request, shares_of_errors

__all__ = ["CertifiedSum", "Summands", "refused"]

_DRAWS = 200  # of signs, for the complexity of stumps
_DRAWN = 0.1  # share of delta with which they may be unusual


@dataclass(frozen=True, eq=False)
class Summands:
    """Functions as sums, on a sample.

    Attributes
    ----------
    values : (m, r) array
        Of r functions.
    sizes : (r, N) array
        s_t of each.
    offsets : (r,) array, optional
        b of each; None where there is none by construction.
    diagonals : (N, m) array, optional
        k_t(x_i, x_i); None for weak learners whose best correlation with signs is known.
    correlation : callable, optional
        That correlation.
    scale : float
        The margin of the printed bound of boosting.
    """

    values: Floats
    sizes: Floats
    offsets: Floats | None
    diagonals: Floats | None = None
    correlation: Any = None
    scale: float = 1.0

    def complexity(self, delta: float) -> tuple[float, float]:
        """Return the complexity of the union of the F_t, and what is left of delta."""
        m = len(self.values)
        if self.diagonals is not None:
            return theory.union_rademacher(self.diagonals.sum(axis=1), m), delta
        # a sign of one draw moves the mean by (2 / m) 2 / draws at most
        more = theory.mcdiarmid_width(4.0 / (m * _DRAWS), _DRAWN * delta, m * _DRAWS)
        return self._drawn + more, (1.0 - _DRAWN) * delta

    @functools.cached_property
    def _drawn(self) -> float:
        return theory.rademacher_average(self.correlation, len(self.values), _DRAWS, 0).value

    def problem(self, sign: Floats, first: int, second: int | None = None) -> tuple[Floats, Floats, float | None]:
        """Return margins, s_t and |b| of one function, or of the difference of two."""
        v, s, b = self.values[:, first], self.sizes[first], 0.0 if self.offsets is None else self.offsets[first]
        if second is not None:
            v, s = v - self.values[:, second], s + self.sizes[second]
            b -= 0.0 if self.offsets is None else self.offsets[second]
        return sign * v, s, None if self.offsets is None else abs(float(b))


class CertifiedSum(Certified):
    """Base of estimators whose function is a sum over kernels or weak learners."""

    @abstractmethod
    def _summands(self, T: Samples) -> Summands:
        """Return the fitted functions on a sample, in parts."""

    def _require_covered(self) -> None:
        return None  # `_summands` says so

    def _certified_classes(self, X: Any, y: Any, asked: Request) -> theory.Certificate:
        model: Any = self
        T = self._packed_sample(X)
        codes, sums = class_codes(model, y, len(T)), self._summands(T)
        count = len(model.classes_)
        pairs = [(a, b) for a in range(count) for b in range(a + 1, count)] if count > 2 else [(0, None)]
        kinds = 1 if sums.diagonals is None else 2
        share = shared(asked, kinds * len(pairs))
        found: list[list[theory.Bound]] = []
        for a, b in pairs:
            if b is None:
                sign = np.where(codes == 1, 1.0, -1.0)
            else:
                sign = np.select([codes == a, codes == b], [1.0, -1.0])
            found.append(_of_problem(sums, *sums.problem(sign, a, b), sign != 0.0, share))
        bounds, notes = found[0], list[str]()
        if count > 2:
            notes.append(f"{count} classes: sums over {len(pairs)} problems of two classes, with parts of delta.")
            bounds = [
                theory.Bound.of_terms(
                    first.name, "P(error)",
                    [theory.Term("pairs", "sum over the problems", sum(float(one[place]) for one in found))],
                    asked.delta / kinds, paid=first.paid, unpaid=first.unpaid,
                )
                for place, first in enumerate(found[0])
            ]  # fmt: skip
        loose = []
        if count == 2 and (printed := _printed(sums, np.where(codes == 1, 1.0, -1.0), asked)) is not None:
            bounds, loose = [*bounds, printed], [printed.name]
        estimates = shares_of_errors(model, X, np.asarray(y), np.asarray(model.predict(X)), asked, notes)
        return theory.Certificate(
            repr(model), "P(error)", len(T), asked.delta, tuple(bounds), tuple(estimates),
            assumptions_of(model, asked, T), tuple(notes), frozenset(loose),
        )  # fmt: skip

    def _certified_region(self, X: Any, asked: Request) -> theory.Certificate:
        model: Any = self
        T = self._packed_sample(X)
        sums = self._summands(T)
        every = np.ones(len(T))
        bounds = _of_problem(sums, *sums.problem(every, 0), every > 0.0, shared(asked, 2))
        notes: list[str] = []
        inside = np.ones(len(T), dtype=int)
        shares = shares_of_errors(model, X, inside, np.asarray(model.predict(X)), asked, notes)
        return theory.Certificate(
            repr(model), "P(outside)", len(T), asked.delta, tuple(one.replaced(bounds="P(outside)") for one in bounds),
            tuple(shares), assumptions_of(model, asked, T), tuple(notes),
        )  # fmt: skip

    def _size(self, T: Samples, predicted: Floats, delta: float) -> Size:
        sums = self._summands(T)
        complexity, left = sums.complexity(delta)
        offset = None if sums.offsets is None else abs(float(sums.offsets[0]))
        return Size(float(sums.sizes[0].sum()), complexity, offset, left)


def _of_problem(
    sums: Summands, margins: Floats, sizes: Floats, offset: float | None, members: Any, asked: Request
) -> list[theory.Bound]:
    """Return the bounds of a problem of two classes, each with the delta that was asked for."""
    complexity, left = sums.complexity(asked.delta)
    margins = np.where(members, margins, FAR)
    total, N = float(sizes.sum()), len(sizes)
    bound = theory.margin_bound(margins, total, complexity, offset=offset, delta=left, choices=asked.candidates)
    learned = f"the mixture of {N} kernels" if sums.diagonals is not None else "the votes of the weak learners"
    fixed = ("the kernels themselves" if sums.diagonals is not None else "the class of weak learners",)
    bounds = [bound.replaced(delta=asked.delta, paid=(*bound.paid, learned), unpaid=fixed)]
    if sums.diagonals is not None:
        diagonal = np.where(members, sums.diagonals.sum(axis=0), 0.0)
        ball = Ball(margins, diagonal, float(np.linalg.norm(sizes)), offset)
        drawn = best_pac_bayes(ball, asked.delta, asked.candidates)
        bounds.append(drawn.replaced(paid=(drawn.paid[0], f"{learned}, as a function in the sum of all"), unpaid=fixed))
    return bounds


def _printed(sums: Summands, sign: Floats, asked: Request) -> theory.Bound | None:
    """Return the bound as the seed prints it, for a margin or a sum of votes that was fixed in advance."""
    margins, sizes, _ = sums.problem(sign, 0)
    total = float(sizes.sum())
    if not total > 0.0:
        return None
    if sums.diagonals is None:
        slacks = np.maximum(0.0, 1.0 - margins / sums.scale)
        return theory.boosting_bound(slacks, total / sums.scale, sums.complexity(asked.delta)[0], asked.delta)
    gamma = 1.0 / total
    slacks = np.maximum(0.0, gamma - margins / total)
    radius = math.sqrt(float(sums.diagonals.max()))
    return theory.mkl_bound(slacks, sums.diagonals.sum(axis=1), gamma, asked.delta, radius=radius)


def refused(model: Any, why: str) -> CapabilityError:
    """Return the error of a model that there are no bounds for."""
    return CapabilityError(
        f"{type(model).__name__} was asked for a certificate; {why}. Compare models by cross_val_score instead."
    )
