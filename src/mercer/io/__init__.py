"""Files in and out: tables, sequences, trees, graphs, Gram matrices behind one function, models in data-only files."""

from mercer.exports import export

__all__ = export(__name__)
