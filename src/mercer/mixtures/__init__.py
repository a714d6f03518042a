"""What the weights of several kernels may be, and what decides them."""

from mercer.exports import export

__all__ = export(__name__)
