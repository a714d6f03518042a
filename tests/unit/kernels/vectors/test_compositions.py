"""Compositions: only ratios count."""

import mpmath
import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.kernels import Aitchison
from mercer.testing import check_kernel

rng = np.random.default_rng(1)
X = rng.dirichlet(np.ones(4), size=12)
MEMBERS = {"Aitchison": [Aitchison(offset=0.25), Aitchison(0.8, offset=0.25)]}


def _centred(x):
    logs = [mpmath.log(value) for value in x]
    return [value - mpmath.fsum(logs) / len(logs) for value in logs]


def gaussian(x, z):
    return mpmath.exp(-mpmath.fsum((a - b) ** 2 for a, b in zip(_centred(x), _centred(z), strict=True)) / 2)


TWINS = {
    "Aitchison": {
        "kernel": Aitchison(1.0),
        "formula": gaussian,
        "signed": False,
        "size": lambda x, z, value: mpmath.mpf(1),
    }
}


def test_the_distance_is_that_of_all_log_ratios():
    """Aitchison's distance: the sum over pairs of parts of squared differences of log ratios, over d."""
    ratios = np.log(X[:, :, None] / X[:, None, :])
    expected = ((ratios[:, None] - ratios[None]) ** 2).sum(axis=(2, 3)) / (2 * X.shape[1])
    np.testing.assert_allclose(Aitchison().distance(X) ** 2, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(-2.0 * np.log(Aitchison(1.0)(X)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", MEMBERS["Aitchison"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, X)


def test_multiples_are_the_same_composition():
    np.testing.assert_allclose(Aitchison()(X * rng.uniform(0.1, 9.0, size=(12, 1)), X), Aitchison()(X), atol=1e-12)


def test_zero_parts_need_an_offset():
    zero = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    with pytest.raises(DomainError, match=r"row 0, column 2; .* offset"):
        Aitchison()(zero)
    assert np.isfinite(Aitchison(offset=0.01)(zero)).all()
