"""How the Gram matrix is held: dense, in tiles, through features, on landmarks; and Grams over Grams."""

from mercer.gram.algebra import Centered, Repeated, Shifted, Weighted
from mercer.gram.auto import Auto
from mercer.gram.dense import Dense
from mercer.gram.distributed import Distributed
from mercer.gram.element import Element
from mercer.gram.expansion import Expansion, FeatureExpansion
from mercer.gram.gauss.fast_gauss import FastGauss
from mercer.gram.gram import Cross, Gram, GramSpec, HasEigen, HasFactor, HasRows
from mercer.gram.kronecker import Kronecker
from mercer.gram.low_rank.features import Features
from mercer.gram.low_rank.incomplete_cholesky import IncompleteCholesky
from mercer.gram.low_rank.nystrom import Nystrom
from mercer.gram.low_rank.random_features import RandomFeatures
from mercer.gram.low_rank.sparse_greedy import SparseGreedy
from mercer.gram.repair import Repair
from mercer.gram.tiles import Tiles

__all__ = [
    "Auto",
    "Centered",
    "Cross",
    "Dense",
    "Distributed",
    "Element",
    "Expansion",
    "FastGauss",
    "FeatureExpansion",
    "Features",
    "Gram",
    "GramSpec",
    "HasEigen",
    "HasFactor",
    "HasRows",
    "IncompleteCholesky",
    "Kronecker",
    "Nystrom",
    "RandomFeatures",
    "Repair",
    "Repeated",
    "Shifted",
    "SparseGreedy",
    "Tiles",
    "Weighted",
]
