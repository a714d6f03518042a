"""The log-determinant relaxation: an upper bound on the log-partition function by a semidefinite program.

Symbols: tau local marginals of variables and factors, M the matrix of their first and second moments (bordered by
ones), n the number of variables.
"""

from __future__ import annotations

import importlib
import importlib.util
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.networks.approximation import Approximation
from mercer.networks.network import NETWORK, MarkovNetwork
from mercer.numerics.cone_solver import solve_cones

__all__ = ["log_determinant_bound"]
__public__ = __all__


@checked(network=NETWORK)
def log_determinant_bound(network: MarkovNetwork) -> Approximation:
    r"""Bound the log-partition function from above, by moments that a Gaussian could have.

    .. math:: g(\theta) \le \max_{\tau \in \mathcal{M}_+,\, M(\tau) \succeq 0} \; \langle \theta, \tau \rangle
        + \tfrac12 \log \det\Bigl(M(\tau) + \tfrac1{12} \mathrm{diag}(0, 1, \dots, 1)\Bigr) + \tfrac n2 \log(2 \pi e)

    States are taken as the numbers 0, 1, ... With uniform noise of width one, the entropy of the joint state is the
    differential entropy of a vector with covariance cov + I/12, which is at most that of a Gaussian. All marginals of
    distributions satisfy the constraints, so that the maximum is at least g.

    Seed: [HSS] Section 4.2.5 (Wainwright and Jordan, log-determinant relaxation).

    Parameters
    ----------
    network : MarkovNetwork
        Factors of any number of variables.

    Returns
    -------
    Approximation
        ``bound`` is "upper"; the tables are the maximiser, which is locally consistent.

    Raises
    ------
    CapabilityError
        Without the package clarabel, which solves the program.

    Notes
    -----
    For up to some dozens of variables: the program has a semidefinite block of order 2 n + 2. The bound that is
    returned is the larger one of primal and dual objective.

    Examples
    --------
    >>> ring = MarkovNetwork.from_factors([((i, (i + 1) % 4), np.eye(2)) for i in range(4)])
    >>> from mercer.networks import junction_tree
    >>> bool(junction_tree(ring).log_partition <= log_determinant_bound(ring).log_partition)
    True
    """
    if importlib.util.find_spec("clarabel") is None:
        raise CapabilityError(
            "log_determinant_bound solves a semidefinite program, for which the package clarabel is needed; it is not "
            "installed. Install mercer[qp], or use mean_field, whose bound is from below."
        )
    program = _Program(network)
    found = program.solve()
    x = np.asarray(found.x)
    tables = [np.maximum(x[at].reshape(shape), 0.0) for at, shape in program.variables]
    factors = [
        np.maximum(x[at].reshape(f.scores.shape), 0.0) for at, f in zip(program.factors, network.factors, strict=True)
    ]
    constant = 0.5 * len(network.sizes) * np.log(2.0 * np.pi * np.e)
    value = max(-found.obj_val, -found.obj_val_dual) + constant
    gap = abs(found.obj_val - found.obj_val_dual)
    return Approximation(
        network,
        tables,
        factors,
        float(value),
        "upper",
        int(found.iterations),
        float(gap),
        "Solved" in str(found.status),
    )


class _Program:
    """min q'x over A x + s = b, s in a product of cones, in the form of clarabel.

    x has the tables of variables and factors, second moments of pairs that share no factor, the lower triangle Z, and
    t with t_i <= log Z_ii, so that [X Z; Z' diag(Z)] >= 0 gives sum t <= log det X.
    """

    def __init__(self, network: MarkovNetwork) -> None:
        self.network = network
        self.size = 0
        self.variables = [(self.take(size), (size,)) for size in network.sizes]
        self.factors: list[slice] = []
        for scope, scores in network.factors:
            self.factors.append(self.variables[scope[0]][0] if len(scope) == 1 else self.take(scores.size))
        self.moments = self.second_moments()
        order = len(network.sizes) + 1
        self.lower = {(i, j): self.take(1).start for i in range(order) for j in range(i + 1)}
        self.logs = [self.take(1).start for _ in range(order)]
        self.rows: list[tuple[dict[int, float], float]] = []
        self.cones: list[Any] = []

    def take(self, count: int) -> slice:
        self.size += count
        return slice(self.size - count, self.size)

    def second_moments(self) -> dict[tuple[int, int], dict[int, float]]:
        """Return E[x_i x_j] of each pair as a linear function of x: from a factor, or a new variable."""
        sizes = self.network.sizes
        found: dict[tuple[int, int], dict[int, float]] = {}
        for v, (at, _) in enumerate(self.variables):
            found[v, v] = {at.start + a: float(a * a) for a in range(sizes[v])}
        for (scope, scores), at in zip(self.network.factors, self.factors, strict=True):
            grids = np.indices(scores.shape)
            for (k, u), (m, v) in combinations(enumerate(scope), 2):
                if (u, v) not in found:
                    values = (grids[k] * grids[m]).ravel()
                    found[u, v] = {at.start + e: float(c) for e, c in enumerate(values) if c}
        for u, v in combinations(range(len(sizes)), 2):
            if (u, v) not in found:
                found[u, v] = {self.take(1).start: 1.0}
        return found

    def solve(self) -> Any:
        clarabel = importlib.import_module("clarabel")
        q = self.objective()
        equal = self.consistency()
        self.close(equal, clarabel.ZeroConeT)
        tables = [at for at, _ in self.variables] + [
            at for at, f in zip(self.factors, self.network.factors, strict=True) if len(f.scope) > 1
        ]
        self.close([({e: -1.0}, 0.0) for at in tables for e in range(at.start, at.stop)], clarabel.NonnegativeConeT)
        for i, t in enumerate(self.logs):  # exp(t) <= Z_ii
            self.rows += [({t: -1.0}, 0.0), ({}, 1.0), ({self.lower[i, i]: -1.0}, 0.0)]
            self.cones.append(clarabel.ExponentialConeT())
        self.triangle(self.bordered(1.0 / 12.0), clarabel)
        self.triangle(self.plain(), clarabel)
        A = sp.lil_matrix((len(self.rows), self.size))
        for row, (entries, _) in enumerate(self.rows):
            for column, value in entries.items():
                A[row, column] = value
        b = np.array([right for _, right in self.rows])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        P = sp.csc_matrix((self.size, self.size))
        return solve_cones(clarabel, P, q, sp.csc_matrix(A), b, self.cones, settings)

    def close(self, rows: list[tuple[dict[int, float], float]], cone: Any) -> None:
        self.rows += rows
        self.cones.append(cone(len(rows)))

    def objective(self) -> Floats:
        q = np.zeros(self.size)
        for (_, scores), at in zip(self.network.factors, self.factors, strict=True):
            q[at] -= np.where(np.isfinite(scores), scores, 0.0).ravel()
        q[self.logs] = -0.5
        return q

    def consistency(self) -> list[tuple[dict[int, float], float]]:
        """Return the equations of the local polytope, and those of states that are impossible."""
        rows: list[tuple[dict[int, float], float]] = [
            (dict.fromkeys(range(at.start, at.stop), 1.0), 1.0) for at, _ in self.variables
        ]
        for (scope, scores), at in zip(self.network.factors, self.factors, strict=True):
            if len(scope) > 1:
                places = np.arange(at.start, at.stop).reshape(scores.shape)
                for axis, v in enumerate(scope):
                    for state in range(self.network.sizes[v]):
                        row = {int(e): 1.0 for e in np.take(places, state, axis=axis).ravel()}
                        row[self.variables[v][0].start + state] = -1.0
                        rows.append((row, 0.0))
            rows += [({at.start + int(e): 1.0}, 0.0) for e in np.flatnonzero(~np.isfinite(scores.ravel()))]
        return rows

    def moment(self, i: int, j: int, noise: float = 0.0) -> tuple[dict[int, float], float]:
        """Return an entry of M, as a linear function of x and a constant; row and column 0 are the border."""
        if i == j == 0:
            return {}, 1.0
        if 0 in (i, j):
            v = max(i, j) - 1
            at = self.variables[v][0]
            return {at.start + a: float(a) for a in range(1, self.network.sizes[v])}, 0.0
        u, v = sorted((i - 1, j - 1))
        return self.moments[u, v], noise if i == j else 0.0

    def plain(self) -> list[list[tuple[dict[int, float], float]]]:
        order = len(self.network.sizes) + 1
        return [[self.moment(i, j) for i in range(j + 1)] for j in range(order)]

    def bordered(self, noise: float) -> list[list[tuple[dict[int, float], float]]]:
        """Return the columns of the upper triangle of [X Z; Z' diag(Z)]."""
        order = len(self.network.sizes) + 1
        columns = [[self.moment(i, j, noise) for i in range(j + 1)] for j in range(order)]
        for j in range(order):
            upper = [({self.lower[i, j]: 1.0}, 0.0) if i >= j else ({}, 0.0) for i in range(order)]
            below = [({self.lower[j, j]: 1.0}, 0.0) if i == j else ({}, 0.0) for i in range(j + 1)]
            columns.append(upper + below)
        return columns

    def triangle(self, columns: list[list[tuple[dict[int, float], float]]], clarabel: Any) -> None:
        """Demand that a symmetric matrix, given by the columns of its upper triangle, has no negative eigenvalue."""
        for j, column in enumerate(columns):
            for i, (entries, constant) in enumerate(column):
                scale = 1.0 if i == j else np.sqrt(2.0)
                self.rows.append(({e: -scale * c for e, c in entries.items()}, scale * constant))
        self.cones.append(clarabel.PSDTriangleConeT(len(columns)))
