"""Laws as functions: what every kernel, Gram, loss, solver and domain must obey, to be called on your own.

``check_kernel(MyKernel(), X)`` returns nothing if all laws hold on the data X, and otherwise raises an
AssertionError that names the law, says it in a formula and tells where it was broken. A law that a kernel
does not claim (derivatives, features, translation invariance) is not asked of it.
"""

from mercer.testing.domains import check_domain
from mercer.testing.expansions import ELEMENT_LAWS, check_expansion
from mercer.testing.grams import check_gram
from mercer.testing.kernel_laws import KERNEL_LAWS, check_kernel, violating_vector
from mercer.testing.losses import check_loss
from mercer.testing.solvers import check_solver

__all__ = [
    "ELEMENT_LAWS",
    "KERNEL_LAWS",
    "check_domain",
    "check_expansion",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_solver",
    "violating_vector",
]
