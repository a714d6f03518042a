"""A few sites carry a conditional random field: against minimisers over given sites, and the whole field."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelCRF, LabelSequences
from mercer.errors import CapabilityError
from mercer.estimators.structured.conditional_risk import conditional_risk
from mercer.estimators.structured.sample_spaces import SampleSpaces
from mercer.estimators.structured.structured_machine import Outputs
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
LENGTHS = (3, 1, 4, 0, 4, 5, 3)
X = [RNG.normal(size=(t, 2)) for t in LENGTHS]
Y = [(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5) for x in X]
FLAT = np.concatenate(X)
KERNEL = Gaussian(1.0)


def field(max_sites=None, **options):
    return KernelCRF(KERNEL, 2.0, outputs=LabelSequences(), max_sites=max_sites, **options).fit(X, Y)


def risk_of(model):
    space, codes = model.target_.read(Y)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    return conditional_risk(
        Outputs(codes, offsets, np.ones(len(X)), np.arange(len(X)), SampleSpaces(space)), model.C
    ), space


@pytest.fixture(scope="module")
def whole():
    return field()


@pytest.fixture(scope="module")
def few():
    return field(6, gram=Dense())


def test_the_function_is_the_best_on_its_sites(few):
    risk, space = risk_of(few)
    places = [LENGTHS[:i] for i, _ in few.sites_]
    sites = [sum(before) + t for before, (_, t) in zip(places, few.sites_, strict=True)]
    K = KERNEL(FLAT, FLAT)
    part, columns, D = K[np.ix_(sites, sites)], K[:, sites], space.width

    def objective(v):
        B, w = v[: 6 * D].reshape(6, D), v[6 * D :]
        value, by_values, by_weights = risk(columns @ B, w)
        slope = np.concatenate([(part @ B + columns.T @ by_values).ravel(), w + by_weights])
        return value + 0.5 * np.sum(B * (part @ B)) + 0.5 * w @ w, slope

    best = minimize(objective, np.zeros(6 * D + space.extras), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert few.objective_ == pytest.approx(best.fun, rel=1e-9)
    assert len(few.expansion_.samples) == 6
    np.testing.assert_allclose(few.expansion_.samples.X, FLAT[sites])


def test_the_first_site_has_the_largest_gradient():
    model = field(1)
    risk, space = risk_of(model)
    F, step = np.zeros((len(FLAT), space.width)), 1e-6
    K = KERNEL(FLAT, FLAT)
    falls = np.zeros(len(FLAT))
    for s in range(len(FLAT)):
        for d in range(space.width):
            changed = F.copy()
            changed[:, d] += step * K[:, s]
            falls[s] += ((risk(changed, np.zeros(9))[0] - risk(F, np.zeros(9))[0]) / step) ** 2
    sample, position = model.sites_[0]
    assert falls[sum(LENGTHS[:sample]) + position] == pytest.approx(falls.max(), rel=1e-4)


def test_the_gap_holds_and_all_sites_are_the_whole_field(whole):
    values = []
    for count in (2, 6, 12, 19):
        model = field(count)
        assert model.objective_ - model.gap_ <= whole.objective_ <= model.objective_ + 1e-9
        values.append(model.objective_)
    assert np.all(np.diff(values) < 0.0)
    assert field(20).objective_ == whole.objective_
    assert not hasattr(whole, "sites_")


def test_probabilities_and_best_outputs(few):
    one = X[:1]
    (best,) = few.k_best(one, 30)
    assert sum(np.exp(value) for _, value in best) == pytest.approx(1.0)
    table = np.zeros((3, 3))
    for y, value in best:
        table[np.arange(3), y] += np.exp(value)
    np.testing.assert_allclose(few.marginals(one)[0], table, atol=1e-12)
    assert few.log_probability(one, [best[2][0]])[0] == pytest.approx(best[2][1])
    classes = KernelCRF(KERNEL, max_sites=4).fit(FLAT, np.concatenate(Y))
    np.testing.assert_allclose(classes.predict_proba(FLAT).sum(axis=1), 1.0)


def test_products_suffice_and_weights_are_repetitions(few):
    np.testing.assert_allclose(field(6, gram=Tiles()).objective_, few.objective_, rtol=1e-8)
    w = [2, 0, 1, 1, 3, 1, 1]
    again = np.repeat(np.arange(len(X)), w)
    model = KernelCRF(KERNEL, outputs=LabelSequences(), max_sites=5)
    a = model.fit(X, Y, w).marginals(X)
    b = model.fit([X[i] for i in again], [Y[i] for i in again]).marginals(X)
    np.testing.assert_allclose(np.concatenate(a), np.concatenate(b), atol=1e-5)  # the descents end at 1e-8 of a slope


def test_more_sites_than_there_are_directions():
    model = KernelCRF(Linear(), outputs=LabelSequences(), max_sites=10).fit(X, Y)
    other = KernelCRF(Linear(), outputs=LabelSequences()).fit(X, Y)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)


def test_landmarks_twice_are_refused():
    with pytest.raises(CapabilityError, match="Leave one out"):
        field(3, gram=Nystrom(5))
