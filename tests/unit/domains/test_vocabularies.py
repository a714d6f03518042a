"""Symbols of another kind than those that are known are refused, since none can be equal to any."""

from decimal import Decimal
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from mercer import KernelRidge, load, save
from mercer.domains.strings import Strings
from mercer.domains.structures.graphs import Graphs
from mercer.domains.structures.nodes import Network
from mercer.domains.structures.trees import Trees
from mercer.domains.texts import Texts
from mercer.domains.vocabularies import codes_among, is_missing, require_kin, symbol_kinds
from mercer.errors import DomainError
from mercer.kernels import (
    BagOfWords,
    BlendedSpectrum,
    GappySpectrum,
    Gaussian,
    GlobalAlignment,
    LocalAlignment,
    ShortestPath,
    Spectrum,
    Subsequence,
    SubsetTree,
    Substrings,
    Subtree,
    TreeSpectrum,
    VertexHistogram,
    WeisfeilerLehman,
    Wildcard,
)

LETTERS = ["gattaca", "tagtag", "cattag", "gatgat"]
FORMS = {
    "str": LETTERS,
    "bytes": [word.encode() for word in LETTERS],
    "integers": [list(word.encode()) for word in LETTERS],
    "bytes of one letter": [[letter.encode() for letter in word] for word in LETTERS],
}
SCORES = (2.0, -1.0)
KERNELS = [
    Spectrum(2),
    BlendedSpectrum(3),
    Substrings(),
    Wildcard(3, 1),
    Subsequence(2),
    GappySpectrum(2, 1),
    LocalAlignment(SCORES),
    GlobalAlignment(SCORES),
    Spectrum(2).normalized(),
    Spectrum(2) + Subsequence(2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("first", ["bytes", "integers", "bytes of one letter"])
def test_bytes_are_not_letters_either_way_round(kernel, first):
    y = [0.0, 1.0, 0.5, 2.0]
    for fitted, new in (FORMS[first], FORMS["str"]), (FORMS["str"], FORMS[first]):
        model = KernelRidge(kernel).fit(fitted, y)
        with pytest.raises(DomainError, match=r"none of them can be equal\. Give .*decode"):
            model.predict(new)


def test_kernels_compare_any_symbols():
    assert Spectrum(2)(["ab"], ["xy"]) == 0.0
    assert Spectrum(1)(["ab"], [b"ab"]) == 0.0
    assert Spectrum(1)([["a", 1]], [[1, 2]]) == 1.0


def test_empty_samples_are_of_any_kind():
    model = KernelRidge(Spectrum(1)).fit(["ab", "b", ""], [0.0, 1.0, 2.0])
    assert model.predict([b"", b""]).tolist() == [0.0, 0.0]
    assert model.symbols_in_ == {"symbols": ("str",)}
    assert not hasattr(model.set_params(kernel=None).fit([[1.0], [2.0]], [0.0, 1.0]), "symbols_in_")


def test_parts_of_samples_are_looked_at():
    kernel = Gaussian(1.0).on("size") * Spectrum(1).on("gene")
    rows = {"size": [1.0, 2.0], "gene": ["ab", "b"]}
    model = KernelRidge(kernel).fit(rows, [0.0, 1.0])
    with pytest.raises(DomainError, match=r"symbols of gene of type number were given"):
        model.predict({"size": [1.0, 2.0], "gene": [b"ab", b"b"]})
    pairs = KernelRidge(Gaussian(1.0).tensor(Spectrum(1))).fit([((1.0,), "ab"), ((2.0,), "b")], [0.0, 1.0])
    with pytest.raises(DomainError, match=r"symbols of right of type number were given"):
        pairs.predict([((1.0,), b"ab")])


def test_a_saved_model_remembers(tmp_path):
    model = KernelRidge(Spectrum(1)).fit(["ab", "b"], [0.0, 1.0])
    save(model, tmp_path / "m.mercer")
    with pytest.raises(DomainError, match="decode"):
        load(tmp_path / "m.mercer").predict([b"ab"])


def test_words_of_bytes_are_decoded_by_their_owner():
    with pytest.raises(DomainError, match=r"Words of type bytes.*Decode"):
        Texts.pack([[b"the", b"cat"]])
    with pytest.raises(DomainError, match="Decode"):
        BagOfWords()(["the cat"], [b"the cat"])


@pytest.mark.parametrize("kernel", [SubsetTree(), Subtree(), TreeSpectrum(2)], ids=repr)
def test_labels_of_trees(kernel):
    texts, numbers = [("a", ("b", ("c",)), ("b",))] * 3, [(1, (2, (3,)), (2,))] * 3
    model = KernelRidge(kernel).fit(texts, [0.0, 1.0, 2.0])
    with pytest.raises(DomainError, match=r"symbols of type number were given, .* of type str"):
        model.predict(numbers)


@pytest.mark.parametrize("kernel", [VertexHistogram(), WeisfeilerLehman(2), ShortestPath()], ids=repr)
def test_labels_of_graphs(kernel):
    texts = [{"edges": [(0, 1)], "labels": ["a", "b"]}] * 3
    numbers = [{"edges": [(0, 1)], "labels": [1, 2]}] * 3
    model = KernelRidge(kernel).fit(texts, [0.0, 1.0, 2.0])
    with pytest.raises(DomainError, match=r"symbols of type number were given, .* of type str"):
        model.predict(numbers)


def test_codes_among_others():
    assert codes_among(("G", "A"), ("A", "x", "G"), -1).tolist() == [1, -1, 0]
    assert codes_among((), (), -1).dtype == np.int64


def test_numbers_of_any_type_are_kin():
    for known, new in (([1, 2], [np.int64(1)]), ([True], [1]), ([None, 1], [None, "a", 2]), ([(1, 2)], [(3, 4)])):
        require_kin(symbol_kinds(_of(known)), _of(new))
    with pytest.raises(DomainError, match="of type tuple were given"):
        require_kin(symbol_kinds(_of([1])), _of([(1, 2)]))


def _of(symbols):
    return SimpleNamespace(vocabulary=tuple(symbols))


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
