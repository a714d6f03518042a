"""The order of sums depends on the number of terms alone."""

import numpy as np
import pytest

from mercer.gram.tree_sums import pairwise, tree_sum
from mercer.runtime.workers import Here


class Text(str):
    """A term whose sum shows how it was added."""

    def __add__(self, other):
        return Text(f"({self}{other})")


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "a"), (2, "(ab)"), (3, "((ab)c)"), (5, "(((ab)(cd))e)"), (6, "(((ab)(cd))(ef))"), (7, "(((ab)(cd))((ef)g))")],
)
def test_the_order_of_a_sum_depends_on_the_number_of_terms_alone(count, shown):
    terms = [Text(letter) for letter in "abcdefg"[:count]]
    assert tree_sum(Here(), count, lambda i: (terms[i],)) == (shown,)
    assert pairwise(terms) == shown


def test_terms_are_asked_for_in_order_and_added_as_soon_as_possible():
    events = []

    class Watching(Here):
        def submit(self, function, *args):
            events.append("+")
            return super().submit(function, *args)

    tree_sum(Watching(), 5, lambda i: events.append(i) or (float(i),))
    assert events == [0, 1, "+", 2, 3, "+", "+", 4, "+"]


def test_sums_leave_their_terms_as_they_are():
    terms = [(np.ones(3), np.zeros(2)) for _ in range(4)]
    total = tree_sum(Here(), 4, terms.__getitem__)
    assert np.array_equal(total[0], np.full(3, 4.0))
    assert all(np.array_equal(term[0], np.ones(3)) for term in terms)
