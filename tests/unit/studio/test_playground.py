"""The playground against estimators called by hand, and its copies against what it shows."""

import base64

import numpy as np
import pytest

import mercer
from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.studio.playground import TASKS, details, parameters, play
from tests.unit.studio.copied import command_output, python_numbers

RNG = np.random.default_rng(5)
POINTS = [[round(float(x), 3), round(float(y), 3), int(x * y > 0)] for x, y in 2 * RNG.normal(size=(30, 2))]
ASKED = {"points": POINTS, "kernel": "Gaussian(1.5) + 0.1 * Linear()", "C": 2.0, "epsilon": 0.2, "nu": 0.3,
         "clusters": 3, "component": 2, "side": 12}  # fmt: skip


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), "<f4").reshape(packed["shape"])


def test_the_surface_is_the_decision_function():
    told = play({**ASKED, "task": "classes"})
    X, y = np.array(POINTS)[:, :2], np.array(["ab"[int(c)] for *_, c in POINTS])
    model = mercer.SVC(mercer.parse(ASKED["kernel"]), C=2.0).fit(X, y)
    step = 10.0 / 12
    for row, column in ((0, 0), (3, 7), (11, 11)):  # from the top left corner
        place = [[-5.0 + step * (column + 0.5), 5.0 - step * (row + 0.5)]]
        assert unpacked(told["surface"])[row, column, 0] == pytest.approx(model.decision_function(place)[0], rel=1e-5)
    assert sorted(told["support"]) == sorted(model.support_.tolist())
    margins = np.where(y == "b", 1, -1) * model.decision_function(X)
    assert told["violated"] == np.flatnonzero(margins < 1 - 1e-6).tolist()
    assert set(told["violated"]) <= set(told["support"])


def test_several_classes_have_a_function_each():
    points = [[x, y, code] for code, (x, y) in enumerate([(-3, 0), (3, 0), (0, 3)]) for x in (x, x + 0.5)]
    told = play({**ASKED, "task": "classes", "points": points})
    assert told["classes"] == ["a", "b", "c"] and unpacked(told["surface"]).shape == (12, 12, 3)
    assert unpacked(told["surface"])[6, 2].argmax() == 0 and unpacked(told["surface"])[6, 10].argmax() == 1


@pytest.mark.parametrize("task", TASKS)
def test_what_is_copied_gives_the_same_numbers(task, tmp_path):
    told = play({**ASKED, "task": task})
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)
    columns = command_output(told["command"], tmp_path)["columns"]
    name = {"classes": "score_b", "region": "score", "components": "component2"}.get(task, "prediction")
    assert columns[name] == pytest.approx(told["numbers"], rel=1e-9, abs=1e-9)


def test_details_are_those_of_the_kernel():
    told = details({**ASKED, "task": "region", "kernel": "Gaussian(1.5)"})
    X = np.array(POINTS)[:, :2]
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2 * 1.5**2))
    K = K if np.allclose(K, Gaussian(1.5)(X)) else np.asarray(Gaussian(1.5)(X))
    order = told["index"]
    assert sorted(order) == list(range(30))
    assert np.allclose(unpacked(told["gram"]), K[np.ix_(order, order)], atol=1e-6)
    assert np.allclose(told["spectrum"], np.linalg.eigvalsh(K)[::-1], atol=1e-9)
    assert np.shape(told["places"]) == (30, 2) and 0 < sum(told["shares"]) <= 1


def test_an_expression_becomes_blocks():
    told = parameters({"kernel": "2.0*Gaussian(1.0).on([0]) + Linear()**2"})
    scaled, power = told["blocks"]["parts"]
    assert told["expression"] == "2.0 * Gaussian(1.0).on([0]) + Linear() ** 2"
    assert scaled["parameters"] == {"scale": 2.0} and scaled["parts"][0]["parameters"] == {"columns": [0]}
    assert power["name"] == "Power" and power["parameters"] == {"exponent": 2}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"task": "other"}, "task"),
        ({"points": [[0, 0, 0], [1, 1, 9]]}, "class"),
        ({"points": [[0, 0, 0.5], [1, 1, 1]]}, "class"),
        ({"points": [[0, 0, 0], [1, 1, 0]]}, "one class"),
        ({"points": [[0, 0, 0]]}, "points"),
        ({"C": -1.0}, "C ="),
        ({"C": True}, "C ="),
        ({"side": 100000}, "side"),
        ({"kernel": "Spectrum(2)"}, "Strings"),
        ({"kernel": "SVC()"}, "kernel is needed"),
        ({"kernel": "__import__('os').system('true')"}, "was found"),
        ({"kernel": "open('x')"}, "open"),
        ({"kernel": "Gaussian(" * 60 + ")" * 60}, "Depth 51"),
        ({"kernel": "G" * 5000}, "characters"),
    ],
)
def test_what_is_wrong_is_said(change, word):
    with pytest.raises(ParameterError, match=word):
        play({**ASKED, "task": "classes", **change})


@pytest.mark.parametrize(("task", "change"), [("clusters", {"clusters": 6}), ("components", {"component": 6})])
def test_few_points_are_said(task, change):
    with pytest.raises(ParameterError, match="Add points"):
        play({**ASKED, "task": task, "points": POINTS[:3], **change})
