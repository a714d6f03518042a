"""Conditional independence: the definition, level and power."""

import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Nystrom, Tiles
from mercer.inference.conditional_test import conditional_independence_test as judged
from mercer.kernels import Gaussian, Match, NegativeDistance

K = Gaussian(1.0)


def draw(seed, n=100, strength=0.0):
    rng = np.random.default_rng(seed)
    z, e, f = rng.normal(size=(3, n))
    x = z + 0.5 * e
    return x, np.sin(z) + 0.5 * f + strength * e, z


def test_definition():
    x, y, z = draw(0, 30)
    n, ridge = 30, 0.4
    P = np.eye(n) - 1.0 / n
    Kx, Ky, Kz = (K(v[:, None]) for v in (x, y, z))
    R = ridge * np.linalg.inv(P @ Kz @ P + ridge * np.eye(n))
    A, B = R @ P @ (Kx * Kz) @ P @ R, R @ P @ Ky @ P @ R
    result = judged(x, y, z, (K, K, K), ridge=ridge, null="gamma")
    assert result.statistic == pytest.approx(np.trace(A @ B) / n**2, rel=1e-8)
    assert result.null.mean == pytest.approx(np.sum(np.diag(A) * np.diag(B)) / n**2, rel=1e-8)
    drawn = judged(x, y, z, (K, K, K), 20_000, 0, ridge=ridge)
    assert drawn.null.mean == pytest.approx(result.null.mean, rel=0.02)
    assert drawn.null.std == pytest.approx(result.null.std, rel=0.05)
    assert drawn.p_value == pytest.approx(result.p_value, abs=0.05)


def test_level_and_power():
    independent = [judged(*draw([1, seed]), null="gamma").p_value for seed in range(150)]
    assert np.sum(np.array(independent) <= 0.05) <= 17  # above it with probability 0.001 at 5 %
    other = [judged(*draw([2, seed], strength=0.4), null="gamma").p_value for seed in range(20)]
    assert np.sum(np.array(other) <= 0.05) >= 15


@pytest.mark.parametrize("gram", [Nystrom(60), 60], ids=repr)
@pytest.mark.parametrize("ridge", [None, 0.4])
def test_factors_of_full_rank(gram, ridge):
    data = draw(0, 60, 0.3)
    whole = judged(*data, (K, K, K), null="gamma", ridge=ridge)
    found = judged(*data, (K, K, K), null="gamma", ridge=ridge, gram=gram)
    assert found.statistic == pytest.approx(whole.statistic, rel=1e-5)
    assert found.null.mean == pytest.approx(whole.null.mean, rel=1e-5)
    assert found.null.std == pytest.approx(whole.null.std, rel=1e-5)
    drawn = judged(*data, (K, K, K), 20_000, 0, ridge=ridge, gram=gram)
    assert drawn.null.mean == pytest.approx(whole.null.mean, rel=0.02)
    assert drawn.null.std == pytest.approx(whole.null.std, rel=0.05)


def test_level_and_power_of_low_rank():
    independent = [judged(*draw([1, seed]), null="gamma", gram=15).p_value for seed in range(60)]
    assert np.sum(np.array(independent) <= 0.05) <= 9  # above it with probability 0.001 at 5 %
    other = [judged(*draw([2, seed], strength=0.4), None, 100, seed, gram=15).p_value for seed in range(10)]
    assert np.sum(np.array(other) <= 0.05) >= 7


def test_labels():
    rng = np.random.default_rng(0)
    z = np.repeat(["a", "b"], 40)
    x = (z == "a") + 0.3 * rng.normal(size=80)
    y = (z == "a") + 0.3 * rng.normal(size=80)
    assert judged(x, y, z, (None, None, Match()), random_state=0).p_value > 0.05
    assert judged(x, y + x, z, (None, None, Match()), random_state=0).p_value < 0.01


def test_doors():
    x, y, z = draw(0, 20)
    with pytest.raises(ParameterError, match="ridge"):
        judged(x, y, z, ridge=0.0)
    with pytest.raises(ParameterError, match="null"):
        judged(x, y, z, null="permutation")
    with pytest.raises(CapabilityError, match="Nystrom"):
        judged(x, y, z, gram=Tiles())
    with pytest.raises(CapabilityError, match="positive definite"):
        judged(x, y, z, (NegativeDistance(1.0), K, K))
