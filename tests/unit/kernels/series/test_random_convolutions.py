"""Random convolutions: against NumPy's, the same for every call, and useful."""

import numpy as np
import pytest

from mercer import KernelRidge, load, save
from mercer.domains import Sequences
from mercer.errors import ParameterError
from mercer.kernels import RandomConvolutions
from mercer.kernels.series import random_convolutions as module
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
SERIES = [rng.normal(size=(n, 2)) for n in (5, 20, 30, 30)]
MEMBERS = {"RandomConvolutions": [RandomConvolutions(20), RandomConvolutions(15, standardise=False, length=4)]}


def shares(x, patterns):
    """The share of places above the bias, by np.convolve of stretched patterns on padded series."""
    found = []
    for width, dilation, pad, bias, weights in zip(*patterns, strict=True):
        total = bias
        for k, w in enumerate(weights[:, :width]):
            stretched = np.zeros((width - 1) * dilation + 1)
            stretched[::dilation] = w
            padded = np.concatenate([np.zeros(pad), x[:, k], np.zeros(pad)])
            if len(padded) < len(stretched):
                padded = np.concatenate([padded, np.zeros(len(stretched) - len(padded))])
            total = total + np.convolve(padded, stretched[::-1], mode="valid")
        found.append(np.mean(total > 0.0))
    return found


def test_agrees_with_convolutions():
    k = RandomConvolutions(60, standardise=False).learn(SERIES)
    assert k.length == 25
    S = Sequences.pack(SERIES)
    np.testing.assert_allclose(k._shares(S), [shares(x, k._patterns(2)) for x in SERIES], rtol=1e-12)


def test_features_are_standardised_on_the_training_series():
    k = RandomConvolutions(60).learn(SERIES)
    F, _ = k.features(SERIES)
    np.testing.assert_allclose(F.mean(axis=0), 0.0, atol=1e-12)
    varied = F.std(axis=0) > 0
    np.testing.assert_allclose(F.std(axis=0)[varied] * np.sqrt(60), 1.0, rtol=1e-9)
    np.testing.assert_allclose(F @ F.T, k(SERIES), atol=1e-12)


@pytest.mark.parametrize("k", MEMBERS["RandomConvolutions"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k.learn(SERIES), SERIES)


def test_scale_and_level_do_not_count_if_standardised():
    k = RandomConvolutions(40).learn(SERIES)
    np.testing.assert_allclose(k([3.0 * x - 7.0 for x in SERIES], SERIES), k(SERIES), atol=1e-9)
    assert np.isfinite(k([np.ones((9, 2))], SERIES)).all()


def test_learns_frequencies_and_is_saved(tmp_path):
    draws = np.random.default_rng(1)
    t = np.arange(50.0)
    y = np.repeat([-1.0, 1.0], 15)
    X = [np.sin((0.3 if v < 0 else 0.6) * t + draws.uniform(0, 6)) + 0.3 * draws.normal(size=50) for v in np.tile(y, 2)]
    model = KernelRidge(RandomConvolutions(200), alpha=1.0).fit(X[:30], y)
    assert np.mean(np.sign(model.predict(X[30:])) == y) >= 0.9
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_must_be_learned():
    with pytest.raises(ParameterError, match="not fitted"):
        RandomConvolutions(10)(SERIES)
    with pytest.raises(ParameterError, match="moments"):
        RandomConvolutions(3, moments=np.zeros((2, 3))).check()


def test_loops_run_uncompiled():
    k = RandomConvolutions(3, length=6)
    x, out = np.array([[1.0], [-1.0], [2.0], [0.5]]), np.empty((1, 3))
    module._convolve_all.py_func(x, np.array([0, 4]), k._patterns(1), out)
    np.testing.assert_allclose(out[0], shares(x, k._patterns(1)))
