"""Pictures as objects: each display holds the numbers it shows, and draws them on request."""

from mercer.exports import export

__all__ = export(__name__)
