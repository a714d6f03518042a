"""A page about a fitted model: self-contained HTML to keep, to print and to show."""

from mercer.exports import export

__all__ = export(__name__)
