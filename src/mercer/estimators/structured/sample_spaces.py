"""The output space of each sample: one for all of them, or one with the sample's own network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.structured.output_space import Constraint, Oracle, OutputSpace, Violations

__all__ = ["SampleSpaces"]


class SampleSpaces:
    """What output spaces answer for all samples at once, whether or not each brings a network of its own.

    Parameters
    ----------
    space : OutputSpace
    networks : sequence, optional
        Of each sample; None if the space is that of all.
    offsets : (n + 1,) array of int, optional
        Where the sites of each sample begin, if it has a network.
    """

    def __init__(self, space: OutputSpace, networks: Sequence[Any] | None = None, offsets: Any = ()) -> None:
        self.space, self.each = space, None
        if networks is not None:
            self.each = [space.on(network, int(m)) for network, m in zip(networks, np.diff(offsets), strict=True)]

    def __getitem__(self, i: int) -> OutputSpace:
        return self.space if self.each is None else self.each[i]

    def _parts(self, offsets: Indices) -> list[tuple[Any, slice, Indices]]:
        """Return the space of each sample, its sites, and its own offsets."""
        return [(self[i], slice(a, b), np.array([0, b - a])) for i, (a, b) in enumerate(pairwise(offsets))]

    def best_of_all(self, F: Floats, offsets: Indices, w: Floats) -> list[Any]:
        """Return the best output of each sample."""
        if self.each is None:
            return self.space.best_of_all(F, offsets, w)
        return [one.best(F[at], w) for one, at, _ in self._parts(offsets)]

    def marginals_of_all(self, F: Floats, offsets: Indices, w: Floats) -> Floats:
        """Return the probability of each label at each site, (N, K)."""
        space: Any = self.space
        if self.each is None:
            return space.marginals_of_all(F, offsets, w)
        parts = [one.marginals_of_all(F[at], own, w) for one, at, own in self._parts(offsets)]
        return np.concatenate([np.empty((0, space.width)), *parts])

    def sums_of_all(self, F: Floats, offsets: Indices, w: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log-partition functions (n,), expected psi (N, D), and the weighted sum of expected g (G,)."""
        if self.each is None:
            return self.space.sums_of_all(F, offsets, w, weight)
        logs, psi, g = np.empty(len(offsets) - 1), np.empty_like(F), np.zeros_like(w)
        for i, (one, at, own) in enumerate(self._parts(offsets)):
            log, psi[at], extra = one.sums_of_all(F[at], own, w, weight[i : i + 1])
            logs[i] = log[0]
            g += extra
        return logs, psi, g

    def violations(
        self, F: Floats, offsets: Indices, w: Floats, codes: Sequence[Any], cost: Floats, rescaling: str = "margin"
    ) -> Violations:
        """Return the most violated constraints of all samples, added up."""
        if self.each is None:
            return self.space.violations(F, offsets, w, codes, cost, rescaling)
        slacks, psi, g, loss = [np.empty(0)], np.zeros_like(F), np.zeros_like(w), 0.0
        for i, (one, at, own) in enumerate(self._parts(offsets)):
            found = one.violations(F[at], own, w, codes[i : i + 1], cost[i : i + 1], rescaling)
            slacks.append(found.slacks)
            psi[at] = found.psi
            g += found.g
            loss += found.loss
        return Violations(np.concatenate(slacks), psi, g, loss)

    def oracle(self, rescaling: str) -> Oracle:
        """Return the search for the most violated constraint of a truth, which is (sample, output)."""
        if self.each is None:
            search = self.space.oracle(rescaling)
            return lambda F, w, truth: search(F, w, truth[1])
        searches = [one.oracle(rescaling) for one in self.each]

        def violated(F: Floats, w: Floats, truth: Any) -> Constraint:
            i, output = truth
            return searches[i](F, w, output)

        return violated

    def slack_bound(self, F: Floats, w: Floats, truth: Any, rescaling: str) -> float:
        """Return an upper bound on the violation of any constraint of a truth, which is (sample, output)."""
        i, output = truth
        return self[i].slack_bound(F, w, output, rescaling)
