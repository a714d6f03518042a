"""The minimum of a model of tangents, against a closed form, and forgetting."""

import numpy as np
import pytest

from mercer.solvers.rows import tangents as module
from mercer.solvers.rows.tangents import Tangents


def test_the_minimum_of_a_model():
    # |w|^2 / 2 + max(0, 2 - 2 w_1, 1 - w_2): the first two tangents alone have w_1 = 1
    model = Tangents(2, beside=1)
    model.add(np.zeros(2), 0.0, [5.0])
    model.add(np.array([2.0, 0.0]), 2.0, [7.0])
    w, beside = model.minimum()
    np.testing.assert_allclose(w, [1.0, 0.0], atol=1e-12)
    assert beside == pytest.approx(5.0 * 0.5 + 7.0 * 0.5) and model.lower == pytest.approx(0.5)
    model.add(np.array([0.0, 1.0]), 1.0, [0.0])
    w, _ = model.minimum()
    # the multipliers a of the last two minimise (2 a)^2 / 2 + b^2 / 2 - 2 a - b, a + b <= 1: a = 2 / 5, b = 3 / 5
    np.testing.assert_allclose(w, [0.8, 0.6], atol=1e-12)
    assert model.lower == pytest.approx(2 * 0.4 + 0.6 - 0.5)


def test_idle_tangents_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_IDLE", 3)
    model = Tangents(1)
    for offset in (1.0, 2.0, 3.0):  # parallel: the last is above the others
        model.add(np.array([1.0]), offset)
    for _ in range(4):
        w, _ = model.minimum()
        np.testing.assert_allclose(w, [1.0], atol=1e-12)
    assert len(model.offsets) == len(model.planes) == len(model.products) == 1
    assert model.lower == pytest.approx(2.5)
