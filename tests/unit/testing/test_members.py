"""Members of classes, made from what the classes say."""

import pytest

from mercer import catalogue
from mercer.kernels import Wendland
from mercer.testing.members import member

ROWS = [*catalogue.kernels(), *catalogue.losses(), *catalogue.grams(), *catalogue.solvers()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_member_is_one_that_its_constraints_accept(row):
    made = member(row.cls)
    if made is not None:
        assert type(made) is row.cls
        made.check()


def test_what_a_class_names_comes_first():
    class Wide(Wendland):
        example = (9,)

    assert member(Wide) == Wide(9)


def test_nodes_of_the_algebra_have_none_and_few_others():
    without = {row.name for row in ROWS if member(row.cls) is None}
    assert {"Sum", "Product", "Power", "Selected"} <= without
    assert len(without) <= 41
