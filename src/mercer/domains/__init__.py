"""What a sample is: raw objects become packed arrays, once."""

from mercer.domains.decompositions import Decompositions
from mercer.domains.distributions import Distributions
from mercer.domains.frames import WHOLE, Frames, Whole
from mercer.domains.objects import Objects
from mercer.domains.pairs import Pairs
from mercer.domains.samples import Samples
from mercer.domains.sequences import Sequences
from mercer.domains.sets import Sets
from mercer.domains.similarities import Similarities
from mercer.domains.streams import Stream
from mercer.domains.strings import Strings
from mercer.domains.structures.graphs import Graphs
from mercer.domains.structures.nodes import Network, Nodes
from mercer.domains.structures.trees import Trees
from mercer.domains.systems import Systems
from mercer.domains.tensors import Tensors
from mercer.domains.texts import Texts
from mercer.domains.vectors import Vectors

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
    "Tensors",
    "Texts",
    "Trees",
    "Vectors",
    "WHOLE",
    "Whole",
]
