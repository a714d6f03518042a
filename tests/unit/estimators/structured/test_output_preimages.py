"""Searches by small changes: what is one change away, and where the search ends."""

import numpy as np

from mercer.estimators.structured.output_preimages import beam_search, edits, flips


def test_what_is_one_change_away():
    found = set(edits("ab")(("a",)))
    assert found == {("a", "a"), ("b", "a"), ("a", "b"), ("a",), ("b",)}
    assert list(flips((1, 0))) == [(0, 0), (1, 1)]


def test_a_beam_finds_what_lies_downhill():
    target = tuple("kernel")

    def costs(items):
        return np.array([abs(len(s) - 6) + sum(a != b for a, b in zip(s, target, strict=False)) for s in items])

    best, cost = beam_search([tuple("kenel"), tuple("corner")], edits("ceklnor"), costs, 5, 20)
    assert "".join(best) == "kernel" and cost == 0.0
    best, cost = beam_search([tuple("corner")], edits("ceklnor"), costs, 1, 1)
    assert cost == costs([tuple("corner")])[0] - 1
