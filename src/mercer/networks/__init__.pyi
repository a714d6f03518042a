# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.networks.approximation import Approximation as Approximation
from mercer.networks.approximation import local_inconsistency as local_inconsistency
from mercer.networks.conjugate import Conjugate as Conjugate
from mercer.networks.conjugate import conjugate as conjugate
from mercer.networks.conjugate import polytope_distance as polytope_distance
from mercer.networks.junction_tree import JunctionTree as JunctionTree
from mercer.networks.junction_tree import junction_tree as junction_tree
from mercer.networks.label_chains import Chains as Chains
from mercer.networks.linear_relaxation import Relaxation as Relaxation
from mercer.networks.linear_relaxation import linear_relaxation as linear_relaxation
from mercer.networks.log_determinant import log_determinant_bound as log_determinant_bound
from mercer.networks.loopy_propagation import BetheEnergy as BetheEnergy
from mercer.networks.loopy_propagation import bethe_free_energy as bethe_free_energy
from mercer.networks.loopy_propagation import loopy_propagation as loopy_propagation
from mercer.networks.mean_field_bound import mean_field as mean_field
from mercer.networks.network import MarkovNetwork as MarkovNetwork
__all__ = [
    "Approximation",
    "BetheEnergy",
    "Chains",
    "Conjugate",
    "JunctionTree",
    "MarkovNetwork",
    "Relaxation",
    "bethe_free_energy",
    "conjugate",
    "junction_tree",
    "linear_relaxation",
    "local_inconsistency",
    "log_determinant_bound",
    "loopy_propagation",
    "mean_field",
    "polytope_distance",
]
