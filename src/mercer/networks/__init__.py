"""Markov networks: exact inference by junction trees and chains, and its approximations with their bounds.

A network has variables with finitely many states, and factors: log-potentials of some of the variables. It is useful
without any learning; machines with structured outputs use the same functions.
"""

from mercer.exports import export

__all__ = export(__name__)
