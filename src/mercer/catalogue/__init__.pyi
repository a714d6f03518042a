# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.catalogue import all_estimators as all_estimators
from mercer.catalogue import all_kernels as all_kernels
__all__ = [
    "all_estimators",
    "all_kernels",
]
