"""How the Gram matrix is held: dense, in tiles, through features, on landmarks; and Grams over Grams."""

from mercer.exports import export

__all__ = export(__name__)
