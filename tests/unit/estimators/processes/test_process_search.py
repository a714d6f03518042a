"""Where the search of a Gaussian process begins, and that it does not end on a plateau."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.domains import Vectors
from mercer.estimators.processes.gaussian_process import GaussianProcessRegressor
from mercer.estimators.processes.process_evidence import Observations
from mercer.kernels import Gaussian


def test_a_start_without_a_slope_is_no_end():
    """All samples are far from each other at the start: the evidence is that of white noise, and nearly flat."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 32))
    y = np.sin(Z[:, 0]) + 0.5 * Z[:, 1]
    near = GaussianProcessRegressor(1.0 * Gaussian(6.0), 0.1).fit(Z, y)
    for length in (1.0, 0.3):  # of which the second has no slope at all
        far = GaussianProcessRegressor(1.0 * Gaussian(length), 0.1).fit(Z, y)
        assert far.log_marginal_likelihood_ > near.log_marginal_likelihood_ - 0.1
    assert near.log_marginal_likelihood_ > Observations.of(Vectors.pack(Z), y - y.mean()).white() + 10.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # where is told by other tests
def test_length_scales_of_many_columns_are_at_least_as_good_as_one():
    """One for all is a case of one for each, also where lengths of one make all samples strangers to each other."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(150, 40))
    y = np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2] + Z[:, 3] + 0.3 * rng.normal(size=150)
    one = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1).fit(Z, y)
    each = GaussianProcessRegressor(1.0 * Gaussian((1.0,) * 40), 0.1).fit(Z, y)
    assert each.log_marginal_likelihood_ > one.log_marginal_likelihood_ - 0.1


def test_a_noise_that_vanishes_on_some_samples_is_found_on_all(monkeypatch):
    """The samples with which the search begins are interpolated; those of all must not inherit a noise of zero."""
    rng = np.random.default_rng(0)
    Z = np.sort(rng.uniform(-3.0, 3.0, size=200))[:, None]
    noise = 0.3 * rng.normal(size=200)
    noise[np.random.RandomState(0).permutation(200)[:50]] = 0.0
    y = np.sin(2.0 * Z[:, 0]) + noise
    plain = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1).fit(Z, y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 100)
    quick = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1).fit(Z, y)
    assert quick.log_marginal_likelihood_ > plain.log_marginal_likelihood_ - 0.1


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning"
)  # noise at its bound
def test_all_samples_say_which_hill_is_the_highest(monkeypatch):
    """Every row is there twice with one target, so that there is no noise; the quarter looked at first has no pair."""
    rng = np.random.default_rng(0)
    order = np.random.RandomState(0).permutation(120)
    Z, y = np.empty((120, 2)), np.empty(120)
    Z[order], y[order] = np.tile(rng.normal(size=(60, 2)), (2, 1)), np.tile(rng.normal(size=60), 2)
    y += 2.0 * Z[:, 0]
    plain = GaussianProcessRegressor().fit(Z, y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 100)
    quick = GaussianProcessRegressor().fit(Z, y)
    assert quick.log_marginal_likelihood_ > plain.log_marginal_likelihood_ - 0.1


def test_a_bound_at_the_optimum_is_told():
    Z = np.linspace(0.0, 6.0, 40)[:, None]
    y = np.sin(Z[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    with pytest.warns(ConvergenceWarning, match="bound of kernel__length_scale = 0.5"):
        GaussianProcessRegressor(1.0 * Gaussian(0.3), bounds={"kernel__length_scale": (0.1, 0.5)}).fit(Z, y)


def test_the_size_of_a_kernel_finds_the_unit_of_y():
    """The start is a millionth, or a million times, of what is needed: white noise with no slope in the size."""
    Z = np.linspace(0.0, 6.0, 60)[:, None]
    y = np.sin(2.0 * Z[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    near = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(Z, y)
    for a in (1e-6, 1e6):
        far = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(Z, a * y)
        assert np.isclose(far.kernel_.scale / a**2, near.kernel_.scale, rtol=1e-2)
        assert np.allclose(far.predict(Z) / a, near.predict(Z), atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_length_scales_of_all_columns_reach_what_they_reach_from_the_start(seed, monkeypatch):
    """Of many parameters a quarter of the samples has optima of its own, from which that of all is not reached."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(120, 6))
    y = np.tanh(Z @ rng.normal(size=(6, 20)) / np.sqrt(6.0)) @ rng.normal(size=20)
    y += 0.1 * y.std() * rng.normal(size=120)
    plain = GaussianProcessRegressor(1.0 * Gaussian((1.0,) * 6), 0.1).fit(Z, y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 100)
    many = GaussianProcessRegressor(1.0 * Gaussian((1.0,) * 6), 0.1).fit(Z, y)
    assert many.log_marginal_likelihood_ > plain.log_marginal_likelihood_ - 1e-2


def test_what_is_white_noise_to_some_samples_is_not_so_to_all(monkeypatch):
    """Signal in those samples only that the search does not begin with."""
    rng = np.random.default_rng(0)
    Z = np.sort(rng.uniform(-3.0, 3.0, size=200))[:, None]
    y = np.sin(2.0 * Z[:, 0])
    some = np.random.RandomState(0).permutation(200)[:50]
    y[some] = rng.normal(size=50)
    plain = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1, random_state=0).fit(Z, y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 100)
    quick = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1, random_state=0).fit(Z, y)
    assert quick.log_marginal_likelihood_ > plain.log_marginal_likelihood_ - 1e-2
