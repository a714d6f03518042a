"""What a search knows of the units of y: against brute force, and in units that differ."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import GaussianProcessRegressor, SparseGaussianProcessRegressor
from mercer.domains import Vectors
from mercer.estimators.processes.process_evidence import DenseEvidence, Observations
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.selection.units import Units, better, coarse_starts, moved_parameters, shifted, sizes, warn_of_search

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(50, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=50)
W = rng.integers(1, 4, size=50).astype(float)
S = Vectors.pack(X)


def test_mean_and_variance_with_weights_and_gaps():
    y = np.column_stack([Y, 3.0 * Y + 7.0])
    again = np.repeat(np.arange(50), W.astype(int))
    units = Units.of(y, W)
    assert np.allclose(units.mean, y[again].mean(axis=0)) and np.allclose(units.variances, y[again].var(axis=0))
    y[:5, 1] = np.nan
    gaps = Units.of(y, W)
    assert np.isclose(gaps.mean[1], 3.0 * gaps.mean[0] + 7.0)
    assert np.allclose(gaps.variances, np.nanmean((y[again] - gaps.mean) ** 2, axis=0))
    apart = Units.of(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 5.0], [np.nan, 9.0]]), np.ones(4))
    assert np.allclose(apart.mean, [2.0, 7.0]) and np.allclose(apart.variances, [1.0, 4.0])
    about_zero = Units.of(y[:, :1], W, centred=False)
    assert about_zero.mean == 0.0 and np.isclose(about_zero.variance, np.mean(Y[again] ** 2))


@pytest.mark.parametrize("a", [1e-150, 1e-12, 1e12, 1e150])
def test_units_of_small_and_large_numbers(a):
    units = Units.of(a * Y[:, None] + 1e6 * a, np.ones(50))
    assert np.isclose(units.variance / a / a, Y.var(), rtol=1e-8)
    assert np.isclose(units.noise() / a / a, 0.1 * Y.var(), rtol=1e-8) and units.noise(0.3) == 0.3


def test_equal_targets_have_the_unit_one():
    assert Units.of(np.full((9, 1), 1e9 / 3.0), np.ones(9)).variance == 1.0
    assert Units.of(np.zeros((3, 1)), np.ones(3)).variance == 1.0


def test_what_multiplies_a_kernel():
    assert sizes(Gaussian(2.0)) == {}
    assert sizes(2.0 * Gaussian(1.0) * (3.0 * Linear()) + Polynomial(2)) != {}
    kernel = 2.0 * Gaussian(1.0) + 3.0 * Linear()
    assert sizes(kernel) == {"0__scale": 2.0, "1__scale": 3.0}
    units = Units.of(1e5 * Y[:, None], np.ones(50))
    sized = units.sized(kernel, S)
    assert np.isclose(np.mean(np.diag(sized(X))), units.variance)
    assert units.sized(Gaussian(1.0), S) is None and units.sized(kernel, S, ("0__scale", "1__scale")) is None
    low, high = units.limits(1.0 * Gaussian(1.0))["scale"]
    assert low < 1.0 and high >= 1e5 * units.variance


@pytest.mark.parametrize("mean", ["none", "constant", "linear"])
def test_white_noise_is_the_limit_of_no_kernel(mean):
    border = {"none": np.zeros((50, 0)), "constant": np.ones((50, 1)), "linear": np.column_stack([np.ones(50), X])}
    pattern = rng.uniform(0.5, 2.0, size=50)
    observed = Observations.of(S, Y, W, border[mean])
    for noise in (np.ones(50), pattern):
        found = observed.white(noise)
        scales = np.exp(np.linspace(-3.0, 3.0, 601))
        values = [DenseEvidence(observed)(1e-14 * Gaussian(1.0), c * noise, slopes=False).value for c in scales]
        assert max(values) <= found + 1e-6 and np.isclose(max(values), found, atol=1e-2)
    assert Observations.of(S, np.zeros(50)).white() == -np.inf


def test_the_hills_of_the_grid_hold_the_best_place_of_a_search():
    w = np.ones(50)
    units = Units.of(Y[:, None], w)
    kernel, z = units.variance * Gaussian(2.0), Y[:, None] - units.mean
    starts = coarse_starts(kernel, S, z, w, units)
    evidence = DenseEvidence(Observations.of(S, z))
    values = [evidence(k, np.asarray(noise), slopes=False).value for k, noise in starts]
    best = GaussianProcessRegressor(restarts=5).fit(X, Y).log_marginal_likelihood_
    # neighbours on the grid are factors of 2 and 10 apart, and the log evidence is curved by about n / 2 at most
    assert 1 <= len(starts) <= 3 and values[0] == max(values)
    assert values[0] > best - 0.25 * 50 * (np.log(2.0) ** 2 + np.log(10.0) ** 2) / 4.0
    larger = coarse_starts(1e6 * units.variance * Gaussian(2.0), S, 1e3 * z, w, Units.of(1e3 * Y[:, None], w))
    assert np.allclose([noise for _, noise in larger], [1e6 * noise for _, noise in starts])


def test_a_sample_of_weight_w_is_w_copies_on_the_grid():
    again = np.repeat(np.arange(50), W.astype(int))
    units = Units.of(Y[:, None], W)
    kernel, z = units.variance * Gaussian(2.0), Y[:, None] - units.mean
    one = coarse_starts(kernel, S, z, W, units)
    two = coarse_starts(kernel, Vectors.pack(X[again]), z[again], np.ones(len(again)), units)
    for (k, noise), (other, same) in zip(one, two, strict=True):
        assert np.isclose(k.scale, other.scale) and k.kernel == other.kernel and np.isclose(noise, same)


def test_two_searches_and_a_shift():
    one = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, Y).tuned_
    other = shifted(one, 1.0)
    assert np.isclose(other.value, one.value + 1.0) and np.isclose(other.values[-1], one.values[-1] + 1.0)
    both = better(other, one)
    assert both.value == one.value and both.evaluations == 2 * one.evaluations and len(both.starts) == 2
    held, moved = moved_parameters(one)
    assert held == {} and set(moved) == {"scale", "kernel__length_scale", "noise"}


def test_warnings_name_the_parameter():
    kernel = 1.0 * Gaussian(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_search({}, {"scale": 1.0}, 3.0, kernel)
    with pytest.warns(ConvergenceWarning, match="bound of noise = 1e-08"):
        warn_of_search({"noise": 1e-8}, {"noise": 1e-8}, 3.0, kernel)
    with pytest.warns(ConvergenceWarning, match="white noise.*kernel__length_scale = 1"):
        warn_of_search({}, {"kernel__length_scale": 1.0}, 0.0, kernel)
    with pytest.warns(ConvergenceWarning, match="no size of its own"):
        warn_of_search({}, {"length_scale": 1.0}, -1.0, Gaussian(1.0))


@pytest.mark.parametrize("machine", [GaussianProcessRegressor, SparseGaussianProcessRegressor])
def test_what_fits_nothing_is_told(machine):
    nothing = 1.0 * Gaussian(1e-6)  # K is a multiple of the identity
    with pytest.warns(ConvergenceWarning, match="white noise.*scale = "):
        machine(nothing, fixed=("kernel__length_scale",)).fit(X, Y)


def test_numbers_that_are_given_keep_their_unit():
    kernel, noise = 2.0 * Gaussian(1.0), 0.3
    model = GaussianProcessRegressor(kernel, noise, fixed="all", normalize_y=True).fit(X, 1e3 + Y)
    G, k = kernel(X) + noise * np.eye(50), kernel(X[:5] + 0.1, X)
    centre = np.mean(1e3 + Y)
    assert np.allclose(model.predict(X[:5] + 0.1), centre + k @ np.linalg.solve(G, 1e3 + Y - centre), rtol=1e-10)
    assert model.kernel_ == kernel and model.noise_ == noise
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * G)[1] + (1e3 + Y - centre) @ np.linalg.solve(G, 1e3 + Y - centre))
    assert np.isclose(model.log_marginal_likelihood_, value)


@pytest.mark.parametrize(("a", "b"), [(1.0, 100.0), (1e-6, 0.0), (1e6, -1e7)])
def test_given_kernels_work_on_raw_targets(a, b):
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, a * Y + b)
    assert model.score(X, a * Y + b) > 0.9
    if a == 1.0:
        assert GaussianProcessRegressor(Gaussian(1.0)).fit(X, a * Y + b).score(X, a * Y + b) > 0.9
