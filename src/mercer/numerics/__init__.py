"""Arithmetic on arrays: eigenvalues, systems and determinants of matrices that are known by their products alone.

A matrix is given by a function V -> G V or by whatever has ``@``: an array, a sparse matrix, a Gram. What else is here
(distances, profiles, factorisations) is used by the layers above. Nothing here knows of learning.
"""

from mercer.exports import export

__all__ = export(__name__)
