"""Mean field: the best distribution in which blocks of variables are independent, and its lower bound.

Symbols: q = prod_B q_B the approximation, one factor per block B of variables; H its entropy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mercer import errors
from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.constraints import AnyOf, InstanceOf, Integer, Optional
from mercer.errors import ParameterError, warn_caller
from mercer.networks.approximation import Approximation
from mercer.networks.junction_tree import JunctionTree, junction_tree
from mercer.networks.log_tables import aligned, expectation
from mercer.networks.network import NETWORK, STEPS, TOLERANCE, Factor, MarkovNetwork

__all__ = ["mean_field"]
__public__ = __all__


@checked(
    network=NETWORK,
    tol=TOLERANCE,
    max_iter=STEPS,
    random_state=Optional(AnyOf(Integer(0), InstanceOf(np.random.Generator))),
)
def mean_field(
    network: MarkovNetwork,
    blocks: Iterable[Iterable[Hashable]] | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
    random_state: Any = 0,
) -> Approximation:
    r"""Approximate a network by one whose blocks are independent; the bound is always below the log-partition function.

    .. math:: g(\theta) \ge \max_{q = \prod_B q_B} \; \sum_c \mathbf{E}_q[\theta_c(x_c)] + \sum_B H(q_B)

    One block after the other is set to its best distribution,
    :math:`q_B \propto \exp \mathbf{E}_{q \setminus B}[\sum_c \theta_c]`, which never lowers the bound. A block of one
    variable each is the naive mean field; inside larger blocks, such as the rows of a grid, inference is exact.

    Seed: [HSS] Eq. (125); by Theorem 26 with the sign :math:`g^* = -H`.

    Parameters
    ----------
    network : MarkovNetwork
    blocks : iterable of iterables of names, optional
        A partition of the variables; None is one block for each variable.
    tol : float, default 1e-10
        It has converged when a sweep raises the bound by no more.
    max_iter : int, default 1000
        Sweeps at most.
    random_state : int, Generator or None, default 0
        Of the marginals to begin with, near the uniform ones: symmetric networks have a saddle point there.

    Returns
    -------
    Approximation
        ``bound`` is "lower".

    Examples
    --------
    >>> ring = MarkovNetwork.from_factors([((i, (i + 1) % 4), np.eye(2)) for i in range(4)])
    >>> exact = junction_tree(ring).log_partition
    >>> naive = mean_field(ring).log_partition
    >>> rows = mean_field(ring, blocks=[(0, 1), (2, 3)]).log_partition
    >>> naive < rows < exact
    True
    """
    parts = [_Block(network, places) for places in _partition(network, blocks)]
    homes = {v: place for place, part in enumerate(parts) for v in part.places}
    for factor in network.factors:
        if len({homes[v] for v in factor.scope}) > 1 and not np.isfinite(factor.scores).all():
            names = tuple(network.variables[v] for v in factor.scope)
            raise ParameterError(
                f"the factor of {names} has scores of -inf across blocks; between blocks all scores must be finite, "
                "since independent blocks reach every combination. Put these variables into one block."
            )
    rng = np.random.default_rng(random_state)
    local = [_start(network, place, factor, homes, rng) for place, factor in enumerate(network.factors)]
    bound, residual, iteration = -np.inf, np.inf, 0
    while iteration < max_iter and residual > tol:
        for place, part in enumerate(parts):
            part.update(network, place, local)
        new = _expected_score(network, local) + sum(part.entropy for part in parts)
        residual, bound = new - bound, new
        iteration += 1
    if residual > tol:
        warn_caller(
            f"mean_field stopped after max_iter={max_iter} sweeps, the last of which raised the bound by {residual:.3g}"
            f" (tol={tol:g}). The bound holds all the same. Raise max_iter, or use larger blocks.",
            errors.ConvergenceWarning,
        )
    tables: list[Any] = [None] * len(network.sizes)
    for part in parts:
        for v, table in zip(part.places, part.marginals(), strict=True):
            tables[v] = table
    factors = [_product(f.scope, local[c]) for c, f in enumerate(network.factors)]
    return Approximation(network, tables, factors, bound, "lower", iteration, float(residual), bool(residual <= tol))


# of each factor, by block: the variables that it has there, and their marginal
Local = dict[int, tuple[tuple[int, ...], Floats]]


class _Block:
    """One block: a network of its own variables, whose scores are expectations over the others."""

    def __init__(self, network: MarkovNetwork, places: list[int]) -> None:
        self.places = places
        new = {v: i for i, v in enumerate(places)}
        self.touched = [c for c, f in enumerate(network.factors) if not new.keys().isdisjoint(f.scope)]
        factors = []
        for c in self.touched:
            scope = tuple(new[v] for v in network.factors[c].scope if v in new)
            factors.append(Factor(scope, np.zeros([network.sizes[places[v]] for v in scope])))
        inner = MarkovNetwork(
            tuple(network.variables[v] for v in places), tuple(network.sizes[v] for v in places), tuple(factors)
        )
        self.tree: JunctionTree = junction_tree(inner)
        self.entropy = 0.0

    def update(self, network: MarkovNetwork, place: int, local: list[Local]) -> None:
        """Set this block to its best distribution, given the others."""
        tables = [_averaged(network.factors[c], local[c], place) for c in self.touched]
        self.tree = self.tree.with_network(self.tree.network.replace_scores(tables))
        for c, table in zip(self.touched, self.tree.factor_marginals(), strict=True):
            local[c][place] = local[c][place][0], table
        self.entropy = self.tree.entropy()

    def marginals(self) -> list[Floats]:
        return list(self.tree.marginals().values())


def _partition(network: MarkovNetwork, blocks: Any) -> list[list[int]]:
    if blocks is None:
        return [[v] for v in range(len(network.variables))]
    try:
        given = [list(block) for block in blocks]
    except TypeError as error:
        raise ParameterError(
            f"blocks={blocks!r} were given; lists of names of variables are accepted. Write "
            "blocks=[('a', 'b'), ('c',)]."
        ) from error
    found = [sorted(network.place_of(name) for name in block) for block in given]
    members = sorted(v for block in found for v in block)
    if members != list(range(len(network.variables))) or not all(found):
        raise ParameterError(
            f"blocks with {len(members)} variables in all were given; each of the {len(network.variables)} variables "
            "must be in exactly one block. Add those that are missing as blocks of their own."
        )
    return found


def _start(network: MarkovNetwork, c: int, factor: Factor, homes: dict[int, int], rng: np.random.Generator) -> Local:
    found: Local = {}
    for place in sorted({homes[v] for v in factor.scope}):
        own = tuple(v for v in factor.scope if homes[v] == place)
        shape = [network.sizes[v] for v in own]
        table = 1.0 + 0.1 * rng.random(shape)
        found[place] = own, table / table.sum()
    return found


def _averaged(factor: Factor, local: Local, kept: int) -> Floats:
    """Return the expectation of a factor over all blocks but one."""
    table, axes = factor.scores, []
    for place, (own, p) in local.items():
        if place != kept:
            table = table * aligned(p, own, factor.scope)
            axes += [factor.scope.index(v) for v in own]
    return table.sum(axis=tuple(axes)) if axes else table


def _product(scope: tuple[int, ...], local: Local) -> Floats:
    table: Any = 1.0
    for own, p in local.values():
        table = table * aligned(p, own, scope)
    return table


def _expected_score(network: MarkovNetwork, local: list[Local]) -> float:
    return sum(expectation(_product(f.scope, local[c]), f.scores) for c, f in enumerate(network.factors))
