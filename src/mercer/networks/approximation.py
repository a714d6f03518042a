"""What approximate inference returns: local marginals, and what is known of the log-partition function."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import checked
from mercer.arrays import Floats, real_numbers
from mercer.errors import ParameterError
from mercer.networks.log_tables import summed_to
from mercer.networks.network import NETWORK, MarkovNetwork

__all__ = ["Approximation", "check_marginals", "check_tables", "local_inconsistency"]
__public__ = ["Approximation", "local_inconsistency"]


_LARGEST = 1e100  # whatever is summed or subtracted stays finite


@dataclass(frozen=True, eq=False)
class Approximation:
    """Approximate answers about a network.

    Attributes
    ----------
    network : MarkovNetwork
    tables : list of (size,) arrays
        Approximate marginals of the variables, in their order.
    factor_tables : list of arrays
        Those of the factors, in their order.
    log_partition : float
        Approximation of g.
    bound : {"lower", "upper", "none"}
        Whether it is known to be at most, or at least, the true value.
    n_iter : int
    residual : float
        By how much the last sweep changed anything.
    converged : bool
    """

    network: MarkovNetwork
    tables: list[Floats]
    factor_tables: list[Floats]
    log_partition: float
    bound: str
    n_iter: int
    residual: float
    converged: bool

    def marginals(self) -> dict[Hashable, Floats]:
        """Return the approximate marginals by the names of the variables."""
        return self.network.named(self.tables)

    def factor_marginals(self) -> list[Floats]:
        """Return the approximate marginals of the factors."""
        return list(self.factor_tables)

    def inconsistency(self) -> float:
        """Return by how much the tables of factors and variables contradict each other."""
        return local_inconsistency(self.network, self.factor_tables, self.tables)


def check_tables(network: MarkovNetwork, tables: Sequence[Floats], name: str) -> list[Floats]:
    """Return tables of the factors as arrays; ParameterError if they do not fit."""
    found = _arrays(tables, name)
    if [t.shape for t in found] != [f.scores.shape for f in network.factors] or any((t < 0.0).any() for t in found):
        raise ParameterError(
            f"{name} do not fit the factors; one table of probabilities per factor is accepted, of the shape of its "
            "scores. Compare with network.factors."
        )
    return found


def check_marginals(network: MarkovNetwork, tables: Sequence[Floats]) -> list[Floats]:
    """Return tables of the variables as arrays; ParameterError if they do not fit."""
    found = _arrays(tables, "marginals")
    if [t.shape for t in found] != [(size,) for size in network.sizes] or any((t < 0.0).any() for t in found):
        raise ParameterError(
            "marginals do not fit the variables; one table of probabilities per variable is accepted, in the order of "
            "network.variables. Use list(found.marginals().values())."
        )
    return found


def _arrays(tables: Any, name: str) -> list[Floats]:
    if not isinstance(tables, (list, tuple)):
        raise ParameterError(
            f"{name}={tables!r:.100} were given; a list of tables of probabilities is accepted. Use "
            "what found.factor_marginals() or list(found.marginals().values()) returns."
        )
    found: list[Floats] = [real_numbers(table, f"{name}[{place}]") for place, table in enumerate(tables)]
    for place, table in enumerate(found):
        if not (np.abs(table) <= _LARGEST).all():
            raise ParameterError(
                f"{name}[{place}] has entries that are not finite or far above 1; tables of probabilities are "
                "accepted. Divide them by their sums."
            )
    return found


@checked(network=NETWORK)
def local_inconsistency(
    network: MarkovNetwork, factor_marginals: Sequence[Floats], marginals: Sequence[Floats] | None = None
) -> float:
    r"""Return how far tables are from the local polytope: from being non-negative, normalised and consistent.

    .. math:: \mathcal{M}_+ = \Bigl\{\mu \ge 0 : \sum_{x_j} \mu_j(x_j) = 1,\;
        \sum_{x_c \setminus x_j} \mu_c(x_c) = \mu_j(x_j)\Bigr\}

    Seed: [HSS] Eq. (127).

    Parameters
    ----------
    network : MarkovNetwork
    factor_marginals : list of arrays
        One table per factor.
    marginals : list of arrays, optional
        One per variable; by default what the first factor of a variable says.

    Returns
    -------
    float
        The largest difference; 0 for marginals of a distribution.

    Examples
    --------
    >>> pair = MarkovNetwork.from_factors([(("a", "b"), np.zeros((2, 2))), (("a",), np.zeros(2))])
    >>> local_inconsistency(pair, [np.full((2, 2), 0.25), np.array([0.5, 0.5])])
    0.0
    """
    tables = check_tables(network, factor_marginals, "factor_marginals")
    known: list[Floats | None] = (
        [None] * len(network.sizes) if marginals is None else [*check_marginals(network, marginals)]
    )
    worst = max((abs(float(t.sum()) - 1.0) for t in known if t is not None), default=0.0)
    for table, factor in zip(tables, network.factors, strict=True):
        worst = max(worst, abs(float(table.sum()) - 1.0))
        for v in factor.scope:
            own = summed_to(table, factor.scope, (v,))
            other = known[v]
            if other is None:
                known[v] = own
            else:
                worst = max(worst, float(np.abs(own - other).max()))
    return worst
