"""How the optimum is reached: a solver takes a problem and returns a Solution."""

from __future__ import annotations

from mercer.solvers.cholesky import Cholesky
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.solver import Solver
from mercer.solvers.woodbury import Woodbury

__all__ = ["Solver", "Cholesky", "Woodbury", "ConjugateGradient"]
