"""Marginalization beside the sum over models, in numbers and in logarithms."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import KernelRidge
from mercer.domains import Strings, Vectors
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.gram import Features
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov
from mercer.kernels.models.marginalization import Marginalization
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.models.markov import MarkovChain
from mercer.spec import Spec
from mercer.testing import check_kernel


class Bell(Spec):
    """A normal density of rows about one point."""

    domain = Vectors

    def __init__(self, center=0.0, width=1.0):
        self.center = center
        self.width = width

    def log_likelihood(self, S):
        X = S.X.toarray() if S.is_sparse else S.X
        d = (np.asarray(X, dtype=float) - self.center) / self.width
        return -0.5 * (d * d).sum(axis=1) - X.shape[1] * np.log(self.width * np.sqrt(2.0 * np.pi))


COINS = tuple(MarkovChain(0, alphabet="ht", transitions=((p, 1.0 - p),)) for p in (0.2, 0.5, 0.9))
BELLS = Bell(0.0), Bell(1.0, 0.5), Bell(-2.0, 2.0)
X = np.random.default_rng(0).normal(size=(12, 2))


def coins(word):
    return np.array([p ** word.count("h") * (1.0 - p) ** word.count("t") for p in (0.2, 0.5, 0.9)])


def test_a_sum_over_models():
    words = ["h", "ht", "tttt", "", "hhhtt"]
    for weights, P in ((None, np.full(3, 1 / 3)), ((1.0, 0.0, 3.0), np.array([0.25, 0.0, 0.75]))):
        expected = [[(coins(x) * coins(z) * P).sum() for z in words] for x in words]
        kernel = Marginalization(COINS, weights)
        np.testing.assert_allclose(kernel(words), expected, rtol=1e-13)
        np.testing.assert_allclose(kernel(words[:2], words), expected[:2], rtol=1e-13)
        np.testing.assert_allclose(kernel.diag(Strings.pack(words)), np.diag(expected), rtol=1e-13)
        F, _ = kernel.features(kernel.pack(words))
        np.testing.assert_allclose(F, [np.sqrt(P) * coins(x) for x in words], rtol=1e-13)


def test_printed_form_of_the_features():
    """[STS] (25): <f, g> = sum_m f_m g_m P(m) of the features P(x | m)."""
    weights = np.array([0.2, 0.3, 0.5])
    L = np.exp(np.column_stack([bell.log_likelihood(Vectors.pack(X)) for bell in BELLS]))
    np.testing.assert_allclose(Marginalization(BELLS, tuple(weights))(X), (L * weights) @ L.T, rtol=1e-13)


def test_hidden_paths_are_models_as_well():
    """One model a path of states gives the kernel of the hidden Markov model."""
    start, T, E = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[0.8, 0.2], [0.3, 0.7]])

    class Path(Spec):
        def __init__(self, h):
            self.h = h

        def log_likelihood(self, S):
            return np.array([np.log([E[a, "ab".index(x)] for a, x in zip(self.h, S.symbols(i), strict=True)]).sum()
                             for i in range(len(S))])  # fmt: skip

    paths = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    weights = tuple(start[a] * T[a, b] * T[b, c] for a, b, c in paths)
    words = ["aab", "bba", "abb", "aaa"]
    K = Marginalization(tuple(map(Path, paths)), weights)(words)
    np.testing.assert_allclose(K, HiddenMarkov((start, T, E), "ab")(words), rtol=1e-13)


def test_long_objects_do_not_underflow():
    words = ["h" * 3000 + "t" * 1000, "h" * 1000 + "t" * 3000, "ht" * 2000, "h" * 2998 + "t" * 1002]
    kernel = Marginalization(COINS)
    logs = np.array([[w.count("h") * np.log(p) + w.count("t") * np.log1p(-p) for p in (0.2, 0.5, 0.9)] for w in words])
    K = np.array([[np.logaddexp.reduce(a + b) for b in logs] for a in logs])
    own = np.diag(K)
    expected = np.exp(K - (own[:, None] + own) / 2)
    np.testing.assert_allclose(kernel.normalized()(words), expected, rtol=1e-9)
    with pytest.warns(DegenerateWarning, match=r"4 of 4 samples.*normalized"):
        assert not kernel(words).any()


def test_large_and_small_densities_meet():
    """A product may be a number where a square is none."""
    sharp = Marginalization((Bell(0.0, 1e-200),))
    K = sharp([[0.0]], [[38.4e-200]])
    assert 0.0 < K[0, 0] < np.inf
    with pytest.raises(DomainError, match="too large"):
        sharp([[0.0]])
    assert sharp.normalized()([[0.0]])[0, 0] == 1.0


def test_objects_without_a_probability():
    model = MarkovChain(0, alphabet="ht", transitions=((1.0, 0.0),))
    kernel = Marginalization((model,))
    np.testing.assert_array_equal(kernel(["h", "t", "tt"]), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.warns(DegenerateWarning, match="2 samples have zero probability"):
        K = kernel.normalized()(["h", "t", "tt"])
    np.testing.assert_array_equal(K, [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    F, _ = kernel.normalized().features(kernel.pack(["h", "t", "tt"]))
    np.testing.assert_array_equal(F @ F.T, K)


@pytest.mark.parametrize("form", ["probability", "normalised"])
def test_laws(form):
    check_kernel(Marginalization(BELLS, (1.0, 2.0, 0.5), form), X)
    check_kernel(Marginalization(COINS, form=form), ["h", "ht", "tttt", "", "hhhtt", "thth"])


def test_learned_in_fit():
    words = ["abab", "abba", "aabb", "bbbb", "babb"] * 3
    y = np.array([w.count("a") for w in words], dtype=float)
    models = MarkovChain(0), MarkovChain(1), HiddenMarkovModel(2, max_iter=5, tol=1.0)
    kernel = Marginalization(models, form="normalised")
    fitted = KernelRidge(kernel, alpha=1e-3).fit(words, y)
    assert all(not model.fitted for model in models)
    linear = KernelRidge(kernel, alpha=1e-3, gram=Features()).fit(words, y)
    np.testing.assert_allclose(fitted.predict(words), linear.predict(words), rtol=1e-6, atol=1e-8)
    S = Strings.pack(words)
    learned = kernel.learn(S)
    assert isinstance(learned, Marginalization) and learned.learn(S) == learned
    K = Marginalization(tuple(model.learn(S) for model in models))(words)
    np.testing.assert_allclose(learned(words), K / np.sqrt(np.outer(np.diag(K), np.diag(K))), rtol=1e-10)


def test_weights_of_training_samples_are_copies():
    words, weight = ["ab", "abb", "aab", "bbb"], np.array([2.0, 0.0, 1.0, 3.0])
    copies = [w for w, count in zip(words, weight, strict=True) for _ in range(int(count))]
    kernel = Marginalization((MarkovChain(1, alphabet="ab"), MarkovChain(0, alphabet="ab")))
    left = kernel.learn(Strings.pack(words), weight=weight)
    right = kernel.learn(Strings.pack(copies))
    np.testing.assert_allclose(left(words), right(words), rtol=1e-13)


def test_saved(tmp_path):
    words = ["abab", "abba", "aabb", "bbbb", "babb"]
    kernel = Marginalization((MarkovChain(0), MarkovChain(1)), (1.0, 2.0))
    fitted = KernelRidge(kernel).fit(words, np.arange(5.0))
    mercer.save(fitted, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(words), fitted.predict(words))


def test_the_likelihoods_are_asked_once_per_collection():
    asked = []

    class Counting(Bell):
        def log_likelihood(self, S):
            asked.append(len(S))
            return super().log_likelihood(S)

    kernel = Marginalization((Counting(0.0),))
    S = kernel.prepare(kernel.pack(X))
    kernel(S)
    kernel.diag(S)
    kernel.features(S)
    kernel.normalized()(S)
    assert asked == [len(X)]


def test_what_is_refused():
    for models in ((), Bell(), (Bell(), 3), None):
        with pytest.raises(ParameterError, match="log_likelihood"):
            Marginalization(models)(X)
    for weights in ((1.0, -1.0, 1.0), (0.0, 0.0, 0.0), (np.nan, 1.0, 1.0), "abc", ((1.0,),)):
        with pytest.raises(ParameterError, match="weights"):
            Marginalization(BELLS, weights)(X)
    with pytest.raises(ParameterError, match="2 weights for 3 models"):
        Marginalization(BELLS, (0.5, 0.5))(X)

    class Broken(Bell):
        def log_likelihood(self, S):
            return np.full(len(S), np.nan)

    with pytest.raises(DomainError, match="Model 1"):
        Marginalization((Bell(), Broken()))(X)
