"""Criteria by which models are chosen."""

from mercer.exports import export

__all__ = export(__name__)
