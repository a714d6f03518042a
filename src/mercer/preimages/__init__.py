"""Points whose images in feature space are near to given elements of it: four methods, and `preimage`."""

from mercer.exports import export

__all__ = export(__name__)
