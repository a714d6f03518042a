# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.domains.decompositions import Decompositions as Decompositions
from mercer.domains.distributions import Distributions as Distributions
from mercer.domains.frames import Frames as Frames
from mercer.domains.frames import WHOLE as WHOLE
from mercer.domains.frames import Whole as Whole
from mercer.domains.mixed_tables import Tables as Tables
from mercer.domains.objects import Objects as Objects
from mercer.domains.pairs import Pairs as Pairs
from mercer.domains.samples import Samples as Samples
from mercer.domains.sequences import Sequences as Sequences
from mercer.domains.sets import Sets as Sets
from mercer.domains.similarities import Similarities as Similarities
from mercer.domains.streams import Stream as Stream
from mercer.domains.strings import Strings as Strings
from mercer.domains.structures.graphs import Graphs as Graphs
from mercer.domains.structures.nodes import Network as Network
from mercer.domains.structures.nodes import Nodes as Nodes
from mercer.domains.structures.trees import Trees as Trees
from mercer.domains.systems import Systems as Systems
from mercer.domains.tensors import Tensors as Tensors
from mercer.domains.texts import Texts as Texts
from mercer.domains.vectors import Vectors as Vectors
__all__ = [
    "Decompositions",
    "Distributions",
    "Frames",
    "Graphs",
    "Network",
    "Nodes",
    "Objects",
    "Pairs",
    "Samples",
    "Sequences",
    "Sets",
    "Similarities",
    "Stream",
    "Strings",
    "Systems",
    "Tables",
    "Tensors",
    "Texts",
    "Trees",
    "Vectors",
    "WHOLE",
    "Whole",
]
