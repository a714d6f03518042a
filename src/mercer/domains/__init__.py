"""What a sample is: raw objects become packed arrays, once."""

from mercer.exports import export

__all__ = export(__name__)
