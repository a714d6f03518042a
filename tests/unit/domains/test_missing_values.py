"""What is missing is no label."""

from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from mercer.domains.missing_values import is_missing
from mercer.domains.strings import Strings
from mercer.domains.structures.graphs import Graphs
from mercer.domains.structures.nodes import Network
from mercer.domains.structures.trees import Trees
from mercer.errors import DomainError

MISSING = [
    float("nan"),
    np.float32("nan"),
    complex("nan"),
    Decimal("nan"),
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    pd.NA,
    pd.NaT,
    ("a", float("nan")),
]


@pytest.mark.parametrize(
    "pack",
    [
        lambda bad: Graphs.pack([{"edges": [(0, 1)], "labels": ["a", bad]}]),
        lambda bad: Graphs.pack([{"edges": [(0, 1)], "labels": ["a", "b"], "edge_labels": [bad]}]),
        lambda bad: Graphs.pack([{"edges": [("a", bad)], "nodes": ["a", bad]}]),
        lambda bad: Graphs.pack([{"edges": [("a", bad)]}]),
        lambda bad: Graphs.pack([_linked(bad)]),
        lambda bad: Network.of([("a", "b"), ("b", bad)]),
        lambda bad: Network.of(_linked(bad)),
        lambda bad: Trees.pack([("a", (bad,))]),
        lambda bad: Strings.pack([["a", bad]]),
    ],
    ids=["labels", "edge labels", "nodes", "edges", "networkx", "names", "names of networkx", "trees", "strings"],
)
def test_what_is_missing_is_no_label(pack):
    for bad in MISSING:
        assert is_missing(bad)
        with pytest.raises(DomainError, match=r"missing|is a tuple"):
            pack(bad)


def test_what_is_there_is_not_missing():
    assert not any(map(is_missing, ["nan", "", 0, 1.5, (), ("a", 1), b"", Decimal(1), np.datetime64("2020-01-01")]))


def _linked(name):
    graph = nx.Graph()
    graph.add_edge("a", name)
    return graph
