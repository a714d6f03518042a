"""The log-partition function and its conjugate: marginals as the other coordinates of a network.

Symbols: theta scores, mu marginals of the factors, g the log-partition function, g* its Fenchel conjugate, H entropy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from mercer import errors
from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.budget import Bytes, Memory, Plan
from mercer.constraints import Optional
from mercer.errors import warn_caller
from mercer.networks.approximation import check_tables, local_inconsistency
from mercer.networks.junction_tree import junction_tree
from mercer.networks.log_tables import expectation
from mercer.networks.network import NETWORK, STEPS, TOLERANCE, MarkovNetwork

__all__ = ["Conjugate", "conjugate", "polytope_distance"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class Conjugate:
    """The conjugate of the log-partition function at some marginals.

    Attributes
    ----------
    value : float
        g*(mu), the negative entropy; inf if no distribution has these marginals.
    network : MarkovNetwork
        One of largest entropy that has them (as far as `residual` says).
    residual : float
        The largest difference between its marginals and those asked for.
    n_iter : int
    """

    value: float
    network: MarkovNetwork
    residual: float
    n_iter: int


@checked(network=NETWORK, tol=TOLERANCE, max_iter=STEPS, memory=Optional(Bytes()))
def conjugate(
    network: MarkovNetwork,
    factor_marginals: Sequence[Floats],
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
    memory: Memory = None,
) -> Conjugate:
    r"""Find the network with given marginals, and with it the conjugate of the log-partition function.

    .. math:: g^*(\mu) = \sup_\theta \langle \theta, \mu \rangle - g(\theta) = -H(\theta(\mu)), \qquad
        g(\theta) = \sup_{\mu \in \mathcal{M}} \langle \theta, \mu \rangle - g^*(\mu)

    Factor by factor the scores are raised by :math:`\log \mu_c - \log p_c`, the exact maximum in the scores of this
    factor (iterative proportional fitting). Marginals at the boundary, with zeros, are limits and need no
    special treatment.

    Seed: [HSS] Eqs. (121)-(123) and Theorem 26, where the printed :math:`g^* = H` lacks its sign.

    Parameters
    ----------
    network : MarkovNetwork
        Only its scopes matter.
    factor_marginals : list of arrays
        mu, one table per factor.
    tol : float, default 1e-10
        Largest difference between the marginals reached and those asked for.
    max_iter : int, default 1000
        Sweeps over the factors at most.
    memory : optional
        Budget of the junction tree.

    Returns
    -------
    Conjugate

    Examples
    --------
    >>> from mercer.networks import MarkovNetwork, conjugate, junction_tree
    >>> ring = MarkovNetwork.from_factors([((i, (i + 1) % 3), np.eye(2)) for i in range(3)])
    >>> exact = junction_tree(ring)
    >>> found = conjugate(ring, exact.factor_marginals())
    >>> bool(np.isclose(found.value, -exact.entropy()))
    True
    """
    tables = check_tables(network, factor_marginals, "factor_marginals")
    if local_inconsistency(network, tables) > math.sqrt(tol):
        return Conjugate(math.inf, network, math.inf, 0)
    with np.errstate(divide="ignore"):
        wanted = [np.log(table) for table in tables]
    flat = network.replace_scores([np.zeros_like(table) for table in tables])
    tree = junction_tree(flat, memory=memory)
    scores = [f.scores for f in flat.factors]
    residual, iteration = math.inf, 0
    while iteration < max_iter:
        residual = _distance(tree.factor_marginals(), tables)
        if residual <= tol:
            break
        for c in range(len(tables)):
            p = tree.factor_marginals()[c]
            with np.errstate(divide="ignore", invalid="ignore"):
                scores[c] = np.where(tables[c] > 0.0, scores[c] + wanted[c] - np.log(p), -np.inf)
            scores[c] = np.where(np.isnan(scores[c]) | np.isposinf(scores[c]), 0.0, scores[c])
            tree = tree.with_network(flat.replace_scores(scores))
            if tree.log_partition == -np.inf:  # the zeros asked for contradict each other
                return Conjugate(math.inf, network, math.inf, iteration + 1)
        iteration += 1
    value = sum(expectation(p, theta) for p, theta in zip(tables, scores, strict=True)) - tree.log_partition
    if residual > tol:
        warn_caller(
            f"conjugate stopped after max_iter={max_iter} sweeps at marginals that differ by {residual:.3g} from those "
            f"asked for; tol={tol:g}. Perhaps no distribution has them: see polytope_distance. The value is a lower "
            "bound.",
            errors.ConvergenceWarning,
        )
    return Conjugate(float(value), tree.network, float(residual), iteration)


@checked(network=NETWORK, memory=Optional(Bytes()))
def polytope_distance(network: MarkovNetwork, factor_marginals: Sequence[Floats], memory: Memory = None) -> float:
    r"""Return how far tables are from the marginals of any distribution, by a linear program over all joint states.

    .. math:: \min_{p \ge 0,\, \sum p = 1} \; \max_{c,\, x_c} \bigl|\mu_c(x_c) - \textstyle\sum_{x \sim x_c} p(x)\bigr|

    The set of all marginals is the convex hull of the indicators of joint states; tables that are locally consistent
    may lie outside if the graph has cycles.

    Seed: [HSS] Lemma 27, Eq. (124).

    Parameters
    ----------
    network : MarkovNetwork
        Small: there is a column for each joint state.
    factor_marginals : list of arrays
    memory : optional
        Budget of the program.

    Examples
    --------
    >>> triangle = MarkovNetwork.from_factors([((a, b), np.zeros((2, 2))) for a, b in ("ab", "bc", "ac")])
    >>> differ = np.array([[0.0, 0.5], [0.5, 0.0]])  # all three pairs differ: consistent, but impossible
    >>> round(polytope_distance(triangle, [differ] * 3), 12)
    0.166666666667
    """
    tables = check_tables(network, factor_marginals, "factor_marginals")
    entries = network.joint_states * (2 * len(tables) + 1)
    Plan(f"all {network.joint_states} joint states", {"linear program": 32 * entries}).require(memory)
    states = network.all_states()
    blocks = []
    for scope, scores in network.factors:
        rows = np.ravel_multi_index([states[:, v] for v in scope], scores.shape)
        ones = np.ones(len(states))
        blocks.append(sp.csr_matrix((ones, (rows, np.arange(len(states)))), shape=(scores.size, len(states))))
    A = sp.vstack(blocks)
    mu = np.concatenate([table.ravel() for table in tables])
    slack = sp.csr_matrix(-np.ones((len(mu), 1)))
    upper = sp.vstack([sp.hstack([A, slack]), sp.hstack([-A, slack])])
    cost = np.zeros(len(states) + 1)
    cost[-1] = 1.0
    total = np.append(np.ones(len(states)), 0.0).reshape(1, -1)
    found = scipy.optimize.linprog(
        cost, A_ub=upper, b_ub=np.concatenate([mu, -mu]), A_eq=total, b_eq=[1.0], bounds=(0.0, None), method="highs"
    )
    return float(found.fun)


def _distance(found: list[Floats], wanted: list[Floats]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(found, wanted, strict=True))
