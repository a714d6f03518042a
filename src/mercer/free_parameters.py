"""The free parameters of a Spec: the real numbers in it that a search may move, as one vector.

theta are their unconstrained coordinates: any vector of reals gives acceptable values. The functions are defined in
`mercer.spec`.
"""

from mercer.spec import bounds, chain, constrained, free_names, free_values, unconstrain, with_free

__all__ = ["bounds", "chain", "constrained", "free_names", "free_values", "unconstrain", "with_free"]
