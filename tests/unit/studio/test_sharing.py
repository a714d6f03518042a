"""What two samples share, against brute force."""

import numpy as np

from mercer.studio.sharing import common, common_substrings, productions


def test_substrings_against_all_of_them():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = ("".join(rng.choice(list("AB"), 9)) for _ in range(2))
        both = {a[i:j] for i in range(9) for j in range(i + 1, 10)} & {
            b[i:j] for i in range(9) for j in range(i + 1, 10)
        }
        found = common_substrings(a, b)
        longest = max(map(len, both), default=0)
        assert set(found) <= both and len(found[0] if found else "") == longest
        assert {text for text in both if len(text) == longest} <= set(found) or len(found) == 12


def test_each_kind():
    assert common("graphs", ["C", "C", "O"], ["C", "O", "O"]) == [{"what": "C", "count": 1}, {"what": "O", "count": 1}]
    assert common("numbers", [1.0, 2.0], [1.5, 2.0]) == [
        {"what": "column 0: 1 and 1.5", "count": 0.5},
        {"what": "column 1: 2 and 2", "count": 0.0},
    ]
    assert common("rows", {"a": "x", "b": 1.0}, {"a": "x", "b": 3.0})[0] == {"what": "a: x", "count": 1}
    trees = ("(S (NP (N dogs)) (VP (V bark)))", "(S (NP (N cats)) (VP (V bark)))")
    assert {row["what"] for row in common("trees", *trees)} >= {"(VP (V bark))", "S → NP VP", "NP → N"}
    assert common("strings", "abc", "xyz") == []


def test_rules_of_a_tree():
    assert "E → E O T" in productions("(E (E (T x)) (O +) (T y))")
