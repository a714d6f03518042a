# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.numerics.block_krylov import Eigenpairs as Eigenpairs
from mercer.numerics.block_krylov import leading_eigenpairs as leading_eigenpairs
from mercer.numerics.krylov import Krylov as Krylov
from mercer.numerics.krylov import LogDeterminant as LogDeterminant
from mercer.numerics.krylov import krylov_solve as krylov_solve
from mercer.numerics.krylov import stochastic_logdet as stochastic_logdet
from mercer.numerics.lanczos import Tridiagonal as Tridiagonal
from mercer.numerics.lanczos import extremal_eigenpairs as extremal_eigenpairs
from mercer.numerics.lanczos import lanczos as lanczos
from mercer.numerics.power_method import power_method as power_method
from mercer.numerics.power_method import subspace_iteration as subspace_iteration
__all__ = [
    "Eigenpairs",
    "Krylov",
    "LogDeterminant",
    "Tridiagonal",
    "extremal_eigenpairs",
    "krylov_solve",
    "lanczos",
    "leading_eigenpairs",
    "power_method",
    "stochastic_logdet",
    "subspace_iteration",
]
