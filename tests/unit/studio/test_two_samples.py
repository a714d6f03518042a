"""Two clouds: the statistic and the witness function by their formulas, and copies that give the same."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.studio.pixels import grid_of
from mercer.studio.two_samples import compare
from tests.unit.studio.copied import command_output, python_numbers
from tests.unit.studio.test_playground import unpacked

RNG = np.random.default_rng(1)
FIRST = RNG.normal(size=(20, 2)).round(3).tolist()
SECOND = (RNG.normal(size=(25, 2)) + 1.0).round(3).tolist()
ASKED = {"first": FIRST, "second": SECOND, "kernel": "Gaussian(1.0)", "draws": 60, "side": 8}


def k(a, b):
    return np.exp(-((np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2).sum(-1) / 2.0)


def test_the_statistic_and_the_witness_are_those_of_the_formulas():
    told = compare(ASKED)
    m, n = len(FIRST), len(SECOND)
    unbiased = (k(FIRST, FIRST).sum() - m) / (m * (m - 1)) + (k(SECOND, SECOND).sum() - n) / (n * (n - 1))
    assert told["statistic"] == pytest.approx(unbiased - 2 * k(FIRST, SECOND).mean(), rel=1e-9)
    grid = grid_of(-5.0, 5.0, 8)
    known = k(grid, FIRST).mean(1) - k(grid, SECOND).mean(1)
    assert np.allclose(unpacked(told["surface"]).ravel(), known, atol=1e-6)
    assert told["rejected"] and told["picture"].startswith("data:image/svg+xml;base64,")


def test_what_is_copied_gives_the_same_numbers(tmp_path):
    told = compare(ASKED)
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-12)
    found = command_output(told["command"], tmp_path)
    assert [found["statistic"], found["p_value"]] == pytest.approx(told["numbers"], rel=1e-12)


@pytest.mark.parametrize("change", [{"first": [[0, 0]]}, {"draws": 5}, {"theme": "pink"}, {"second": [[0, 0, 0]] * 3}])
def test_what_is_wrong_is_said(change):
    with pytest.raises(ParameterError):
        compare({**ASKED, **change})
