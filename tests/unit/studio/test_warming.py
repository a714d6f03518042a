"""Everything that a user may ask first has been asked once."""

import pytest

from mercer.studio.warming import warm


@pytest.mark.filterwarnings("ignore:The evidence found")  # six points say nothing about y
def test_it_asks_one_of_each():
    assert warm({}) == {"warm": True}
