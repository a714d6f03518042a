# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.networks.approximation import Approximation as Approximation
from mercer.networks.approximation import local_inconsistency as local_inconsistency
from mercer.networks.conjugate import Conjugate as Conjugate
from mercer.networks.conjugate import conjugate as conjugate
from mercer.networks.conjugate import polytope_distance as polytope_distance
from mercer.networks.independent_blocks import mean_field as mean_field
from mercer.networks.junction_tree import JunctionTree as JunctionTree
from mercer.networks.junction_tree import junction_tree as junction_tree
from mercer.networks.log_determinant import log_determinant_bound as log_determinant_bound
from mercer.networks.loopy import BetheEnergy as BetheEnergy
from mercer.networks.loopy import bethe_free_energy as bethe_free_energy
from mercer.networks.loopy import loopy_propagation as loopy_propagation
from mercer.networks.network import MarkovNetwork as MarkovNetwork
from mercer.networks.scored_chains import Chains as Chains
__all__ = [
    "Approximation",
    "BetheEnergy",
    "Chains",
    "Conjugate",
    "JunctionTree",
    "MarkovNetwork",
    "bethe_free_energy",
    "conjugate",
    "junction_tree",
    "local_inconsistency",
    "log_determinant_bound",
    "loopy_propagation",
    "mean_field",
    "polytope_distance",
]
