"""What an error costs: formulas that take what was observed and what is predicted."""

from mercer.exports import export

__all__ = export(__name__)
