"""What is predicted: from y as users give it to the numbers that solvers see, and back."""

from mercer.exports import export

__all__ = export(__name__)
