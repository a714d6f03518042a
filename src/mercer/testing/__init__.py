"""Laws as functions: what every kernel, Gram, loss, solver and domain must obey, to be called on your own.

``check_kernel(MyKernel(), X)`` returns nothing if all laws hold on the data X, and otherwise raises an
AssertionError that names the law, states its formula and says where it was broken. A law that a kernel
does not claim (derivatives, features, translation invariance) is not tested.
"""

from mercer.exports import export

__all__ = export(__name__)
