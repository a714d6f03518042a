"""The one engine that chooses: kernels and parameters by any criterion, with matrices that are shared."""

from mercer.exports import export

__all__ = export(__name__)
