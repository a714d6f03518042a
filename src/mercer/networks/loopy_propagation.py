"""Belief propagation on graphs with cycles, and the Bethe free energy, whose stationary points it finds.

Symbols: b_c and b_j the beliefs of factors and variables, d_j the number of factors of variable j.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer import errors
from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.constraints import Interval, OneOf
from mercer.errors import warn_caller
from mercer.networks.approximation import Approximation, check_marginals, check_tables
from mercer.networks.log_tables import aligned, entropy_of, expectation, log_sum, normalised, reduced_axes
from mercer.networks.network import NETWORK, STEPS, TOLERANCE, MarkovNetwork

__all__ = ["BetheEnergy", "bethe_free_energy", "loopy_propagation"]
__public__ = __all__

SCHEDULES = ("sequential", "parallel", "residual")


class BetheEnergy(NamedTuple):
    """The Bethe free energy at some beliefs, and its derivatives in them."""

    value: float
    factor_gradient: list[Floats]
    gradient: list[Floats]


@checked(network=NETWORK)
def bethe_free_energy(
    network: MarkovNetwork, factor_marginals: Sequence[Floats], marginals: Sequence[Floats]
) -> BetheEnergy:
    r"""Return the Bethe free energy, whose entropy is that of a tree, and its gradient.

    .. math:: F(b) = -\sum_c \langle b_c, \theta_c \rangle - \Bigl(\sum_c H(b_c) - \sum_j (d_j - 1) H(b_j)\Bigr)

    For pairs, the entropy is :math:`\sum_j H(b_j) - \sum_{jk} I(b_{jk})`, with the mutual information I. On trees
    the minimum of F over consistent beliefs is -g; on other graphs it is no bound.

    Seed: [HSS] Eqs. (126)-(127), where the printed :math:`H_j = \sum \mu \log \mu` lacks its sign.

    Parameters
    ----------
    network : MarkovNetwork
    factor_marginals : list of arrays
        b_c, one table per factor; positive, for the gradient.
    marginals : list of arrays
        b_j, one per variable.

    Examples
    --------
    >>> pair = MarkovNetwork.from_factors([(("a", "b"), np.log([[1.0, 2.0], [3.0, 4.0]]))])
    >>> p = np.array([[0.1, 0.2], [0.3, 0.4]])
    >>> energy = bethe_free_energy(pair, [p], [p.sum(axis=1), p.sum(axis=0)])
    >>> float(np.exp(-energy.value).round(12))
    10.0
    """
    tables = check_tables(network, factor_marginals, "factor_marginals")
    singles = check_marginals(network, marginals)
    degrees = _degrees(network)
    value = 0.0
    for table, factor in zip(tables, network.factors, strict=True):
        value -= expectation(table, factor.scores) + entropy_of(table)
    for degree, table in zip(degrees, singles, strict=True):
        value += (degree - 1) * entropy_of(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_factors: list[Floats] = [np.log(t) + 1.0 - f.scores for t, f in zip(tables, network.factors, strict=True)]
        of_variables: list[Floats] = [-(d - 1) * (np.log(t) + 1.0) for d, t in zip(degrees, singles, strict=True)]
    return BetheEnergy(value, of_factors, of_variables)


@checked(
    network=NETWORK,
    schedule=OneOf(*SCHEDULES),
    damping=Interval(0.0, 1.0, closed="left"),
    tol=TOLERANCE,
    max_iter=STEPS,
)
def loopy_propagation(
    network: MarkovNetwork,
    *,
    schedule: str = "sequential",
    damping: float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Approximation:
    r"""Belief propagation between factors and variables, whether or not the graph has cycles.

    .. math:: m_{c \to j}(x_j) \propto \sum_{x_c \setminus x_j} e^{\theta_c(x_c)}
        \prod_{k \in c,\, k \ne j} \; \prod_{d \ni k,\, d \ne c} m_{d \to k}(x_k)

    Exact on trees. Elsewhere it need not converge, and where it does it is at a stationary point of the free energy
    of Bethe, whose negative is ``log_partition``: neither an upper nor a lower bound.

    Seed: [HSS] Section 4.2.5.

    Parameters
    ----------
    network : MarkovNetwork
    schedule : {"sequential", "parallel", "residual"}, default "sequential"
        Factors one after the other, forwards and backwards in turn; all at once; or always the one whose messages
        would change most.
    damping : float, default 0.0
        Share of the old message that is kept (of its logarithm), from 0 to below 1. Damping does not change where it
        may stop, and helps where messages oscillate.
    tol : float, default 1e-10
        It has converged when no message, as probabilities, changes by more.
    max_iter : int, default 1000
        Sweeps at most; a warning says that it has not converged.

    Returns
    -------
    Approximation

    Examples
    --------
    >>> chain = MarkovNetwork.from_factors([((i, i + 1), np.eye(2)) for i in range(4)] + [((0,), [0.0, 1.0])])
    >>> loopy_propagation(chain).marginals()[0]
    array([0.26894142, 0.73105858])
    """
    messages = _Messages(network, damping)
    steps = {"sequential": messages.sweep, "parallel": messages.at_once, "residual": messages.by_residual}
    residual, iteration = np.inf, 0
    while iteration < max_iter and residual > tol:
        residual = steps[schedule](iteration)
        iteration += 1
    if residual > tol:
        warn_caller(
            f"loopy_propagation stopped after max_iter={max_iter} sweeps, in the last of which a message changed by "
            f"{residual:.3g}; tol={tol:g}. Its marginals contradict each other. Use damping=0.5, or junction_tree.",
            errors.ConvergenceWarning,
        )
    factors, variables = messages.beliefs()
    value = -bethe_free_energy(network, factors, variables).value
    return Approximation(network, variables, factors, value, "none", iteration, float(residual), bool(residual <= tol))


class _Messages:
    """Messages from factors to variables: logarithms of distributions."""

    def __init__(self, network: MarkovNetwork, damping: float) -> None:
        self.network, self.damping = network, damping
        self.sent = {
            (c, v): np.full(network.sizes[v], -np.log(network.sizes[v]))
            for c, factor in enumerate(network.factors)
            for v in factor.scope
        }
        self.of: list[list[int]] = [[] for _ in network.sizes]
        for c, factor in enumerate(network.factors):
            for v in factor.scope:
                self.of[v].append(c)

    def received(self, v: int, besides: int = -1) -> Floats:
        """Return the sum of the messages to a variable, but for those of one factor."""
        total = np.zeros(self.network.sizes[v])
        for c in self.of[v]:
            if c != besides:
                total = total + self.sent[c, v]
        return total

    def of_factor(self, c: int) -> dict[tuple[int, int], Floats]:
        """Return the messages that a factor would send now."""
        scope, scores = self.network.factors[c]
        incoming = [aligned(self.received(v, c), (v,), scope) for v in scope]
        found = {}
        for place, v in enumerate(scope):
            table = scores
            for other, message in enumerate(incoming):
                if other != place:
                    table = table + message
            new = log_sum(table, reduced_axes(scope, (v,)))
            new = new - log_sum(new)
            if self.damping:
                new = (1.0 - self.damping) * new + self.damping * self.sent[c, v]
                new = new - log_sum(new)
            found[c, v] = new
        return found

    def change(self, new: dict[tuple[int, int], Floats]) -> float:
        """Return by how much these messages, as probabilities, differ from those that were sent."""
        worst = max(float(np.abs(np.exp(m) - np.exp(self.sent[at])).max()) for at, m in new.items())
        return worst / (1.0 - self.damping)

    def sweep(self, iteration: int) -> float:
        """Update the factors one after the other."""
        count, worst = len(self.network.factors), 0.0
        for c in range(count) if iteration % 2 == 0 else range(count - 1, -1, -1):
            new = self.of_factor(c)
            worst = max(worst, self.change(new))
            self.sent.update(new)
        return worst

    def at_once(self, iteration: int) -> float:
        """Update all factors from the messages of the last sweep."""
        new = {}
        for c in range(len(self.network.factors)):
            new.update(self.of_factor(c))
        worst = self.change(new) if new else 0.0
        self.sent.update(new)
        return worst

    def by_residual(self, iteration: int) -> float:
        """Make as many updates as there are factors, each where messages would change most; return what is left."""
        count = len(self.network.factors)
        residuals = [self.change(self.of_factor(c)) for c in range(count)]
        heap = [(-r, c) for c, r in enumerate(residuals)]
        heapq.heapify(heap)
        done = 0
        while heap and done < count:
            r, c = heapq.heappop(heap)
            if -r != residuals[c]:
                continue  # of an earlier time
            if r == 0.0:
                break
            self.sent.update(self.of_factor(c))
            done += 1
            touched = {d for v in self.network.factors[c].scope for d in self.of[v]}
            for d in touched:
                residuals[d] = self.change(self.of_factor(d))
                heapq.heappush(heap, (-residuals[d], d))
        return max(residuals, default=0.0)

    def beliefs(self) -> tuple[list[Floats], list[Floats]]:
        """Return the beliefs of factors and of variables."""
        factors = []
        for c, (scope, scores) in enumerate(self.network.factors):
            table = scores
            for v in scope:
                table = table + aligned(self.received(v, c), (v,), scope)
            factors.append(normalised(table))
        return factors, [normalised(self.received(v)) for v in range(len(self.network.sizes))]


def _degrees(network: MarkovNetwork) -> list[int]:
    degrees = [0] * len(network.sizes)
    for scope, _ in network.factors:
        for v in scope:
            degrees[v] += 1
    return degrees
