"""Weights and machine in turns: the weights that are best for the parts of the function, in closed form."""

from __future__ import annotations

import numpy as np

from mercer.solvers.mixtures.weight_search import MixtureSolver, Search

__all__ = ["MixtureTurns"]
__public__ = __all__


class MixtureTurns(MixtureSolver):
    r"""Machine and weights in turns, the weights in closed form: for any set of weights and any machine.

    .. math:: d \leftarrow \arg\min_{d \in D} \sum_t \|f_t\|^2 / d_t, \qquad \|f_t\| = d_t \sqrt{\beta^\top K_t \beta}

    Seed: [KIKS] Section 6.2; the closed form for p-norms is of Kloft, Brefeld, Sonnenburg and Zien (2011).

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    max_iter : int, default 500
        The most changes of the weights.

    Notes
    -----
    Every change makes the objective smaller. The machine starts from its last solution. Where kernels drop out, as
    with `Simplex`, it is slower than `MixtureNewton`: weights go to zero as a power.

    Examples
    --------
    >>> from mercer.solvers import MixtureTurns
    >>> MixtureTurns(tol=1e-4).tol
    0.0001
    """

    def __init__(self, tol: float = 1e-3, max_iter: int = 500) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _run(self, search: Search) -> None:
        if search.weights.single:
            search.finish()
        while not search.done():
            point = search.point
            search.move(search.evaluate(search.weights.shared(point.d * np.sqrt(point.s))))
