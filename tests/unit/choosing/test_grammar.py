"""Composed kernels: the expression that made the data is found, and its parts add up."""

import numpy as np
import pytest

from mercer.choosing import compose_kernel
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Linear, Periodic


def wave(n=24, seed=0):
    x = np.linspace(0.0, 3.0, n)[:, None]
    noise = 0.05 * np.random.default_rng(seed).normal(size=n)
    return x, 2.0 * x[:, 0] + np.sin(2.0 * np.pi * x[:, 0]) + noise


@pytest.fixture(scope="module")
def found():
    return compose_kernel(*wave(), [Linear(), Periodic(1.0)], depth=2)


def test_a_trend_and_a_season_are_found(found):
    assert sorted(type(term.kernel).__name__ for term in found.terms()) == ["Linear", "Periodic"]
    values = [value for _, value in found.steps]
    assert values == sorted(values) and found.value == values[-1]
    assert found.value >= max(value for _, value in found.tried) - 0.5


def test_parts_add_up_to_the_prediction(found):
    x, _ = wave()
    parts = found.parts(x)
    assert len(parts) == 3
    np.testing.assert_allclose(sum(parts.values()), found.process.predict(x), atol=1e-8)
    trend = next(values for name, values in parts.items() if "Linear" in name)
    line = np.polynomial.Polynomial.fit(x[:, 0], trend, 1)(x[:, 0])
    np.testing.assert_allclose(trend, line, atol=1e-6)  # what the linear kernel contributes is linear


def test_budgets_keep_what_was_found():
    short = compose_kernel(*wave(), [Linear(), Gaussian(1.0)], depth=3, max_fits=1)
    assert not short.complete and len(short.tried) == 1
    told = []

    def stop(expression, value):
        told.append(expression)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # nothing is known yet
        compose_kernel(*wave(), [Linear()], progress=stop)
    assert len(told) == 1


@pytest.mark.parametrize("criterion", ["evidence", "loo"])
def test_other_criteria(criterion):
    one = compose_kernel(*wave(25), [Linear(), Gaussian(0.5)], criterion=criterion, depth=1)
    assert "Gaussian" in repr(one.kernel)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="criterion"):
        compose_kernel(*wave(), [Linear()], criterion="luck")
    with pytest.raises(ParameterError, match="bases"):
        compose_kernel(*wave(), [])


def test_shares_of_the_terms_add_up():
    t = np.linspace(0.0, 4.0, 24)[:, None]
    y = t[:, 0] + np.sin(2.0 * np.pi * t[:, 0])
    found = compose_kernel(t, y, [Linear(), Periodic(1.0)], depth=2, max_fits=6)
    shares = found.shares(t)
    assert len(shares) == len(found.terms()) and sum(shares.values()) == pytest.approx(1.0)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    parts = found.parts(t)
    f = sum(parts[name] for name in shares)
    name = next(iter(shares))
    assert shares[name] == pytest.approx(np.cov(parts[name], f)[0, 1] / np.var(f, ddof=1))


@pytest.mark.parametrize("wrong", [{"bases": []}, {"bases": "ab"}, {"depth": 0}, {"max_fits": 0}, {"criterion": "aic"}])
def test_arguments_are_checked_first(wrong):
    given = {"X": None, "y": None, "bases": [Gaussian(1.0)], **wrong}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        compose_kernel(**given)


@pytest.mark.parametrize("labels", [["in", "out"], [0.0, 1.0], ["a", "b", "c"]], ids=["texts", "numbers", "three"])
def test_classes(labels):
    """Latent functions of classes are in parts too; the inner ring needs more than a line."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (30, 1))
    y = np.array(labels)[np.digitize(np.abs(X[:, 0]), [0.7, 1.4][: len(labels) - 1])]
    found = compose_kernel(X, y, [Linear(), Gaussian(1.0)], classes=True, depth=1)
    assert "Gaussian" in repr(found.kernel)
    parts = found.parts(X)
    whole = np.asarray(found.process.expansion_(found.process.kernel_.pack(X)))
    np.testing.assert_allclose(sum(parts.values()), whole, atol=1e-9)
    assert sum(found.shares(X).values()) == pytest.approx(1.0)
    assert np.mean(found.process.predict(X) == y) > 0.85
    with pytest.raises(ParameterError, match="criterion='bic'"):
        compose_kernel(X, y, [Linear()], classes=True, criterion="loo")
