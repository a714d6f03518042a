"""Gower's and Hamming's similarities of rows of a table: pair by pair, with missing values, and in estimators."""

import numpy as np
import pandas as pd
import pytest

from mercer import SVC, load, save
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gower, Hamming
from mercer.language import parse
from mercer.testing import check_kernel

SIZES = ["S", "M", "L"]
rng = np.random.default_rng(0)
N = 25
FRAME = pd.DataFrame(
    {
        "age": np.where(rng.random(N) < 0.2, np.nan, rng.uniform(20, 80, N)),
        "pet": rng.choice(np.array(["cat", "dog", "owl", None], object), N),
        "size": pd.Categorical(rng.choice(SIZES, N), categories=SIZES, ordered=True),
        "zip": rng.integers(1, 4, N),
    }
)
MEMBERS = {
    "Gower": [
        Gower((2.0, 1.0)),
        Gower((2.0, 1.0), weights=(1.0, 3.0), missing="nothing"),
        Gower((2.0, 1.0), missing="skip"),
    ],
    "Hamming": [Hamming(), Hamming(weights=(2.0, 1.0), missing="nothing"), Hamming(missing="skip")],
}


def gower(x, z, ranges, missing, weights):
    """The definition, for a pair of rows."""
    total = norm = 0.0
    for (name, a), (_, b), r, w in zip(x.items(), z.items(), ranges, weights, strict=True):
        gone = [v is None or v != v for v in (a, b)]
        if any(gone):
            s = 1.0 if all(gone) and missing == "alike" else 0.0
            w = 0.0 if missing == "skip" else w
        elif name in ("pet", "zip"):
            s = float(a == b)
        elif name == "size":
            s = 1.0 - abs(SIZES.index(a) - SIZES.index(b)) / 2.0
        else:
            s = max(0.0, 1.0 - abs(a - b) / r)
        total, norm = total + w * s, norm + w
    return total / norm if norm else 0.0


@pytest.mark.parametrize("missing", ["alike", "nothing", "skip"])
def test_gower_agrees_with_the_definition(missing):
    weights = (2.0, 1.0, 0.5, 1.0)
    k = Gower((30.0, 1.0, 1.0, 1.0), weights=weights, missing=missing, categorical=("zip",))
    rows = FRAME.to_dict("records")
    expected = [[gower(x, z, k.ranges, missing, weights) for z in rows] for x in rows]
    np.testing.assert_allclose(k(FRAME), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(k(FRAME[:7], FRAME[7:]), np.array(expected)[:7, 7:], rtol=1e-13, atol=1e-15)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("missing", ["alike", "nothing"])
def test_is_positive_definite_with_values_beyond_the_range(missing):
    for k in (Gower((5.0, 1.0, 1.0, 1.0), missing=missing), Hamming(missing=missing)):
        assert k.order == 0
        assert np.linalg.eigvalsh(k(FRAME))[0] > -1e-12


def test_skipping_missing_values_is_indefinite_and_says_so():
    """Three rows of which each pair shares one column, in which two pairs are equal and one is not."""
    table = [["a", "b", None], ["a", None, "c"], [None, "x", "c"]]
    for k in (Hamming(missing="skip"), Gower((1.0,) * 3, missing="skip")):
        assert k.order is None
        assert np.linalg.eigvalsh(k(table))[0] == pytest.approx(1.0 - np.sqrt(2.0))


@pytest.mark.parametrize("k", [*MEMBERS["Gower"], *MEMBERS["Hamming"]], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, FRAME[["age", "pet"]])


def test_hamming_features_of_new_rows():
    k, old, new = Hamming(missing="nothing"), FRAME[["pet", "zip"]][:10], FRAME[["pet", "zip"]][10:]
    F, keys = k.features(old)
    G, _ = k.features(new, keys)
    np.testing.assert_allclose((G @ F.T).toarray(), k(new, old), rtol=1e-13, atol=1e-15)


def test_learns_ranges_and_predicts(tmp_path):
    y = (FRAME["pet"] == "cat").to_numpy()
    model = SVC(Gower(categorical=("zip",)), C=10.0).fit(FRAME, y)
    ages = FRAME["age"].dropna()
    assert model.kernel_.ranges[0] == ages.max() - ages.min() and model.kernel_.ranges[1:] == (1.0, 1.0, 1.0)
    assert model.score(FRAME, y) > 0.9
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict(FRAME), model.predict(FRAME))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="learned from training samples"):
        Gower()(FRAME)
    with pytest.raises(DomainError, match="2 ranges"):
        Gower((1.0, 1.0))(FRAME)
    with pytest.raises(DomainError, match="3 weights"):
        Hamming(weights=(1.0, 1.0, 1.0))(FRAME)
    with pytest.raises(ParameterError, match="categorical"):
        Gower(categorical="zip").check()
