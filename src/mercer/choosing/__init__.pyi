# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.choosing.kernel_search import KernelSearchCV as KernelSearchCV
__all__ = [
    "KernelSearchCV",
]
