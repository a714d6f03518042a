"""The Hilbert space of a kernel as things one can hold, plot and test.

Elements and functionals, definiteness and its violations, expansions in eigenfunctions and in frequencies, reduced
sets, forms of regularisation, and what follows from the mathematics of a kernel.
"""

from mercer.exports import export

__all__ = export(__name__)
