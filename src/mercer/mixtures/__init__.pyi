# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.mixtures.hierarchical_bayes import HierarchicalBayes as HierarchicalBayes
from mercer.mixtures.mixing import Mixture as Mixture
from mercer.mixtures.target_alignment import Alignment as Alignment
from mercer.mixtures.weights import Average as Average
from mercer.mixtures.weights import ElasticNet as ElasticNet
from mercer.mixtures.weights import Given as Given
from mercer.mixtures.weights import LpBall as LpBall
from mercer.mixtures.weights import Simplex as Simplex
from mercer.mixtures.weights import WeightSet as WeightSet
__all__ = [
    "Alignment",
    "Average",
    "ElasticNet",
    "Given",
    "HierarchicalBayes",
    "LpBall",
    "Mixture",
    "Simplex",
    "WeightSet",
]
