"""Hidden Markov models of series: against sums over hidden paths, finite differences, mixtures of normals."""

import warnings

import numpy as np
import pytest

from mercer.domains.sequences import Sequences
from mercer.errors import ConvergenceWarning, DomainError, ParameterError
from mercer.models import GaussianMixture
from mercer.models.gaussian_hidden_markov import GaussianHiddenMarkovModel
from tests.naive.models import differences, likelihood, softmax

NAN = np.nan
SERIES = [
    np.array([[0.1, 0.2], [1.5, -1.0], [0.3, 0.0]]),
    np.array([[2.0, NAN]]),
    np.array([[NAN, NAN], [0.5, 0.5], [NAN, -0.3], [1.0, 1.0]]),
]


def model(**options):
    rng = np.random.default_rng(5)
    return GaussianHiddenMarkovModel(
        2,
        start=rng.dirichlet(np.ones(2)),
        transitions=rng.dirichlet(np.ones(2), 2),
        means=rng.normal(size=(2, 2)),
        deviations=rng.uniform(0.5, 1.5, (2, 2)),
        **options,
    ).check()


def rows(m, x):
    """How likely each point is in each state: a product over the channels that are there."""
    mu, sigma = np.asarray(m.means), np.asarray(m.deviations)
    density = np.exp(-0.5 * ((x[:, None] - mu) / sigma) ** 2) / (np.sqrt(2.0 * np.pi) * sigma)
    return np.where(np.isnan(density), 1.0, density).prod(axis=2)


def test_likelihoods_are_sums_over_hidden_paths_of_what_is_there():
    m = model()
    expected = [likelihood(rows(m, x), m.start, m.transitions) for x in SERIES]
    np.testing.assert_allclose(np.exp(m.log_likelihood(m.pack(SERIES))), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(m.log_likelihood(m.pack(SERIES[:1]))), expected[:1], rtol=1e-12)
    shown = GaussianHiddenMarkovModel(
        2, start=(0.5, 0.5), transitions=((0.9, 0.1), (0.1, 0.9)), means=((0.0,), (3.0,)), deviations=((1.0,), (1.0,))
    )
    series = [np.array([0.1, 0.2, 2.9, 3.3])[:, None], np.array([0.0, NAN, 0.2])[:, None]]
    sums = [likelihood(rows(shown, x), shown.start, shown.transitions) for x in series]
    np.testing.assert_allclose(np.log(sums).round(3), [-6.917, -2.742])  # as the docstring says


@pytest.mark.parametrize("series", [SERIES, SERIES[:1]])
def test_scores_are_derivatives(series):
    m = model()
    S = m.pack(series)
    blocks = []
    for name in ("start", "transitions", "means", "deviations"):
        chain = name in ("start", "transitions")
        theta = np.asarray(getattr(m, name))

        def moved(values, name=name, chain=chain):
            return m.replace(**{name: softmax(values) if chain else values}).log_likelihood(S)

        blocks.append(differences(moved, np.log(theta) if chain else theta))
    np.testing.assert_allclose(m.scores(S), np.hstack(blocks), atol=1e-7)
    assert m.size == 2 + 4 + 8


def test_learning_never_makes_the_likelihood_smaller_and_finds_the_states():
    truth = GaussianHiddenMarkovModel(
        2,
        start=(0.5, 0.5),
        transitions=((0.95, 0.05), (0.1, 0.9)),
        means=((0.0, 5.0), (4.0, 5.0)),
        deviations=((1.0, 0.5), (0.5, 2.0)),
    )
    S = truth.sample(np.random.default_rng(1), 20, Sequences.pack([np.zeros((40, 2)), np.zeros((60, 2))]))
    values, learner = [], GaussianHiddenMarkovModel(2, pseudocount=0.0, tol=1e-7)
    step = learner._begin(S, np.ones(20), np.random.default_rng(0))
    for _ in range(8):
        value, totals = step._expected(step._data(S), S.offsets, np.ones(20))
        values.append(value)
        step = step._maximised(totals)
    assert (np.diff(values) > -1e-8 * abs(values[0])).all()
    learned = learner.learn(S)
    assert learned.log_likelihood(S).sum() > truth.log_likelihood(S).sum()
    order = np.argsort(np.asarray(learned.means)[:, 0])
    np.testing.assert_allclose(np.asarray(learned.means)[order], truth.means, atol=0.3)
    np.testing.assert_allclose(np.asarray(learned.deviations)[order], truth.deviations, atol=0.2)
    assert np.abs(learned.scores(S).mean(axis=0)).max() < 0.05


def test_weights_are_copies_also_where_values_are_missing():
    series, weight = [*SERIES, np.array([[50.0, 50.0]])], np.array([2.0, 1.0, 3.0, 0.0])
    learner = GaussianHiddenMarkovModel(2, max_iter=5, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = learner.learn(learner.pack(series), weight)
        two = learner.learn(learner.pack([SERIES[0]] * 2 + [SERIES[1]] + [SERIES[2]] * 3))
    for name in ("start", "transitions", "means", "deviations"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-8)


def test_series_of_one_point_are_a_mixture():
    m = model()
    X = np.random.default_rng(0).normal(size=(7, 2))
    mixture = GaussianMixture(2, weights=m.start, means=m.means, deviations=m.deviations, covariance="diagonal")
    S = m.pack(X[:, None])
    np.testing.assert_allclose(m.log_likelihood(S), mixture.log_likelihood(mixture.pack(X)), rtol=1e-12)
    # one entry missing: the marginal density of the other
    X[:, 1] = NAN
    one = mixture.replace(means=np.asarray(m.means)[:, :1], deviations=np.asarray(m.deviations)[:, :1])
    np.testing.assert_allclose(m.log_likelihood(m.pack(X[:, None])), one.log_likelihood(one.pack(X[:, :1])), rtol=1e-12)


def test_far_points_have_finite_likelihoods():
    m = model().replace(start=(1.0, 0.0), transitions=((1.0, 0.0), (0.5, 0.5)))
    x = np.array([[0.0, 0.0], [300.0, -300.0], [0.0, 0.0]])
    expected = np.log(rows(m, x[[0, 2]]))[:, 0].sum()
    z = (x[1] - np.asarray(m.means)[0]) / np.asarray(m.deviations)[0]
    expected += (-0.5 * z**2 - np.log(np.sqrt(2.0 * np.pi) * np.asarray(m.deviations)[0])).sum()
    assert m.log_likelihood(m.pack([x]))[0] == pytest.approx(expected, rel=1e-10)
    assert np.isfinite(m.scores(m.pack([x]))).all()


def test_fitted_models_of_hmmlearn_are_taken_by_their_attributes():
    class Fitted:
        startprob_ = np.array([0.3, 0.7])
        transmat_ = np.array([[0.9, 0.1], [0.2, 0.8]])
        means_ = np.array([[0.0, 1.0], [2.0, 3.0]])
        covars_ = np.array([np.diag([1.0, 4.0]), np.diag([9.0, 1.0])])

    m = GaussianHiddenMarkovModel.from_hmmlearn(Fitted()).check()
    np.testing.assert_allclose(m.deviations, [[1.0, 2.0], [3.0, 1.0]])
    spherical = Fitted()
    spherical.covars_ = np.array([np.eye(2) * v for v in (4.0, 4.0, 9.0, 9.0)])  # once for each channel
    found = GaussianHiddenMarkovModel.from_hmmlearn(spherical).deviations
    np.testing.assert_allclose(found, [[2.0, 2.0], [3.0, 3.0]])
    other = Fitted()
    other.covars_ = np.array([np.eye(2) + 0.5, np.eye(2)])
    with pytest.raises(DomainError, match="full covariances"):
        GaussianHiddenMarkovModel.from_hmmlearn(other)


def test_bad_parameters_and_other_channels_are_refused():
    for bad in ({"deviations": np.zeros((2, 2))}, {"means": np.zeros((3, 2))}, {"states": 3}, {"start": None}):
        with pytest.raises(ParameterError):
            model().replace(**bad).check()
    with pytest.raises(DomainError, match=r"3 channels.*model of 2"):
        model().log_likelihood(Sequences.pack([np.zeros((4, 3))]))
