import ast
import pickle
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mercer.domains.structures.trees import Trees
from mercer.errors import DomainError, ModelError
from mercer.numerics.ragged import Ragged
from mercer.testing import check_domain

X = ["(S (NP we) (VP go))", ("S", ("NP", "you"), "now"), (), ("a",), ["a", "b", ["c", 3]]]
NESTED = [("S", ("NP", "we"), ("VP", "go")), ("S", ("NP", "you"), "now"), (), ("a",), ("a", "b", ("c", 3))]


def nested(S):
    return [S.nested(i) for i in range(len(S))]


def test_what_was_packed_can_be_read_back():
    S = Trees.pack(X)
    assert nested(S) == NESTED
    assert S.ragged.codes.dtype == np.int32 and S.sizes.tolist() == [5, 4, 0, 1, 4]
    assert [S.brackets(i) for i in range(4)] == ["(S (NP we) (VP go))", "(S (NP you) now)", "()", "(a)"]
    assert nested(Trees.pack([S.brackets(i) for i in range(4)])) == NESTED[:4]
    assert repr(S) == "<Trees: 5 samples, 11 labels, 0 to 5 nodes>"


def test_pieces():
    check_domain(Trees, X)
    S = Trees.pack(X)
    assert nested(S[[3, 1]]) == [NESTED[3], NESTED[1]] and S[1:2].vocabulary is S.vocabulary
    T = Trees.pack(["(S (NP they) (VP go))"])
    A, B = S.align(T)
    assert A.vocabulary == B.vocabulary and nested(A) == nested(S) and nested(B) == nested(T)
    assert A.ragged.codes is S.ragged.codes and nested(S.concat(T)) == nested(S) + nested(T)
    assert S.align(S[1:])[0] is S
    assert nested(pickle.loads(pickle.dumps(S))) == NESTED


def test_labels_in_brackets_are_printable():
    assert Trees.pack([("a (b)", "c d")]).brackets(0) == "(a_-LRB-b-RRB- c_d)"


def test_all_forms_in_one_list():
    class Node(list):  # as nltk has it
        def __init__(self, label, children):
            super().__init__(children)
            self._label = label

        def label(self):
            return self._label

    S = Trees.pack([Node("S", ["we", Node("VP", ["go"])]), ET.fromstring("<a b='1'>x<c/></a>"), ast.parse("f(x)")])
    assert nested(S)[:2] == [("S", "we", ("VP", "go")), ("a", ("@b", "1"), "x", "c")]
    assert S.brackets(2) == "(Module (body (Expr (Call (Name f) (args (Name x))))))"
    assert nested(Trees.pack(pd.Series(["(a b)", "(c)"]))) == [("a", "b"), ("c",)]
    assert nested(Trees.pack(np.array([["(a b)"], ["(c)"]], dtype=object))) == [("a", "b"), ("c",)]


def test_converters():
    assert nested(Trees.from_penn(["( (S (NP we)) )"])) == [("S", ("NP", "we"))]
    assert nested(Trees.from_xml(["<a k='v'>t</a>"], attributes=False)) == [("a", "t")]
    assert nested(Trees.from_xml([b"<a k='v'>t</a>"], words=False)) == [("a", ("@k", "v"))]
    assert nested(Trees.from_html(["<p class=x>a<p>b"], attributes=False)) == [("#document", ("p", "a"), ("p", "b"))]
    assert nested(Trees.from_json([{"b": 1, "a": [True]}], leaves=False)) == [
        ("{}", ("a", ("[]", "boolean")), ("b", "number"))
    ]
    assert nested(Trees.from_json(["3"])) == [("3",)]
    assert nested(Trees.from_ast(["f(x)"], leaves=False)) == [
        ("Module", ("body", ("Expr", ("Call", "Name", ("args", "Name")))))
    ]


def test_depth_costs_nothing():
    n = 100_000
    deep = "x"
    for _ in range(n):
        deep = ["a", deep]
    for S in (
        Trees.pack([deep]),
        Trees.pack(["(a " * n + "x" + ")" * n]),
        Trees.from_xml(["<a>" * n + "x" + "</a>" * n]),
        Trees.from_json(["[" * n + "1" + "]" * n]),
    ):
        S.check()
        assert S.sizes.tolist() == [n + 1] and len(S.brackets(0)) >= 4 * n
    assert S.nested(0)[0] == "[]"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "0 sample"),
        ("(S a)", "single tree"),
        (["S a"], "Sample 0, character 0: The text does not begin"),
        (["(a)", "(S (NP a)"], "Sample 1, character 9: 1 brackets are not closed"),
        (["(S a))"], "follows the end"),
        (["(S a) (T b)"], "follows the end"),
        ([")"], "not opened"),
        ([None], "None"),
        ([3], "of type int"),
        ([("a", None)], "is missing"),
        ([("a", "b"), ("a", 0.5)], "Sample 1: a label is a real number"),
        ([("a", ())], "A node is empty"),
        ([(("a",), "b")], "label of a node is a tuple"),
        ([{"a": 1}], "from_json"),
        ([("a", {"b"})], "type set"),
        ([("a", np.zeros(2))], "cannot be hashed"),
        (3, "int"),
        (np.zeros((2, 3)), "table of shape"),
        (np.array([["a", "b"], ["c", "d"]]), "table of shape"),
        (pd.DataFrame({"tag": ["(a b)"], "y": [1]}), "table of shape"),
        (np.array([1, 2]), "of type int"),
        ({"(a b)"}, "set"),
        (ET.fromstring("<a/>"), "single tree"),
    ],
)
def test_what_is_no_tree_is_refused(given, told):
    with pytest.raises(DomainError, match=told):
        Trees.pack(given)


def test_circles_are_refused():
    loop = ["a"]
    loop.append(["b", loop])
    with pytest.raises(DomainError, match="below itself"):
        Trees.pack([loop])
    shared = ("b", "c")
    assert nested(Trees.pack([("a", shared, shared)])) == [("a", shared, shared)]


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (Trees.from_penn, [("a",)]),
        (Trees.from_xml, ["<a>"]),
        (Trees.from_xml, [3]),
        (Trees.from_html, [b"<p>"]),
        (Trees.from_json, ["{"]),
        (Trees.from_ast, ["def"]),
    ],
)
def test_converters_name_the_sample(make, given):
    with pytest.raises(DomainError, match="Sample 0"):
        make(given)


def test_damaged_trees_are_refused():
    S = Trees.pack(X)
    S.check()
    nodes = S.ragged.codes
    for column, value in ((0, 99), (0, -1), (1, 9), (1, -1), (1, 1)):
        broken = nodes.copy()
        broken[0, column] = value
        with pytest.raises(ModelError):
            replace(S, ragged=Ragged(broken, S.offsets)).check()
    with pytest.raises(ModelError):
        replace(S, ragged=Ragged(nodes[:, :1], S.offsets)).check()
    with pytest.raises(ModelError):
        replace(S, vocabulary=S.vocabulary[:-1] + S.vocabulary[:1]).check()
    with pytest.raises(ModelError):  # two trees where one should be
        Trees(Ragged(np.zeros((2, 2), np.int32), np.array([0, 2])), ("a",)).check()
