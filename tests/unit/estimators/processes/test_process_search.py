"""Where the search of a Gaussian process begins, and that it does not end on a plateau."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import GaussianProcessRegressor, SparseGaussianProcessRegressor
from mercer.domains import Vectors
from mercer.estimators.fits import Units, sizes, warn_of_search
from mercer.estimators.processes.process_evidence import DenseEvidence, Observations
from mercer.estimators.processes.process_search import (
    Coordinates,
    Remembering,
    coarse_starts,
    curvature,
    descend,
    limits_of,
    sized,
)
from mercer.kernels import Gaussian, Linear, Polynomial


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


# many samples, begun with few --------------------------------------------------------------------

RNG = np.random.default_rng(0)
MANY_X = RNG.uniform(-3.0, 3.0, size=(1000, 2))
MANY_Y = np.sin(MANY_X[:, 0]) + 0.5 * MANY_X[:, 1] + 0.1 * RNG.normal(size=1000)
SMALL = DenseEvidence(Observations.of(Vectors.pack(MANY_X[:80]), MANY_Y[:80]))
KERNEL = 1.5 * Gaussian(1.8)


def test_coordinates_move_what_is_not_held():
    at = Coordinates.of(KERNEL, 0.1, ("scale",))
    assert at.moves.tolist() == [False, True, True]
    kernel, noise = at.at(np.log([2.0, 0.3]))
    assert np.isclose(kernel.scale, 1.5) and np.isclose(kernel.kernel.length_scale, 2.0) and np.isclose(noise, 0.3)
    assert np.allclose(at.raw(np.log([2.0, 0.3])), [2.0, 0.3])


def test_gradient_and_curvature_are_differences_of_values():
    at = Coordinates.of(KERNEL, 0.05, ())
    center, h = at.theta, 1e-4
    g = at.evaluate(SMALL, center)[1]

    def f(*steps):
        return at.evaluate(SMALL, center + h * sum(np.eye(3)[i] * s for i, s in steps))[0]

    assert np.allclose(g, [(f((i, 1)) - f((i, -1))) / (2 * h) for i in range(3)], rtol=1e-4, atol=1e-3)
    H = np.array(
        [
            [
                (f((i, 1), (j, 1)) - f((i, 1), (j, -1)) - f((i, -1), (j, 1)) + f((i, -1), (j, -1))) / (4 * h * h)
                for j in range(3)
            ]
            for i in range(3)
        ]
    )
    values = np.linalg.eigvalsh(H)
    assert np.allclose(np.linalg.eigvalsh(curvature(SMALL, at)), np.sort(np.abs(values)), rtol=0.05, atol=0.1)


def test_no_evidence_is_a_wall():
    at = Coordinates.of(KERNEL, 0.05, ())

    def broken(kernel, noise, *, slopes=True):
        raise np.linalg.LinAlgError

    value, g = at.evaluate(broken, at.theta)
    assert value == np.inf and g.tolist() == [0.0, 0.0, 0.0]
    assert len(descend(broken, at, np.eye(3), 1e-6).values) == 1


def test_a_descent_goes_down_to_the_optimum():
    at = Coordinates.of(KERNEL, 0.05, ())
    found = descend(SMALL, at, curvature(SMALL, at), 1e-6)
    assert np.all(np.diff(found.values) < 0.0) and len(found.path) == len(found.values) == len(found.seconds)
    best = GaussianProcessRegressor(KERNEL, 0.05, tol=1e-8, normalize_y=False).fit(MANY_X[:80], MANY_Y[:80])
    assert np.isclose(-found.values[-1], best.log_marginal_likelihood_, atol=1e-3)
    stopped = descend(SMALL, at, curvature(SMALL, at), 1e-6, lambda step, slope: True)
    assert len(stopped.values) == 1


def test_what_was_computed_last_is_remembered():
    calls = []

    def evidence(kernel, noise, *, slopes=True):
        calls.append(noise)
        return object()

    known = Remembering(evidence)
    assert known(KERNEL, np.array(0.1)) is known(KERNEL, np.array(0.1)) and len(calls) == 1
    known(KERNEL, np.array(0.2))
    assert len(calls) == 2


def test_a_search_that_begins_with_few_ends_where_one_on_all_does(monkeypatch):
    quick = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(MANY_X, MANY_Y)
    monkeypatch.setattr("mercer.estimators.processes.process_search._MANY", 10**9)
    plain = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(MANY_X, MANY_Y)
    assert quick.tuned_.evaluations < plain.tuned_.evaluations
    assert np.isclose(quick.log_marginal_likelihood_, plain.log_marginal_likelihood_, atol=1e-3)
    assert np.allclose(quick.theta_, plain.theta_, atol=0.02)
    assert quick.tuned_.path.shape == (len(quick.tuned_.values), 3)


# units of y: against brute force, and in units that differ ---------------------------------------

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
    large = sized(units, kernel, S)
    assert np.isclose(np.mean(np.diag(large(X))), units.variance)
    assert sized(units, Gaussian(1.0), S) is None and sized(units, kernel, S, ("0__scale", "1__scale")) is None
    low, high = limits_of(units, 1.0 * Gaussian(1.0))["scale"]
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
    other = one.shifted(1.0)
    assert np.isclose(other.value, one.value + 1.0) and np.isclose(other.values[-1], one.values[-1] + 1.0)
    both = other.better(one)
    assert both.value == one.value and both.evaluations == 2 * one.evaluations and len(both.starts) == 2
    held, moved = one.moved()
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
