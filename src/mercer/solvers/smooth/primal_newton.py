r"""Risks on a Gram of low rank by Newton's method in the coordinates of its factor: the data are read in passes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.errors import CapabilityError
from mercer.gram.gram import is_low_rank
from mercer.gram.low_rank.factor import FactorGram
from mercer.problems import ConvexRisk, Solution, Status
from mercer.solvers.smooth.newton import require_penalty
from mercer.solvers.smooth.primal_descent import Descent
from mercer.solvers.smooth.primal_terms import (
    at_once,
    handles,
    is_bent,
    part_of,
    side_by_side,
)
from mercer.solvers.solver import Monitor, Solver

__all__ = ["PrimalNewton"]
__public__ = __all__

_LOOSE = 1e-2  # how far the minimum on a few samples is sought
_LOOSER = 5e-2  # the same for bent losses, whose steps on a few samples cost as much as those on all
_LONG, _SHORT = 2e9, 1e8  # operations of normal equations from which passes are faster than factors; than the dual


class PrimalNewton(Solver):
    r"""Newton's method in the coordinates of a factor, by conjugate gradients that a few samples precondition.

    .. math:: \min_{v, m} \; \sum_i w_i \, \psi(y_i, f_i) + \tfrac{\lambda}{2} \|v\|^2, \qquad f = F v + B m, \qquad
              (P^\top W P + \lambda I)\, d = -g

    F is never held: a product with the Hessian is one pass over the samples, as is a gradient, and the objective comes
    with it. Steps begin at the minimum of the risk of a few samples. A loss that is only once differentiable, as the
    squared hinge, is straight for most samples: a step leads to the minimum of the risk in which all but those that
    are curved, and as many next to them, stay so, which takes Newton steps over these alone; all are read once for the
    exact minimum along it. A loss with kinks, as the hinge, is replaced by its envelopes, as in `ProximalPoint`.

    Seed: [HSS] Section 3.2.3 and Eq. (104) in the primal form of [KIKS] Eq. (4); [KIKS] Section 3.3 for the conjugate
    gradients.

    Parameters
    ----------
    tol : float, default 1e-6
        Root of what the objective is above its minimum over what it falls from the best function of the border alone
        to the minimum: 1e-3 leaves a millionth of the fall. The former is what a Newton step promises, g^T M^-1 g / 2;
        of a loss that is straight in parts more, where the last steps gained more. It is about the relative error of
        the function in the norm of the Hessian. For losses with kinks the root of the duality gap over the objective.
    samples : int, default 8
        Samples of the preconditioner for each column of F. They are drawn by their second derivatives.
    max_iter : int, default 100
        Newton steps; of losses with kinks, smooth risks.

    Notes
    -----
    Solves ConvexRisk for smooth losses without parameters of their own and for all with a box dual, with or without a
    border. Outputs that a loss joins, as the softmax does, are solved together, others one after another. Needs a
    Gram of low rank that is read in passes, such as `Nystrom`, `RandomFeatures`, `IncompleteCholesky`. ``gap`` is a
    bound of what the objective is above its minimum, :math:`\|g\|^2 / (2 \lambda)` for smooth losses. Cost n r kernel
    values for each pass, some ten to thirty; memory O(r^2) and a few numbers for each sample, none of them n r. Samples
    are drawn without chance: the result is repeatable. ``state`` of the solution is a `Minimum`.

    References
    ----------
    S. S. Keerthi, D. DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs (2005);
    U. Marteau-Ferey, F. Bach, A. Rudi, Globally convergent Newton methods for ill-conditioned generalized
    self-concordant losses (2019), for logistic loss on landmarks.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Nystrom
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Logistic
    >>> x = np.linspace(0.0, 6.0, 4000)
    >>> K = Nystrom(20).build(Gaussian(1.0), Vectors.pack(x[:, None]))
    >>> found = PrimalNewton().solve(ConvexRisk(K, Logistic(), np.sign(np.sin(2.0 * x)), np.ones(4000), 1.0))
    >>> found.status.name, found.residual < 1e-6
    ('CONVERGED', True)
    """

    solves = ConvexRisk
    needs = (FactorGram,)
    remedy = "Use a Gram of low rank, as gram=Nystrom(500), or leave out solver=."
    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "samples": Integer(1), "max_iter": Integer(1)}

    def __init__(self, tol: float = 1e-6, samples: int = 8, max_iter: int = 100) -> None:
        self.tol = tol
        self.samples = samples
        self.max_iter = max_iter

    def check_capabilities(self, problem: Any) -> None:
        super().check_capabilities(problem)
        loss = problem.loss
        if not handles(loss):
            raise CapabilityError(
                f"PrimalNewton was given a risk with loss={loss!r}; smooth losses without parameters of their own are "
                "accepted, and those with a box dual, as Hinge(). Leave out solver=, which chooses one."
            )

    def _solve(self, problem: ConvexRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        require_penalty(self, problem.penalty)
        if np.ndim(problem.y) == 1 or np.shape(problem.y)[1] == 1 or hasattr(problem.loss, "hessian_product"):
            return self._solved(problem, start, monitor)
        parts = []
        for place, column in enumerate(np.asarray(problem.y, dtype=np.float64).T):
            own = None if start is None else np.ascontiguousarray(np.asarray(start)[:, place])
            parts.append(self._solved(dataclasses.replace(problem, y=np.ascontiguousarray(column)), own, monitor))
            if parts[-1].status in (Status.TIME, Status.STOPPED):
                monitor = at_once(parts[-1].status)
        return side_by_side(parts)

    def _solved(self, problem: ConvexRisk, start: Floats | None, monitor: Monitor | None) -> Solution:
        run = Descent(problem, self, monitor, start)
        runs, few = [run], self.samples * max(problem.gram.rank, 1)
        while start is None and len(runs[-1].terms) >= 4 * few:  # an eighth of the samples, an eighth of these, ...
            problem = part_of(problem, max(few, len(problem.y) // 8))
            runs.append(Descent(problem, self, monitor))
        status = Status.CONVERGED
        for place in range(len(runs) - 1, -1, -1):
            if any(nearer.resuming for nearer in runs[:place]):
                continue  # a former run has come further
            if not runs[place].resuming:
                if place + 1 < len(runs):
                    runs[place].begin_near(runs[place + 1])
                else:
                    runs[place].begin(None if start is None else np.reshape(start, (len(problem.y), -1)).astype(float))
            loose = max(_LOOSER, 0.5 * self.tol) if run.terms.is_bent else _LOOSE
            status = runs[place].minimised(loose if place else self.tol)
        return run.solution(status)

    @staticmethod
    def suits(gram: Any, loss: Any) -> bool:
        """Return whether a risk is best minimised by passes: the factor is large, and the loss is without kinks."""
        if not is_low_rank(gram) or not handles(loss):
            return False
        n, r = len(gram.samples), gram.rank
        least = 0.0 if gram.samples.is_streamed else _LONG if loss.smooth else _SHORT
        return n >= 2 * r and float(n) * r * r >= least and (loss.smooth or is_bent(loss))
