"""Nodes with refined labels: pieces of a side, and how many labels agree."""

import numpy as np

from mercer.domains import Vectors
from mercer.kernels.graphs.coloured_nodes import ColouredNodes, NodeSide
from mercer.numerics.ragged import Ragged

COLOURS = np.array([[0, 1], [0, 2], [1, 3]], np.int64)
SIDE = NodeSide(COLOURS, Vectors.pack(np.eye(3)), np.array([0, 2, 2, 3]))


def test_agreements_count_levels():
    np.testing.assert_array_equal(SIDE.agreements(SIDE), [[2, 1, 0], [1, 2, 0], [0, 0, 2]])


def test_pieces_are_those_of_consecutive_graphs():
    piece = SIDE.piece(slice(1, 3))
    np.testing.assert_array_equal(piece.colours, COLOURS[2:])
    np.testing.assert_array_equal(piece.offsets, [0, 0, 1])
    assert piece.nodes is not None and len(piece.nodes) == 1
    assert SIDE.piece(slice(1, 2)).nodes is None  # a graph without nodes


def test_sums_and_owners_belong_to_graphs():
    np.testing.assert_array_equal(SIDE.sums @ np.array([1.0, 2.0, 4.0]), [3.0, 0.0, 4.0])
    np.testing.assert_array_equal(SIDE.owners, [0, 0, 2])


def test_colours_are_taken_by_graph():
    nodes = ColouredNodes(Ragged(COLOURS, np.array([0, 2, 2, 3])), ())
    assert len(nodes) == 3 and nodes.nbytes == COLOURS.nbytes
    np.testing.assert_array_equal(nodes.take(np.array([2])).nodes.codes, COLOURS[2:])
