"""Faults in collections of texts, trees, graphs, nodes, bags, series and tensors."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from tests.trust.faults import OBJECTS, STRINGS, Fault, with_sample
from tests.trust.judge import ACCEPT, EITHER


def _same(X: Any) -> Any:
    return X


def _deep(depth: int) -> Any:
    tree: Any = "a"
    for _ in range(depth):
        tree = ("a", tree)
    return tree


def _objects(X: Any) -> Any:
    held = np.empty(len(X), dtype=object)
    held[:] = list(X)
    return held


def _cycle() -> Any:
    tree: list[Any] = ["a"]
    tree.append(tree)
    return tree


_FRAME = [  # every list of objects
    Fault("tuple of samples", tuple, ACCEPT, _same),
    Fault("array of objects", _objects, ACCEPT, _same),
    Fault("all equal", lambda X: [X[0]] * len(X), ACCEPT),
    Fault("one sample", lambda X: X[:1], EITHER),
    Fault("None inside", with_sample(1, None)),
    Fault("NaN inside", with_sample(1, float("nan"))),
    Fault("a function inside", with_sample(1, len)),
    Fault("an object inside", with_sample(1, object())),
    *OBJECTS,
]

_OF_SYMBOLS = {"sequences of letters", "bytes"}  # a document is cut into words, a list of letters is not
TEXTS = [
    *(fault for fault in STRINGS if fault.name not in _OF_SYMBOLS),
    Fault("lists of words", lambda X: [text.lower().replace(".", "").split() for text in X], ACCEPT, _same),
    Fault("bytes", lambda X: [text.encode() for text in X]),
    Fault("no words", with_sample(1, "... ?!"), ACCEPT),
]

TREES = [
    Fault("lists for tuples", lambda X: [list(tree) for tree in X], ACCEPT, _same),
    Fault("an empty tree", with_sample(1, ()), ACCEPT),
    Fault("in brackets", with_sample(1, "(a (b a) b)"), EITHER),
    Fault("deep", with_sample(1, _deep(3000)), EITHER),
    Fault("wide", with_sample(1, ("a", *["b"] * 300)), EITHER),
    Fault("a bracket too many", with_sample(1, "(a (b c)))")),
    Fault("a bracket missing", with_sample(1, "(a (b c)")),
    Fault("text without brackets", with_sample(1, "a b c"), EITHER),
    Fault("unhashable label", with_sample(1, ({}, "b"))),
    Fault("None as label", with_sample(1, ("a", None))),
    Fault("NaN as label", with_sample(1, ("a", float("nan")))),
    Fault("a tree inside itself", with_sample(1, _cycle())),
    Fault("number inside", with_sample(1, 3.5), EITHER),
    Fault("array inside", with_sample(1, np.ones(3)), EITHER),
    *_FRAME,
]

GRAPHS = [
    Fault("adjacency inside", with_sample(1, np.ones((3, 3)) - np.eye(3)), EITHER),
    Fault("sparse inside", with_sample(1, sp.csr_array(np.ones((3, 3)) - np.eye(3))), EITHER),
    Fault("networkx inside", with_sample(1, nx.path_graph(4)), EITHER),
    Fault("no nodes", with_sample(1, nx.Graph()), ACCEPT),
    Fault("isolated nodes", with_sample(1, nx.empty_graph(3)), ACCEPT),
    Fault("loops", with_sample(1, nx.Graph([(0, 0), (0, 1)])), ACCEPT),
    Fault("multigraph", with_sample(1, nx.MultiGraph([(0, 1), (0, 1)])), EITHER),
    Fault("odd names", with_sample(1, nx.Graph([("a", (1, 2)), ((1, 2), frozenset())])), ACCEPT),
    Fault("large", with_sample(1, nx.path_graph(80)), EITHER),
    Fault("huge weight", with_sample(1, np.array([[0.0, 1e300], [1e300, 0.0]])), EITHER),
    Fault("negative weight", with_sample(1, np.array([[0.0, -1.0], [-1.0, 0.0]])), EITHER),
    Fault("NaN weight", with_sample(1, np.array([[0.0, np.nan], [np.nan, 0.0]]))),
    Fault("infinite weight", with_sample(1, sp.csr_array(np.array([[0.0, np.inf], [np.inf, 0.0]])))),
    Fault("not square", with_sample(1, np.ones((3, 2)))),
    Fault("complex", with_sample(1, np.ones((2, 2)) * 1j)),
    Fault("text adjacency", with_sample(1, np.array([["a", "b"], ["b", "a"]]))),
    Fault("three dimensions", with_sample(1, np.ones((2, 2, 2)))),
    Fault("too few labels", with_sample(1, (np.ones((2, 2)), ["C"]))),
    Fault("unhashable label", with_sample(1, (np.ones((2, 2)), [{}, {}]))),
    Fault("an edge to nowhere", with_sample(1, {"edges": [(0, 5)], "nodes": [0, 1]})),
    Fault("an edge of three", with_sample(1, {"edges": [(0, 1, 2, 3)]})),
    Fault("unknown key", with_sample(1, {"edges": [(0, 1)], "colour": 3}), EITHER),
    Fault("number inside", with_sample(1, 3.5)),
    Fault("text inside", with_sample(1, "abc")),
    *_FRAME,
]

NODES = [
    Fault("array", np.array, ACCEPT, _same),
    Fault("tuple", tuple, ACCEPT, _same),
    Fault("repeated", lambda X: [X[0]] * len(X), ACCEPT),
    Fault("one sample", lambda X: X[:1], EITHER),
    Fault("int8", lambda X: np.array(X, np.int8), ACCEPT, _same),
    Fault("a column", lambda X: np.array(X)[:, None], EITHER, _same),
    Fault("unknown node", with_sample(1, 99)),
    Fault("negative", with_sample(1, -1)),
    Fault("a name", with_sample(1, "Ann")),
    Fault("a fraction", with_sample(1, 0.5)),
    Fault("beyond 64 bits", with_sample(1, 2**70)),
    Fault("None inside", with_sample(1, None)),
    Fault("NaN inside", with_sample(1, float("nan"))),
    Fault("a list inside", with_sample(1, [0])),
    Fault("matrix", lambda X: np.ones((3, 2))),
    Fault("masked", lambda X: np.ma.masked_array(np.array(X), [True] + [False] * (len(X) - 1))),
    Fault("dates", lambda X: np.full(len(X), np.datetime64("2020-01-01"))),
    *OBJECTS,
]

_NAN = np.array([[0.5, np.nan], [1.0, 2.0]])
_NUMBERS = [  # a sample that should be numbers
    Fault("float32 inside", with_sample(1, np.ones((3, 2), np.float32)), EITHER),
    Fault("integers inside", with_sample(1, np.ones((3, 2), int)), EITHER),
    Fault("an infinite number", with_sample(1, np.array([[0.5, np.inf], [1.0, 2.0]]))),
    Fault("complex", with_sample(1, np.ones((3, 2)) * 1j)),
    Fault("text inside", with_sample(1, "abc")),
    Fault("text numbers", with_sample(1, np.array([["a", "b"], ["b", "a"]]))),
    Fault("dates", with_sample(1, np.full((3, 2), np.datetime64("2020-01-01")))),
    Fault("other columns", with_sample(1, np.ones((3, 5)))),
    Fault("four dimensions", with_sample(1, np.ones((2, 2, 2, 2)))),
    Fault("ragged inside", with_sample(1, [[1.0], [1.0, 2.0]])),
    Fault("dict inside", with_sample(1, {"a": 1.0})),
    Fault("set inside", with_sample(1, {1.0, 2.0})),
    Fault("number inside", with_sample(1, 3.5)),
    *_FRAME,
]
BAGS = [
    Fault("a missing number", with_sample(1, _NAN)),
    Fault("lists for arrays", lambda X: [np.asarray(bag).tolist() or np.empty((0, 2)) for bag in X], EITHER),
    Fault("one member", with_sample(1, np.ones((1, 2))), EITHER),
    Fault("huge numbers", with_sample(1, np.full((2, 2), 1e200)), EITHER),
    *_NUMBERS,
]
SERIES = [
    Fault("a missing number", with_sample(1, _NAN), EITHER),
    Fault("one point", with_sample(1, np.ones((1, 2))), ACCEPT),
    Fault("no point", with_sample(1, np.empty((0, 2)))),
    Fault("long", with_sample(1, np.ones((500, 2))), EITHER),
    Fault("huge numbers", with_sample(1, np.full((3, 2), 1e200)), EITHER),
    *_NUMBERS,
]
DISTRIBUTIONS = [
    Fault("a covariance that is not symmetric", with_sample(1, (np.zeros(2), np.array([[1.0, 2.0], [0.0, 1.0]])))),
    Fault("an indefinite covariance", with_sample(1, (np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]])))),
    Fault("another covariance", with_sample(1, (np.zeros(2), np.eye(3)))),
    Fault("NaN in a covariance", with_sample(1, (np.zeros(2), np.full((2, 2), np.nan)))),
    Fault("text inside", with_sample(1, "abc")),
    Fault("other columns", with_sample(1, (np.zeros(5), np.eye(5)))),
    Fault("number inside", with_sample(1, 3.5)),
    *_FRAME,
]
SYSTEMS = [
    Fault("states of another number", with_sample(1, (np.eye(2) / 2, np.ones((3, 4)), np.ones(2)))),
    Fault("unstable", with_sample(1, (3.0 * np.eye(2), np.ones((3, 2)), np.ones(2)))),
    Fault("NaN in a system", with_sample(1, (np.full((2, 2), np.nan), np.ones((3, 2)), np.ones(2)))),
    Fault("two parts", with_sample(1, (np.eye(2), np.eye(2)))),
    Fault("text inside", with_sample(1, "abc")),
    Fault("number inside", with_sample(1, 3.5)),
    *_FRAME,
]
_OTHER_ARRAYS = ("tuple of samples", "array of objects", "lists in lists in lists")
_ARRAY = [fault for fault in _FRAME if fault.name not in _OTHER_ARRAYS]
TENSORS = [
    Fault("list of arrays", list, ACCEPT, _same),
    Fault("Fortran order", np.asfortranarray, ACCEPT, _same),
    Fault("float32", lambda X: np.asarray(X, np.float32), EITHER),
    Fault("one tensor zero", lambda X: np.where(np.arange(len(X))[:, None, None, None] == 1, 0.0, X), EITHER),
    Fault("times 1e200", lambda X: np.asarray(X) * 1e200, EITHER),
    Fault("one NaN", lambda X: np.where(np.arange(np.size(X)).reshape(np.shape(X)) == 5, np.nan, X)),
    Fault("one inf", lambda X: np.where(np.arange(np.size(X)).reshape(np.shape(X)) == 5, np.inf, X)),
    Fault("complex", lambda X: np.asarray(X) * 1j),
    Fault("text", lambda X: np.full(np.shape(X), "a")),
    Fault("one dimension", lambda X: np.ones(4)),
    Fault("shapes that differ", lambda X: [np.ones((2, 3, 2)), np.ones((2, 2, 2))]),
    Fault("no samples", lambda X: np.asarray(X)[:0]),
    *_ARRAY,
]


def _with(name: str, place: int, value: Any) -> Any:
    """A table of columns with another value in one place."""
    return lambda X: {**X, name: [*X[name][:place], value, *X[name][place + 1 :]]}


def _as_rows(X: Any) -> Any:
    return [list(row) for row in zip(*X.values(), strict=True)]


MIXED = [
    Fault("pandas", pd.DataFrame, ACCEPT, _same),
    Fault("polars", pl.DataFrame, ACCEPT, _same),
    Fault("rows", _as_rows, ACCEPT, _same),
    Fault("other order", lambda X: dict(reversed(X.items())), EITHER),
    Fault("more columns", lambda X: {**X, "more": X["size"]}, EITHER),
    Fault("all missing", lambda X: {name: [None] * len(column) for name, column in X.items()}, EITHER),
    Fault("NaN for None", _with("size", 1, float("nan")), ACCEPT),
    Fault("infinite", _with("size", 0, float("inf")), EITHER),
    Fault("complex", _with("size", 0, 1j)),
    Fault("list inside", _with("kind", 0, [1, 2])),
    Fault("huge numbers", _with("size", 0, 1e300), ACCEPT),
    Fault("lengths that differ", lambda X: {**X, "size": X["size"][:-1]}),
    Fault("no rows", lambda X: {name: [] for name in X}),
    Fault("no columns", lambda X: {}),
    Fault("one dimension", lambda X: np.ones(4)),
    Fault("text", lambda X: "abc"),
    Fault("None", lambda X: None),
]
