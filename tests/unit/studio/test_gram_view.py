"""Gram matrices of examples and points against kernels called by hand; copies that give the same."""

import numpy as np
import pytest

import mercer
from mercer.errors import ParameterError
from mercer.studio.gram_view import EXAMPLES, look, shared
from tests.unit.studio.copied import command_output, python_numbers
from tests.unit.studio.test_playground import unpacked

POINTS = [[0.0, 0.0], [1.0, 0.5], [3.0, 3.0], [-2.0, 1.0]]
SOURCES = {name: {"source": name, "kernel": one["kernel"]} for name, one in EXAMPLES.items()}
SOURCES["points"] = {"source": "points", "kernel": "Gaussian(1.0)", "points": POINTS}


@pytest.mark.parametrize("source", SOURCES)
def test_the_matrix_is_that_of_the_kernel_and_copies_agree(source, tmp_path):
    told = look(SOURCES[source])
    raw = POINTS if source == "points" else EXAMPLES[source]["samples"]
    kernel = mercer.parse(SOURCES[source]["kernel"])
    S = kernel.pack(np.array(raw) if source == "points" else raw)
    K = np.asarray(kernel.learn(S)(S))
    order = told["index"]
    assert np.allclose(unpacked(told["gram"]), K[np.ix_(order, order)], atol=1e-6)
    assert told["numbers"][0] == pytest.approx(np.trace(K)) and len(told["names"]) == len(raw)
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)
    assert command_output(told["command"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)


def test_two_samples_of_an_example_share_something():
    told = shared({"source": "strings", "i": 0, "j": 1})
    assert told["names"] == ["GATTACA", "GATTAGA"] and told["shared"][0]["what"] == "GATTA"
    with pytest.raises(ParameterError):
        shared({"source": "strings", "i": 0, "j": 99})
    with pytest.raises(ParameterError):
        look({"source": "elsewhere", "kernel": "Gaussian(1.0)"})
