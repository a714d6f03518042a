"""Kernel dependency estimation: against the closed form, refits without each sample, and ridge regression."""

import networkx as nx
import numpy as np
import pytest

import mercer
from mercer import KernelDependencyEstimation, KernelRidge
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError, TargetError
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed, Spectrum, VertexHistogram
from mercer.preimages import BeamSearch, Gradient, LabelFlips

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 2))
Y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.1 * RNG.normal(size=(25, 2))
NEW, PLACES = RNG.normal(size=(6, 2)), RNG.normal(size=(7, 2))
WORDS = ["".join(RNG.choice(list("abc"), size=length)) for length in RNG.integers(2, 6, size=25)]


def values_at(model, given, outputs):
    """<P(x), Psi(y)>, (m, t)."""
    parts = model.output_expansion_(outputs)
    return np.column_stack([np.ones(len(given)), model.predict_scores(given)]) @ parts.T


@pytest.mark.parametrize("outputs", [(Gaussian(1.0), Y, PLACES), (Spectrum(2), WORDS, ["abab", "cc", "bca"])])
def test_all_components_and_one_ridge_are_the_closed_form(outputs):
    output_kernel, y, others = outputs
    kernel, alpha, n = Gaussian(1.0), 0.3, len(X)
    model = KernelDependencyEstimation(kernel, alpha, output_kernel=output_kernel, n_components=None).fit(X, y)
    H, K = np.eye(n) - 1.0 / n, kernel(X, X)
    inverse = np.linalg.inv(H @ K @ H + alpha * np.eye(n))
    a = H @ inverse @ H @ (kernel(X, NEW) - K.mean(axis=1)[:, None]) + 1.0 / n
    np.testing.assert_allclose(values_at(model, NEW, others), a.T @ output_kernel(y, others), atol=1e-8)


def test_linear_outputs_are_ridge_regression():
    ours = KernelDependencyEstimation(Gaussian(1.0), 0.3, output_kernel=Linear()).fit(X, Y)
    other = KernelRidge(Gaussian(1.0), 0.3, fit_intercept=True).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), other.predict(NEW), atol=1e-10)
    assert ours.n_components_ == 2
    assert ours.score(X, Y) == pytest.approx(other.score(X, Y))


@pytest.mark.parametrize("gram", [Dense(), Nystrom(8, random_state=0)], ids=["matrix", "factor"])
def test_each_component_has_the_ridge_that_is_best_for_samples_left_out(gram):
    kernel = Gaussian(1.0)
    model = KernelDependencyEstimation(kernel, output_kernel=Gaussian(1.0), n_components=3, gram=gram).fit(X, Y)
    scores = model.output_values_[:, 1:] - model.mean_values_[1:]
    held = np.asarray(gram.build(kernel, kernel.pack(X)) @ np.eye(len(X)))
    found, grid = [], np.mean(np.diag(held)) * np.logspace(4.0, -8.0, 25)
    for alpha in grid:
        errors = []
        for i in range(len(X)):
            rest = np.delete(np.arange(len(X)), i)
            system = np.block(
                [[held[np.ix_(rest, rest)] + alpha * np.eye(24), np.ones((24, 1))], [np.ones((1, 24)), 0.0]]
            )
            a = np.linalg.solve(system, np.vstack([scores[rest], np.zeros(3)]))
            errors.append(scores[i] - held[i, rest] @ a[:-1] - a[-1])
        found.append(np.sum(np.square(errors), axis=0) / np.sum(scores**2, axis=0))
    np.testing.assert_allclose(model.left_out_errors_, np.min(found, axis=0), rtol=1e-6)
    np.testing.assert_allclose(model.alphas_, grid[np.argmin(found, axis=0)])
    assert model.left_out_errors_[0] < 0.5


@pytest.mark.parametrize("alpha", [0.1, None])
def test_however_the_grams_are_held(alpha):
    def values(**grams):
        model = KernelDependencyEstimation(Linear(), alpha, output_kernel=Linear(), **grams)
        return values_at(model.fit(X, Y), NEW, PLACES)

    whole = values(gram=Dense(), output_gram=Dense())
    for output_gram in (Tiles(), Nystrom(25, random_state=0), Features()):
        np.testing.assert_allclose(values(gram=Dense(), output_gram=output_gram), whole, atol=1e-6)
    for gram in (Nystrom(25, random_state=0), Features(), *([Tiles()] if alpha else [])):
        np.testing.assert_allclose(values(gram=gram, output_gram=Dense()), whole, atol=1e-6)


def test_weights_are_repetitions():
    w = RNG.integers(0, 4, size=25)
    again = np.repeat(np.arange(25), w)
    for alpha in (None, 0.1):
        model = KernelDependencyEstimation(Gaussian(1.0), alpha, output_kernel=Spectrum(2), n_components=5)
        a = values_at(model.fit(X, WORDS, w), NEW, WORDS)
        b = values_at(model.fit(X[again], [WORDS[i] for i in again]), NEW, WORDS)
        np.testing.assert_allclose(a, b, atol=1e-7)


def test_strings_are_predicted_as_they_were_given():
    model = KernelDependencyEstimation(Gaussian(0.3), 1e-3, output_kernel=Spectrum(2)).fit(X, WORDS)
    assert np.mean([a == b for a, b in zip(model.predict(X), WORDS, strict=True)]) > 0.7
    places = model.nearest(NEW, k=3)
    assert model.predict(NEW) == [WORDS[i] for i in places[:, 0]]
    assert model.predict(NEW, candidates=["abc", "cba"]) == [
        ["abc", "cba"][i] for i in model.nearest(NEW, ["abc", "cba"])[:, 0]
    ]
    tokens = [(*word, "end") for word in WORDS]
    assert model.fit(X, tokens).predict(X[:1])[0] in tokens


def test_scores_in_feature_space():
    model = KernelDependencyEstimation(Gaussian(1.0), 0.1, output_kernel=Spectrum(2), n_components=None).fit(X, WORDS)
    L = Spectrum(2)(WORDS, WORDS)
    c = np.linalg.lstsq(L, values_at(model, X, WORDS).T, rcond=None)[0]  # coefficients of P(x) on the outputs
    left = np.diag(L) - 2.0 * np.diag(L @ c) + np.einsum("ij,ik,kj->j", c, L, c)
    whole = np.diag(L) - 2.0 * L.mean(axis=1) + L.mean()
    assert model.score(X, WORDS) == pytest.approx(1.0 - left.sum() / whole.sum(), abs=1e-8)


def test_graphs_are_chosen_from_candidates():
    graphs = [nx.path_graph(n) for n in range(2, 7)]
    for graph in graphs:
        nx.set_node_attributes(graph, 0, "label")
    t = np.arange(5.0)[:, None]
    model = KernelDependencyEstimation(Linear(), 1e-6, output_kernel=VertexHistogram()).fit(t, graphs)
    np.testing.assert_array_equal(model.nearest(t)[:, 0], range(5))
    np.testing.assert_array_equal(model.nearest([[6.0]], graphs, 5)[0], [4, 3, 2, 1, 0])
    assert len(model.predict(t)) == 5


def test_saved_models_predict_the_same(tmp_path):
    for options in ({"output_kernel": Spectrum(2), "preimage": BeamSearch(3)}, {}):
        y = WORDS if options else Y
        model = KernelDependencyEstimation(Gaussian(1.0), **options).fit(X, y)
        mercer.save(model, tmp_path / "model", force=True)
        np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(NEW), model.predict(NEW))


def test_what_does_not_fit_is_refused():
    with pytest.raises(CapabilityError, match="Give alpha"):
        KernelDependencyEstimation(Gaussian(1.0), gram=Tiles()).fit(X, Y)
    many = RNG.normal(size=(600, 1))
    with pytest.raises(CapabilityError, match="Give n_components"):
        KernelDependencyEstimation(Linear(), 1.0, n_components=None, output_gram=Tiles()).fit(many, many)
    with pytest.raises(CapabilityError, match="Precomputed"):
        KernelDependencyEstimation(output_kernel=Precomputed()).fit(X, np.eye(25))
    with pytest.raises(CapabilityError, match="positive definite"):
        KernelDependencyEstimation(output_kernel=NegativeDistance()).fit(X, Y)
    with pytest.raises(TargetError, match="Spectrum"):
        KernelDependencyEstimation(output_kernel=Spectrum(2)).fit(X, Y)
    with pytest.raises(TargetError, match="requires y"):
        KernelDependencyEstimation(output_kernel=Spectrum(2)).fit(X, None)
    with pytest.raises(CapabilityError, match="looks for Strings"):
        KernelDependencyEstimation(preimage=BeamSearch()).fit(X, Y).predict(X)
    with pytest.raises(CapabilityError, match="no vectors"):
        KernelDependencyEstimation(output_kernel=Spectrum(2), preimage=Gradient()).fit(X, WORDS).predict(X)
    with pytest.raises(ParameterError, match="zeros and ones"):
        KernelDependencyEstimation(preimage=LabelFlips()).fit(X, Y).predict(X)
    with pytest.raises(DomainError, match="3 nearest of 2"):
        KernelDependencyEstimation(output_kernel=Spectrum(2)).fit(X, WORDS).nearest(X, ["a", "b"], 3)


def test_outputs_that_are_all_alike():
    model = KernelDependencyEstimation(Gaussian(1.0), output_kernel=Spectrum(2))
    with pytest.warns(DegenerateWarning, match="do not vary"):
        model.fit(X, ["abc"] * 25)
    assert model.predict(NEW) == ["abc"] * 6
    assert model.predict_scores(NEW).shape == (6, 0)
