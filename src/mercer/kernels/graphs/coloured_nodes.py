"""Nodes with refined labels and attributes: how many of their labels agree, times how alike their attributes are.

Symbols: h iterations; c(v, v') the number of levels 0, ..., h on which two nodes have the same colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.domains import Samples
from mercer.numerics.ragged import Ragged

__all__ = ["ColouredNodes", "NodeSide"]


@dataclass(frozen=True, eq=False)
class ColouredNodes:
    """The colours of the nodes of some graphs on every level, and what those of the collection are made of.

    Attributes
    ----------
    nodes : Ragged
        A row of h + 1 colours for every node, the nodes of a graph together.
    levels : tuple of Ragged
        As in `Colours`, of the whole collection.
    """

    nodes: Ragged
    levels: tuple[Ragged, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def nbytes(self) -> int:
        """Bytes of the colours."""
        return self.nodes.codes.nbytes

    def take(self, index: slice | Indices) -> ColouredNodes:
        """Return those of some of the graphs."""
        return ColouredNodes(self.nodes.take(index), self.levels)


@dataclass(frozen=True, eq=False)
class NodeSide:
    """Graphs of one side of a comparison: colours that both sides share, and attributes.

    Attributes
    ----------
    colours : (N, h + 1) int64 array
        -2 is a colour that the first side does not have.
    nodes : Samples or None
        The attributes, packed and prepared; None if there is no node.
    offsets : (n + 1,) array
        Where the nodes of each graph begin.
    """

    colours: NDArray[np.int64]
    nodes: Samples | None
    offsets: Indices

    def piece(self, graphs: slice) -> NodeSide:
        """Return those of consecutive graphs."""
        low, high = int(self.offsets[graphs.start]), int(self.offsets[graphs.stop])
        offsets = self.offsets[graphs.start : graphs.stop + 1] - low
        nodes = None if self.nodes is None or low == high else self.nodes[low:high]
        return NodeSide(self.colours[low:high], nodes, offsets)

    def agreements(self, other: NodeSide) -> Floats:
        """Return c for all pairs of nodes."""
        out = np.zeros((len(self.colours), len(other.colours)))
        for mine, yours in zip(self.colours.T, other.colours.T, strict=True):
            out += mine[:, None] == yours
        return out

    @property
    def sums(self) -> Any:
        """The (n, N) matrix that adds over the nodes of each graph."""
        total = int(self.offsets[-1])
        shape = (len(self.offsets) - 1, total)
        return sp.csr_array((np.ones(total), np.arange(total), self.offsets), shape=shape)

    @property
    def owners(self) -> Indices:
        """The graph of each node."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
