"""Tests and measures: two samples, independence, conditional and joint independence, goodness of fit."""

from mercer.exports import export

__all__ = export(__name__)
