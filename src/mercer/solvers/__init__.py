"""How the optimum is reached: a solver takes a problem and returns a Solution."""

from __future__ import annotations

from mercer.solvers.box.adatron_descent import Adatron
from mercer.solvers.box.interior_point import InteriorPoint
from mercer.solvers.box.multiclass_descent import SequentialDual
from mercer.solvers.box.smo import SMO
from mercer.solvers.linear.cholesky_solver import Cholesky
from mercer.solvers.linear.conjugate_gradient import ConjugateGradient
from mercer.solvers.linear.primal_gradient import PrimalGradient
from mercer.solvers.linear.spectral_solver import Spectral
from mercer.solvers.linear.woodbury import Woodbury
from mercer.solvers.rows.block_descent import BlockDescent
from mercer.solvers.rows.bundle import BundleMethod, CuttingPlane
from mercer.solvers.rows.column_descent import ColumnDescent
from mercer.solvers.rows.dual_descent import DualDescent
from mercer.solvers.smooth.newton import Newton
from mercer.solvers.smooth.primal_newton import PrimalNewton
from mercer.solvers.smooth.proximal_point import ProximalPoint
from mercer.solvers.solver import Solver
from mercer.solvers.sparse.complementarity import ComplementaryPivoting
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.fixed_point_evidence import FixedPointEvidence
from mercer.solvers.sparse.incremental_evidence import IncrementalEvidence
from mercer.solvers.sparse.lars import LeastAngle
from mercer.solvers.sparse.proximal import ProximalGradient

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
