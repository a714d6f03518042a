# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.solvers.box.adatron_descent import Adatron as Adatron
from mercer.solvers.box.interior_point import InteriorPoint as InteriorPoint
from mercer.solvers.box.multiclass_descent import SequentialDual as SequentialDual
from mercer.solvers.box.smo import SMO as SMO
from mercer.solvers.linear.cholesky_solver import Cholesky as Cholesky
from mercer.solvers.linear.conjugate_gradient import ConjugateGradient as ConjugateGradient
from mercer.solvers.linear.primal_gradient import PrimalGradient as PrimalGradient
from mercer.solvers.linear.spectral_solver import Spectral as Spectral
from mercer.solvers.linear.woodbury import Woodbury as Woodbury
from mercer.solvers.mixtures.cone_program import ConeProgram as ConeProgram
from mercer.solvers.mixtures.reduced_gradient import ReducedGradient as ReducedGradient
from mercer.solvers.mixtures.semi_infinite import SemiInfinite as SemiInfinite
from mercer.solvers.mixtures.smoothed_smo import SmoothedSMO as SmoothedSMO
from mercer.solvers.mixtures.turns import MixtureTurns as MixtureTurns
from mercer.solvers.mixtures.weight_newton import MixtureNewton as MixtureNewton
from mercer.solvers.rows.block_descent import BlockDescent as BlockDescent
from mercer.solvers.rows.bundle import BundleMethod as BundleMethod
from mercer.solvers.rows.bundle import CuttingPlane as CuttingPlane
from mercer.solvers.rows.column_descent import ColumnDescent as ColumnDescent
from mercer.solvers.rows.dual_descent import DualDescent as DualDescent
from mercer.solvers.smooth.newton import Newton as Newton
from mercer.solvers.smooth.primal_newton import PrimalNewton as PrimalNewton
from mercer.solvers.smooth.proximal_point import ProximalPoint as ProximalPoint
from mercer.solvers.solver import Solver as Solver
from mercer.solvers.sparse.complementarity import ComplementaryPivoting as ComplementaryPivoting
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent as CoordinateDescent
from mercer.solvers.sparse.fixed_point_evidence import FixedPointEvidence as FixedPointEvidence
from mercer.solvers.sparse.incremental_evidence import IncrementalEvidence as IncrementalEvidence
from mercer.solvers.sparse.lars import LeastAngle as LeastAngle
from mercer.solvers.sparse.proximal import ProximalGradient as ProximalGradient
__all__ = [
    "Adatron",
    "BlockDescent",
    "BundleMethod",
    "Cholesky",
    "ColumnDescent",
    "ComplementaryPivoting",
    "ConeProgram",
    "ConjugateGradient",
    "CoordinateDescent",
    "CuttingPlane",
    "DualDescent",
    "FixedPointEvidence",
    "IncrementalEvidence",
    "InteriorPoint",
    "LeastAngle",
    "MixtureNewton",
    "MixtureTurns",
    "Newton",
    "PrimalGradient",
    "PrimalNewton",
    "ProximalGradient",
    "ProximalPoint",
    "ReducedGradient",
    "SMO",
    "SemiInfinite",
    "SequentialDual",
    "SmoothedSMO",
    "Solver",
    "Spectral",
    "Woodbury",
]
