import ast
import json
import random

import pytest

from mercer.domains.structures.tree_forms import (
    Malformed,
    Planting,
    parse_json,
    plant_ast,
    plant_json,
    plant_nested,
    plant_penn,
    plant_xml,
)
from mercer.domains.structures.trees import Trees


def grown(plant, *given):
    planting = Planting()
    plant(planting, *given)
    return Trees.assembled(planting).nested(0)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(S(NP we)(VP go))", ("S", ("NP", "we"), ("VP", "go"))),
        ("  ( (S a) )\n", ("S", "a")),
        ("((S a)(T b))", ("", ("S", "a"), ("T", "b"))),
        ("( S ( NP a ) )", ("S", ("NP", "a"))),
        ("(, ,)", (",", ",")),
        ("()", ()),
        ("  ", ()),
        ("(a)", ("a",)),
    ],
)
def test_brackets(text, tree):
    assert grown(plant_penn, text) == tree


def test_a_planting_can_forget_a_tree():
    planting = Planting()
    plant_penn(planting, "(a b)")
    with pytest.raises(Malformed):
        plant_penn(planting, "(a (b c)")
    planting.abandon()
    plant_nested(planting, ("c",))
    S = Trees.assembled(planting)
    assert [S.nested(i) for i in range(2)] == [("a", "b"), ("c",)]


def test_xml():
    text = '<?xml version="1.0"?><!-- no --><a y="2" x="1">one <b/>two &amp; three<c>4</c></a>'
    tree = ("a", ("@x", "1"), ("@y", "2"), "one", "b", "two", "&", "three", ("c", "4"))
    assert grown(plant_xml, text) == tree
    assert grown(plant_xml, text, False, False) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<a><b></a>", "mismatched tag .line 1, column 9"),
        ("", "no element found"),
        ("<a/><b/>", "junk after"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares entities"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "secret.txt">]><a>&x;</a>', "declares entities"),
    ],
)
def test_bad_xml(text, told):
    with pytest.raises(Malformed, match=told):
        grown(plant_xml, text)


def test_entity_bombs_are_refused():
    lines = ['<!ENTITY a0 "lol">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))]
    with pytest.raises(Malformed, match="declares entities"):
        grown(plant_xml, f"<!DOCTYPE r [{''.join(lines)}]><r>&a11;</r>")


def some_json(rng, depth=0):
    kind = rng.choice(["list", "dict", "text", "number", "word"] if depth < 4 else ["text", "number", "word"])
    if kind == "list":
        return [some_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == "dict":
        return {
            rng.choice(["a", "b\n", 'q"', "\u00e9", ""]): some_json(rng, depth + 1) for _ in range(rng.randrange(4))
        }
    if kind == "text":
        return rng.choice(["", "x", 'a"b\\', "{[,:]}", "\u2028"])
    return rng.choice([0, -1, 1.5, 1e300, 12]) if kind == "number" else rng.choice([True, False, None])


def test_json_is_parsed_as_the_standard_library_does():
    rng = random.Random(0)
    for _ in range(500):
        value = some_json(rng)
        for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
            assert parse_json(text) == value
            for _ in range(3):  # a character lost or doubled
                at = rng.randrange(len(text))
                broken = rng.choice([text[:at] + text[at + 1 :], text[: at + 1] + text[at:]])
                try:
                    expected = json.loads(broken)
                except ValueError:
                    with pytest.raises(Malformed):
                        parse_json(broken)
                else:
                    try:
                        assert parse_json(broken) == expected
                    except Malformed as error:  # the standard library takes the last of equal keys
                        assert "twice" in error.problem


@pytest.mark.parametrize(
    "text", ["", " ", "[1,]", "{,}", "[1 2]", '{"a" 1}', "{1: 2}", "NaN", "[1]]", "01", "tru", '"']
)
def test_what_is_no_json(text):
    with pytest.raises(Malformed):
        parse_json(text)


def test_json_trees():
    assert grown(plant_json, '{"b": [1, "1", null], "a": {}}') == ("{}", ("a", "{}"), ("b", ("[]", "1", '"1"', "null")))
    assert grown(plant_json, {"b": 1, "a": 2}) == grown(plant_json, {"a": 2, "b": 1})
    for value in ([float("nan")], [{1: 2}], [{1, 2}], b"\xff"):
        with pytest.raises(Malformed):
            grown(plant_json, value)


def test_python():
    tree = grown(plant_ast, "def f(x):\n    return x + 'a'\n")
    assert tree == grown(plant_ast, ast.parse("def f(x): return x+'a'"))
    body = ("body", ("Return", ("BinOp", ("Name", "x"), "Add", ("Constant", "'a'"))))
    assert tree[1][1][:2] == ("FunctionDef", "f") and body in tree[1][1]
    assert grown(plant_ast, "x = 1", False) == grown(plant_ast, "yy = 'z'", False)
    for bad in ("def", "x = \0", "(" * 10_000, 3, "x" + ".a" * 1_000_000):
        with pytest.raises(Malformed):
            grown(plant_ast, bad)
