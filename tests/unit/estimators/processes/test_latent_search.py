"""The objective of a latent factor model in units of its outputs."""

import numpy as np

from mercer import SemiparametricLatentFactor
from mercer.domains import Vectors
from mercer.estimators.processes.factor_evidence import FactorData
from mercer.estimators.processes.latent_search import Objective, ScaledObjective
from mercer.kernels import Gaussian, Sum

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(25, 1))
Y = np.column_stack([np.sin(X[:, 0]), 1e4 * np.cos(X[:, 0])]) + 0.1 * rng.normal(size=(25, 2)) * [1.0, 1e4]
KERNEL = Sum((Gaussian(1.0), Gaussian(2.0)))
UNIT = Y.std(axis=0)


def scaled():
    data = FactorData(Vectors.pack(X), Y - Y.mean(axis=0), np.ones(25))
    return ScaledObjective(Objective(data), UNIT, data.white())


def test_derivatives_are_those_of_the_scaled_numbers():
    objective = scaled()
    beside = {"mixing": rng.normal(size=(2, 2)), "noise": np.array([0.1, 0.2])}
    value, _, slopes = objective(KERNEL, beside)
    for name, slope in slopes.items():
        for place in np.ndindex(slope.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = {key: array.copy() for key, array in beside.items()}
                moved[name][place] += step
                ends.append(objective(KERNEL, moved)[0])
            assert np.isclose((ends[0] - ends[1]) / 2e-5, slope[place], rtol=1e-4, atol=1e-4)
    raw = {"mixing": beside["mixing"] * UNIT[:, None], "noise": beside["noise"] * UNIT**2}
    assert np.isclose(value - objective.base, objective.objective(KERNEL, raw)[0])
    for name, array in objective.inward(raw).items():
        assert np.allclose(array, beside[name])


def test_bounds_are_given_in_raw_units():
    found = scaled().bounds({"noise": (1.0, 4.0), "mixing[3]": (-1.0, 2.0), "0__length_scale": (0.1, 1.0)}, 2)
    assert np.allclose(found["noise[1]"], np.array([1.0, 4.0]) / UNIT[1] ** 2)
    assert np.allclose(found["mixing[3]"], np.array([-1.0, 2.0]) / UNIT[1]) and found["0__length_scale"] == (0.1, 1.0)


def test_outputs_of_different_units_are_fitted_as_well_as_of_one():
    plain = SemiparametricLatentFactor().fit(X, Y / [1.0, 1e4])
    mixed = SemiparametricLatentFactor().fit(X, Y)
    assert np.allclose(mixed.predict(X) / [1.0, 1e4], plain.predict(X), atol=1e-3)
    assert np.allclose(mixed.noise_ / [1.0, 1e8], plain.noise_, rtol=1e-2)
    assert np.isclose(mixed.tuned_.value, -mixed.log_marginal_likelihood_)


def test_what_is_held_is_as_it_was_given():
    mixing = np.array([[0.3], [0.7e4]])
    model = SemiparametricLatentFactor(n_factors=1, mixing=mixing, fixed=("mixing",)).fit(X, Y)
    assert np.array_equal(model.mixing_, mixing)
