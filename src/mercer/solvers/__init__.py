"""How the optimum is reached: a solver takes a problem and returns a Solution."""

from __future__ import annotations

from mercer.solvers.adatron import Adatron
from mercer.solvers.block_descent import BlockDescent
from mercer.solvers.bundle import BundleMethod, CuttingPlane
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.column_descent import ColumnDescent
from mercer.solvers.complementarity import ComplementaryPivoting
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.coordinate_descent import CoordinateDescent
from mercer.solvers.dual_descent import DualDescent
from mercer.solvers.fixed_point_evidence import FixedPointEvidence
from mercer.solvers.incremental_evidence import IncrementalEvidence
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.lars import LeastAngle
from mercer.solvers.multiclass_descent import SequentialDual
from mercer.solvers.newton import Newton
from mercer.solvers.primal_gradient import PrimalGradient
from mercer.solvers.primal_newton import PrimalNewton
from mercer.solvers.proximal import ProximalGradient
from mercer.solvers.proximal_point import ProximalPoint
from mercer.solvers.smo import SMO
from mercer.solvers.solver import Solver
from mercer.solvers.spectral import Spectral
from mercer.solvers.woodbury import Woodbury

__all__ = [
    "Solver",
    "Cholesky",
    "Woodbury",
    "ConjugateGradient",
    "PrimalGradient",
    "PrimalNewton",
    "Spectral",
    "SMO",
    "InteriorPoint",
    "Adatron",
    "SequentialDual",
    "DualDescent",
    "BlockDescent",
    "ColumnDescent",
    "BundleMethod",
    "CuttingPlane",
    "Newton",
    "ProximalPoint",
    "CoordinateDescent",
    "LeastAngle",
    "ComplementaryPivoting",
    "ProximalGradient",
    "IncrementalEvidence",
    "FixedPointEvidence",
]
