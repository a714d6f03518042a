"""Problems over several Grams at once, in the machine's coefficients and the weights of the Grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.gram.algebra import Repeated
from mercer.problems import BoxQP

__all__ = ["MixtureMulticlass", "MixtureProblem", "MixtureQP", "Program"]


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """What problems over several Grams have in common.

    Attributes
    ----------
    grams : sequence of Gram
        K_t, over the same samples.
    weights : WeightSet
        D.
    """

    grams: Sequence[Any]
    weights: Any

    @property
    def gram(self) -> Any:
        """The first of the Grams."""
        return self.grams[0]


@dataclass(frozen=True, eq=False)
class Program:
    """A program of the support vector family without its Gram.

    Parameters
    ----------
    linear, lower, upper, group, total, ridge
        As in `BoxQP`.
    index : (v,) array of int, optional
        The sample of each variable; None is one variable for each.
    """

    linear: Floats
    lower: Floats
    upper: Floats
    group: Indices | None = None
    total: Floats = field(default_factory=lambda: np.zeros(1))
    ridge: float | Floats = 0.0
    index: Indices | None = None

    def at(self, gram: Any) -> BoxQP:
        """Return the program over a Gram of the samples."""
        gram = gram if self.index is None or gram is None else Repeated(gram, self.index)
        return BoxQP(gram, self.linear, self.lower, self.upper, self.group, self.total, self.ridge)

    def take(self, index: Indices, n: int) -> Program:
        """Return the program of some of n samples, each of which counts for as many as are left out."""
        place = np.full(n, -1, dtype=np.intp)
        place[index] = np.arange(len(index))
        samples = np.arange(n) if self.index is None else self.index
        kept = np.flatnonzero(place[samples] >= 0) if self.index is not None else index
        ridge = np.broadcast_to(np.asarray(self.ridge, dtype=float), self.linear.shape)
        share = len(index) / n
        return Program(
            self.linear[kept], self.lower[kept] / share, self.upper[kept] / share,
            None if self.group is None else self.group[kept], self.total, ridge[kept] * share,
            None if self.index is None else place[samples[kept]],
        )  # fmt: skip

    def is_feasible(self) -> bool:
        """Return whether the sums are within reach of the boxes."""
        group = np.zeros(len(self.linear), np.intp) if self.group is None else self.group
        least, most = (np.bincount(group, end, len(self.total)) for end in (self.lower, self.upper))
        return bool(np.all(least <= self.total) and np.all(self.total <= most))


@dataclass(frozen=True, eq=False)
class MixtureQP(MixtureProblem):
    r"""Quadratic programs of the support vector family over several Grams, with the same weights for all programs.

    .. math:: \min_{d \in D} \max_z \; -p^\top z - \tfrac12 \sum_j r_j z_j^2
              - \tfrac12 \sum_t d_t \, \beta^\top K_t \beta
              \quad \text{s.t.} \quad \ell \le z \le u, \quad \sum_{j \in g} z_j = t_g

    with :math:`\beta_i` the sum of the variables :math:`z_j` of sample i, usually one. Exchanged, it is the dual

    .. math:: \max_z \; -p^\top z - \tfrac12 \sum_j r_j z_j^2
              - \tfrac12 \max_{d \in D} \sum_t d_t \, \beta^\top K_t \beta

    Of several programs, one for each class or each output, the objectives are added up.

    Seed: [STS] Section 7, Eq. (89); [KIKS] Section 6.2, Problem 2.

    Parameters
    ----------
    grams, weights : as in MixtureProblem
    programs : tuple of Program
    """

    programs: tuple[Program, ...]


@dataclass(frozen=True, eq=False)
class MixtureMulticlass(MixtureProblem):
    r"""The program of all classes together over several Grams: one weight for each Gram, whatever the class.

    .. math:: \min_{d \in D} \max_B \; \sum_i B_{i y_i} - \tfrac12 \sum_t d_t \sum_c B_{\cdot c}^\top K_t B_{\cdot c}

    with B as in `MulticlassQP`.

    Seed: [STS] Section 7 and [KIKS] Section 6.2 name it (Zien and Ong, 2007).

    Parameters
    ----------
    grams, weights : as in MixtureProblem
    codes, upper, n_classes
        As in `MulticlassQP`.
    """

    codes: Indices
    upper: Floats
    n_classes: int
