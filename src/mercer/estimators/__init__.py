"""What scikit-learn users import."""

from mercer.exports import export

__all__ = export(__name__)
