"""What similarity is: kernels and their algebra."""

from mercer.exports import export
from mercer.kernels.algebra import operators  # noqa: F401  (makes + * ** work on kernels)

__all__ = export(__name__)
