"""What similarity is: kernels and their algebra."""

from mercer.exports import export

__all__ = export(__name__)
