"""Mixtures of Gaussian processes: one component is a process, two branches are two, and the bound never falls."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import GaussianProcessMixture
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.estimators.processes.process_mixture import LowRankComponent
from mercer.gram import Auto, Dense, Features, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy, Tiles
from mercer.kernels import Gaussian, Matern, Spectrum
from mercer.problems import Status

rng = np.random.default_rng(0)
N = 50
X = rng.uniform(0, 6, size=(2 * N, 1))
BRANCH = np.repeat([0, 1], N)
Y = np.where(BRANCH == 0, np.sin(X[:, 0]) + 1.5, np.cos(X[:, 0]) - 1.5) + 0.15 * rng.normal(size=2 * N)
T = np.linspace(0, 6, 9)[:, None]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_component_is_gaussian_process_regression():
    kernel = 2.0 * Matern(1.5, length_scale=1.0)
    model = GaussianProcessMixture(kernel, 0.2, n_components=1, fixed="all").fit(X, Y)
    C, K = kernel(X) + 0.2 * np.eye(2 * N), kernel(T, X)
    mean, std = model.predict(T, return_std=True)
    assert np.allclose(mean, K @ np.linalg.solve(C, Y))
    variance = 2.2 - np.sum(K * np.linalg.solve(C, K.T).T, axis=1)  # noise included
    assert np.allclose(std**2, variance)
    evidence = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + Y @ np.linalg.solve(C, Y))
    assert np.isclose(model.lower_bound_, evidence) and np.all(model.responsibilities_ == 1.0)
    density = -0.5 * (np.log(2 * np.pi * variance) + (1.0 - mean) ** 2 / variance)
    assert np.allclose(model.log_density(T, np.ones(9)), density)


@pytest.mark.parametrize(
    "options", [{}, {"gating": True}, {"parameters": "own", "n_components": 4}], ids=["shared", "gating", "own"]
)
def test_two_branches_are_found_and_the_bound_never_falls(options):
    model = GaussianProcessMixture(noise=0.05, **{"n_components": 6, **options}).fit(X, Y)
    assert np.all(np.diff(model.bounds_path_) >= 0) and len(model.bounds_path_) > 3
    label = model.responsibilities_[:, :2].argmax(axis=1)
    assert max(np.mean(label == BRANCH), np.mean(label != BRANCH)) > 0.97
    assert model.weights_[:2].sum() > 0.95 and np.allclose(model.responsibilities_.sum(axis=1), 1.0)
    found = model.predict_components(T)
    order = np.argsort(-found.mean[0, :2])
    truth = np.stack([np.sin(T[:, 0]) + 1.5, np.cos(T[:, 0]) - 1.5], axis=1)
    assert np.max(np.abs(found.mean[:, order] - truth)) < 0.35
    assert np.allclose(found.weight.sum(axis=1), 1.0)


def test_the_bound_is_below_the_evidence_of_the_mixture():
    """Four samples and two components: the sum over all assignments of exact evidences."""
    x, y = np.array([[0.0], [0.5], [1.0], [1.5]]), np.array([1.0, -1.0, 0.8, -0.9])
    kernel, noise, a = Gaussian(1.0), 0.1, 1.0
    total = 0.0
    for code in range(16):
        z = np.array([(code >> i) & 1 for i in range(4)])
        prior = 1.0 / 5.0 / [1, 4, 6, 4, 1][z.sum()]  # Beta(1, 1) sticks: integral of v^(4-s) (1-v)^s
        for t in range(2):
            part = z == t
            if part.any():
                C = kernel(x[part]) + noise * np.eye(part.sum())
                prior *= np.exp(-0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + y[part] @ np.linalg.solve(C, y[part])))
        total += prior
    model = GaussianProcessMixture(kernel, noise, n_components=2, concentration=a, fixed="all").fit(x, y)
    assert np.log(total) - 3.0 < model.lower_bound_ < np.log(total)
    assert model.n_components_ == 2


def test_changing_noise_is_worth_components():
    def draw(n):
        x = np.sort(rng.uniform(0, 10, n))
        return x[:, None], np.sin(x) + np.where(x < 5, 0.05, 0.6) * rng.normal(size=n)

    (train, y), (new, truth) = draw(100), draw(300)
    one = GaussianProcessMixture(n_components=1).fit(train, y)
    model = GaussianProcessMixture(n_components=3, gating=True, parameters="own", max_iter=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, y)
    assert model.log_density(new, truth).mean() > one.log_density(new, truth).mean() + 0.2
    left, right = model.predict([[2.0], [8.0]], return_std=True)[1]
    assert left < 0.3 < 0.45 < right


def test_weights_are_copies():
    w = rng.integers(0, 3, 2 * N).astype(float)
    copies = np.repeat(np.arange(2 * N), w.astype(int))
    options = {"noise": 0.05, "n_components": 4, "fixed": "all", "kernel": 4.0 * Gaussian(1.0)}
    ours = GaussianProcessMixture(**options).fit(X, Y, sample_weight=w)
    theirs = GaussianProcessMixture(**options).fit(X[copies], Y[copies])
    assert np.isclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-6)
    assert np.allclose(ours.predict(T), theirs.predict(T), atol=1e-4)
    assert np.all(ours.responsibilities_[w == 0] == 0.0)


def test_samples_follow_the_density():
    model = GaussianProcessMixture(4.0 * Gaussian(1.0), 0.05, n_components=4, fixed="all").fit(X, Y)
    drawn = model.sample(T[:2], n_samples=20_000, random_state=0)
    mean, std = model.predict(T[:2], return_std=True)
    assert drawn.shape == (2, 20_000)
    assert np.allclose(drawn.mean(axis=1), mean, atol=4 * std.max() / np.sqrt(20_000))
    assert np.allclose(drawn.std(axis=1), std, rtol=0.02)
    grid = np.linspace(-6, 6, 4001)
    area = np.exp(model.log_density(np.repeat(T[:1], 4001, axis=0), grid)).sum() * (grid[1] - grid[0])
    assert np.isclose(area, 1.0, atol=1e-6)


def test_several_outputs_belong_together():
    both = np.stack([Y, -Y], axis=1)
    model = GaussianProcessMixture(4.0 * Gaussian(1.0), 0.05, n_components=3, fixed="all").fit(X, both)
    assert model.predict(T).shape == (9, 2) and np.allclose(model.predict(T)[:, 0], -model.predict(T)[:, 1])
    assert model.predict_components(T).mean.shape == (9, model.n_components_, 2)
    assert model.sample(T, 5, random_state=0).shape == (9, 2, 5)


def test_strings():
    words = ["aab", "aba", "baa", "aaa", "bbb", "bba", "bab", "abb"] * 2
    values = np.array([2.0, 2, 2, 3, 0, 1, 1, 1, 12.0, 12, 12, 13, 10, 11, 11, 11])
    model = GaussianProcessMixture(Spectrum(1), 0.1, n_components=3, fixed="all").fit(words, values - 6.0)
    assert np.isfinite(model.predict(["abab"])).all()
    with pytest.raises(CapabilityError, match="vectors only"):
        GaussianProcessMixture(Spectrum(1), gating=True).fit(words, values)


def test_restarts_are_reproducible_and_never_worse():
    options = {"kernel": 4.0 * Gaussian(1.0), "noise": 0.05, "n_components": 4, "fixed": "all"}
    plain = GaussianProcessMixture(**options).fit(X, Y)
    first, second = (GaussianProcessMixture(restarts=2, random_state=5, **options).fit(X, Y) for _ in range(2))
    assert first.lower_bound_ == second.lower_bound_ >= plain.lower_bound_ - 1e-9
    assert np.array_equal(first.predict(T), second.predict(T))


@pytest.mark.parametrize(
    "params",
    [{"noise": 0}, {"n_components": 0}, {"concentration": -1.0}, {"parameters": "mine"}, {"gating": 1}, {"tol": 0.0}],
    ids=str,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        GaussianProcessMixture(**params).fit(X, Y)


def test_budgets():
    with pytest.raises(MemoryBudgetError, match="factors"):
        GaussianProcessMixture(memory="10kB").fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = GaussianProcessMixture(n_components=3, max_time=1e-4).fit(X, Y)
    assert model.status_ is Status.TIME and np.isfinite(model.predict(T)).all()


def test_saved_and_loaded(tmp_path):
    model = GaussianProcessMixture(4.0 * Gaussian(1.0), 0.05, n_components=3, gating=True, fixed="all").fit(X, Y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(model.predict(T, return_std=True), again.predict(T, return_std=True))
    assert np.array_equal(model.log_density(X, Y), again.log_density(X, Y))


@pytest.mark.parametrize("gram", [Auto(), Nystrom(100), IncompleteCholesky(100, tol=0.0)], ids=repr)
@pytest.mark.parametrize("options", [{}, {"gating": True}], ids=["plain", "gating"])
def test_a_factor_of_full_rank_changes_nothing(gram, options):
    options = {"kernel": 4.0 * Matern(1.5), "noise": 0.05, "n_components": 3, "fixed": "all", **options}
    w = np.arange(2 * N) % 3
    plain = GaussianProcessMixture(**options).fit(X, Y, sample_weight=w)
    model = GaussianProcessMixture(gram=gram, **options).fit(X, Y, sample_weight=w)
    assert np.isclose(model.lower_bound_, plain.lower_bound_, rtol=1e-9)
    np.testing.assert_allclose(model.responsibilities_, plain.responsibilities_, atol=1e-6)
    for one, other in zip(model.predict(T, return_std=True), plain.predict(T, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(model.log_density(T, T[:, 0]), plain.log_density(T, T[:, 0]), atol=1e-5)


def test_the_search_with_a_factor_of_full_rank_finds_the_same():
    options = {"kernel": 2.0 * Matern(1.5), "noise": 0.1, "n_components": 1, "tol": 1e-9}
    plain = GaussianProcessMixture(**options).fit(X[:40], Y[:40])
    model = GaussianProcessMixture(gram=Nystrom(40), **options).fit(X[:40], Y[:40])
    assert np.isclose(model.lower_bound_, plain.lower_bound_, rtol=1e-7)
    np.testing.assert_allclose(model.predict(T), plain.predict(T), atol=1e-4)


@pytest.mark.parametrize("gram", [Nystrom(8), SparseGreedy(9, tol=0.0), RandomFeatures(30)], ids=repr)
def test_one_component_of_low_rank_is_the_process_of_the_matrix_it_stands_for(gram):
    kernel = 2.0 * Gaussian(1.0)
    model = GaussianProcessMixture(kernel, 0.2, n_components=1, fixed="all", gram=gram).fit(X, Y)
    (component,) = model.components_
    assert isinstance(component, LowRankComponent) and model.gram_ == gram
    F, G = component.map(X), component.map(T)
    C, cross = F @ F.T + 0.2 * np.eye(2 * N), G @ F.T
    mean, std = model.predict(T, return_std=True)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(C, Y), atol=1e-8)
    known = np.sum(G**2, axis=1)
    variance = np.maximum(2.0 - known, 0.0) + known - np.einsum("ij,ji->i", cross, np.linalg.solve(C, cross.T)) + 0.2
    np.testing.assert_allclose(std**2, variance, atol=1e-8)
    evidence = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + Y @ np.linalg.solve(C, Y))
    assert np.isclose(model.lower_bound_, evidence)
    assert model.residual_trace_ == pytest.approx(1.0 - np.sum(F**2) / (4 * N), abs=1e-9)
    np.testing.assert_allclose(model.expansions_[0](T)[:, 0], mean, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"gating": True}, {"parameters": "own"}], ids=["shared", "gating", "own"])
def test_few_landmarks_find_the_branches_and_the_bound_never_falls(options):
    model = GaussianProcessMixture(noise=0.05, n_components=4, gram=Nystrom(20), **options).fit(X, Y)
    assert np.all(np.diff(model.bounds_path_) >= 0) and len(model.bounds_path_) > 3
    label = model.responsibilities_[:, :2].argmax(axis=1)
    assert max(np.mean(label == BRANCH), np.mean(label != BRANCH)) > 0.97


def test_features_are_exact():
    words = ["aab", "aba", "baa", "aaa", "bbb", "bba", "bab", "abb"] * 2
    values = np.array([2.0, 2, 2, 3, 0, 1, 1, 1, 12.0, 12, 12, 13, 10, 11, 11, 11]) - 6.0
    plain, model = (
        GaussianProcessMixture(Spectrum(1), 0.1, n_components=2, fixed="all", gram=gram).fit(words, values)
        for gram in (None, Features())
    )
    assert np.isclose(model.lower_bound_, plain.lower_bound_)
    np.testing.assert_allclose(model.predict(["abab", "b"]), plain.predict(["abab", "b"]), atol=1e-8)


def test_no_matrix_of_all_samples():
    n = 3000
    chance = np.random.default_rng(1)
    x = chance.uniform(0, 6, size=(n, 1))
    y = np.where(np.arange(n) % 2, np.sin(x[:, 0]) + 1.5, np.cos(x[:, 0]) - 1.5) + 0.15 * chance.normal(size=n)
    model = GaussianProcessMixture(4.0 * Gaussian(1.0), n_components=3, gram=Nystrom(30), max_iter=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x[:100], y[:100])
        tracemalloc.start()
        try:
            model.fit(x, y).predict(x, return_std=True)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.3 * 8 * n**2
    assert peak < 1.2 * model.memory_plan(n, 1).total < 0.3 * 8 * n**2
    found = model.predict_components(T)
    truth = np.stack([np.sin(T[:, 0]) + 1.5, np.cos(T[:, 0]) - 1.5], axis=1)
    assert np.max(np.abs(found.mean[:, np.argsort(-found.mean[0, :2])] - truth)) < 0.2


def test_grams_that_cannot_be_used_are_named():
    with pytest.raises(CapabilityError, match=r"Tiles.*the determinant.*Nystrom"):
        GaussianProcessMixture(gram=Tiles()).fit(X, Y)
    with pytest.raises(CapabilityError, match="indefinite"):
        GaussianProcessMixture(gram=Dense(indefinite="clip")).fit(X, Y)
    model = GaussianProcessMixture(Gaussian(1.0), n_components=1, fixed="all", gram=Nystrom(4)).fit(X, Y)
    assert not hasattr(model.set_params(gram=None).fit(X, Y), "residual_trace_")


@pytest.mark.parametrize("gram", [Nystrom(8), RandomFeatures(10)], ids=repr)
def test_a_model_of_low_rank_is_saved_and_loaded(gram, tmp_path):
    model = GaussianProcessMixture(4.0 * Gaussian(1.0), 0.05, n_components=2, fixed="all", gram=gram).fit(X, Y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(model.predict(T, return_std=True), again.predict(T, return_std=True))
