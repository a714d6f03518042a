"""Processes against the formulas of Gaussian conditioning, and the evidence surface against the closed form."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.studio.process_view import evidence, observe, places
from tests.unit.studio.copied import command_output, python_numbers
from tests.unit.studio.test_playground import unpacked

RNG = np.random.default_rng(2)
X = np.sort(RNG.uniform(-4, 4, 12)).round(3)
POINTS = [[float(x), round(float(np.sin(x) + 0.1 * e), 3)] for x, e in zip(X, RNG.normal(size=12), strict=True)]
ASKED = {"points": POINTS, "kernel": "2.0 * Gaussian(1.2)", "noise": 0.05, "draws": 3}


def gaussian(a, b, scale=2.0, length=1.2):
    return scale * np.exp(-((np.subtract.outer(a, b) / length) ** 2) / 2.0)


def test_the_posterior_is_that_of_the_formula():
    told = observe(ASKED)
    x, y = np.array(POINTS).T
    t = places()[:, 0]
    K, k = gaussian(x, x) + 0.05 * np.eye(12), gaussian(t, x)
    assert np.allclose(told["mean"], k @ np.linalg.solve(K, y), atol=1e-9)
    variance = 2.0 - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
    assert np.allclose(np.square(told["std"]), variance, atol=1e-9)
    known = -0.5 * y @ np.linalg.solve(K, y) - 0.5 * np.linalg.slogdet(K)[1] - 6 * np.log(2 * np.pi)
    assert told["evidence"] == pytest.approx(known, rel=1e-9)
    assert np.shape(told["paths"]) == (3, 161)


def test_without_data_there_is_the_prior():
    told = observe({**ASKED, "points": []})
    assert told["evidence"] is None and np.allclose(told["mean"], 0) and np.allclose(told["std"], np.sqrt(2.0))
    assert np.shape(told["paths"]) == (3, 161)
    assert observe({**ASKED, "points": [], "draws": 0})["paths"] == []


def test_the_surface_is_the_evidence_and_the_optimum_is_its_top():
    told = evidence({**ASKED, "first": "kernel__length_scale", "second": "noise", "side": 5})
    x, y = np.array(POINTS).T
    across, up = told["axes"]
    scale = float(told["expression"].split(" * ")[0])
    for column, row in ((0, 0), (2, 3), (4, 4)):
        K = gaussian(x, x, scale, across[column]) + up[::-1][row] * np.eye(12)
        known = -0.5 * y @ np.linalg.solve(K, y) - 0.5 * np.linalg.slogdet(K)[1] - 6 * np.log(2 * np.pi)
        shown = unpacked(told["surface"])[row, column]
        assert shown == pytest.approx(max(known, told["evidence"] - 200.0), rel=1e-4)
    assert unpacked(told["surface"]).max() <= told["evidence"] + 1e-3
    assert told["here"] == pytest.approx([1.2, 0.05])


@pytest.mark.parametrize("change", [{}, {"fit": True}])
def test_what_is_copied_gives_the_same_numbers(tmp_path, change):
    told = observe({**ASKED, **change})
    # a search ends where its slope is below 1e-4, from the same start by the same steps
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)
    columns = command_output(told["command"], tmp_path)["columns"]
    assert columns["prediction"] == pytest.approx(told["mean"], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("two", [("kernel__length_scale", "noise"), ("noise", "scale")])
def test_what_is_copied_of_the_surface_gives_the_same_numbers(tmp_path, two):
    told = evidence({**ASKED, "first": two[0], "second": two[1], "side": 5})
    assert told["numbers"][1:] == pytest.approx(unpacked(told["surface"]).ravel(), rel=1e-6)
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9)
    assert command_output(told["command"], tmp_path)["kernel"] == told["expression"]


def test_the_copy_of_a_prior(tmp_path):
    told = observe({**ASKED, "points": []})
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], abs=1e-12)
    assert "mercer gram places.csv" in told["command"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"points": [], "fit": True}, "observations"),
        ({"noise": 0.0}, "noise"),
        ({"draws": 99}, "draws"),
    ],
)
def test_what_is_wrong_is_said(change, word):
    with pytest.raises(ParameterError, match=word):
        observe({**ASKED, **change})


def test_a_surface_needs_two_parameters():
    with pytest.raises(ParameterError, match="twice"):
        evidence({**ASKED, "first": "noise", "second": "noise", "side": 5})
    with pytest.raises(ParameterError, match="Click"):
        evidence({**ASKED, "points": POINTS[:1], "first": "scale", "second": "noise", "side": 5})
