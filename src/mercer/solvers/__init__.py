"""How the optimum is reached: a solver takes a problem and returns a Solution."""

from mercer.exports import export

__all__ = export(__name__)
