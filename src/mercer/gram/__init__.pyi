# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.gram.algebra import Centered as Centered
from mercer.gram.algebra import Repeated as Repeated
from mercer.gram.algebra import Shifted as Shifted
from mercer.gram.algebra import Weighted as Weighted
from mercer.gram.auto import Auto as Auto
from mercer.gram.distributed import Distributed as Distributed
from mercer.gram.element import Element as Element
from mercer.gram.exact import Dense as Dense
from mercer.gram.exact import Tiles as Tiles
from mercer.gram.expansion import Expansion as Expansion
from mercer.gram.expansion import FeatureExpansion as FeatureExpansion
from mercer.gram.gauss.fast_gauss import FastGauss as FastGauss
from mercer.gram.gram import Cross as Cross
from mercer.gram.gram import Gram as Gram
from mercer.gram.gram import GramSpec as GramSpec
from mercer.gram.gram import HasEigen as HasEigen
from mercer.gram.gram import HasFactor as HasFactor
from mercer.gram.gram import HasRows as HasRows
from mercer.gram.kronecker import Kronecker as Kronecker
from mercer.gram.low_rank.features import Features as Features
from mercer.gram.low_rank.incomplete_cholesky import IncompleteCholesky as IncompleteCholesky
from mercer.gram.low_rank.nystrom import Nystrom as Nystrom
from mercer.gram.low_rank.random_features import RandomFeatures as RandomFeatures
from mercer.gram.low_rank.sparse_greedy import SparseGreedy as SparseGreedy
from mercer.gram.repair import Repair as Repair
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
