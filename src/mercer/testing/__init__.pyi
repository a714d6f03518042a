# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.testing.domains import check_domain as check_domain
from mercer.testing.expansions import ELEMENT_LAWS as ELEMENT_LAWS
from mercer.testing.expansions import check_expansion as check_expansion
from mercer.testing.grams import check_gram as check_gram
from mercer.testing.kernel_laws import KERNEL_LAWS as KERNEL_LAWS
from mercer.testing.kernel_laws import check_kernel as check_kernel
from mercer.testing.kernel_laws import violating_vector as violating_vector
from mercer.testing.losses import check_loss as check_loss
from mercer.testing.output_spaces import check_output_space as check_output_space
from mercer.testing.solvers import check_solver as check_solver
__all__ = [
    "ELEMENT_LAWS",
    "KERNEL_LAWS",
    "check_domain",
    "check_expansion",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_output_space",
    "check_solver",
    "violating_vector",
]
