import copy
import pickle

import pytest

from mercer.theory import Bound, Term

TERMS = [Term("first", "a", 0.25), Term("second", "b", 0.5)]


def test_a_bound_is_a_number_with_terms():
    bound = Bound.of_terms("name", "P(error)", TERMS, 0.1, unpaid=("the kernel",))
    assert bound == 0.75
    assert bound + 0.25 == 1.0
    assert [term.name for term in bound.terms] == ["first", "second"]
    assert bound.unpaid == ("the kernel",)


@pytest.mark.parametrize("value, vacuous", [(0.99, False), (1.0, True), (3.0, True), (float("nan"), True)])
def test_a_bound_says_when_it_says_nothing(value, vacuous):
    assert Bound(value).is_vacuous is vacuous


def test_what_is_trivial_depends_on_the_range():
    assert not Bound(3.0, trivial=10.0).is_vacuous


@pytest.mark.parametrize("again", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_a_bound_survives_copies_with_its_terms(again):
    bound = Bound.of_terms("name", "P(error)", TERMS, 0.1, paid=("the margin",), trivial=2.0)
    other = again(bound)
    assert other == bound
    assert vars(other) == vars(bound)


def test_table_has_a_line_for_each_term_and_the_formula():
    bound = Bound(0.5, "name", "P(error)", TERMS, 0.05, formula="2 x the first")
    assert bound.table().splitlines() == [
        "name: P(error) <= 0.5 with probability 0.95",
        "  first   a  0.25",
        "  second  b  0.5",
        "  2 x the first",
    ]
