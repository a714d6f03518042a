"""Arithmetic on arrays: eigenvalues, systems and determinants of matrices that are known by their products alone.

A matrix is given by a function V -> G V or by whatever has ``@``: an array, a sparse matrix, a Gram. What else is here
(distances, profiles, factorisations) is used by the layers above. Nothing here knows of learning.
"""

from mercer.numerics.block_krylov import Eigenpairs, leading_eigenpairs
from mercer.numerics.krylov import Krylov, LogDeterminant, krylov_solve, stochastic_logdet
from mercer.numerics.lanczos import Tridiagonal, extremal_eigenpairs, lanczos
from mercer.numerics.power_method import power_method, subspace_iteration

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
