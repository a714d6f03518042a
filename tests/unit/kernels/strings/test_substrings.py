"""All common substrings: brute force over lengths, weights of every kind, prediction in one pass."""

import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import SVC, KernelRidge, budget
from mercer.domains import Strings
from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, Features
from mercer.kernels.kernel import compiled_expansion
from mercer.kernels.strings import substrings as module
from mercer.kernels.strings.spectrum import BlendedSpectrum, Spectrum
from mercer.kernels.strings.substrings import Substrings
from mercer.language import parse
from mercer.testing import check_kernel
from tests.clock import allowed
from tests.naive.strings import spectrum, substrings
from tests.strategies import strings

NAMES = {"Substrings": Substrings}
TEXTS = ["abracadabra", "cadabra", "", "abc", "barbara", "abc"]


def squares(lengths):
    return lengths**2.0


def harmonic(lengths):
    return 1.0 / lengths


KERNELS = {
    "constant": (Substrings(), lambda p: 1.0),
    "decay": (Substrings(decay=0.5), lambda p: 0.5**p),
    "growth": (Substrings(decay=2.0), lambda p: 2.0**p),
    "limited": (Substrings(longest=2), lambda p: float(p <= 2)),
    "range": (Substrings(shortest=2, longest=3), lambda p: float(2 <= p <= 3)),
    "long": (Substrings(shortest=3), lambda p: float(p >= 3)),
    "tuple": (Substrings((0.0, 3.0, 0.0, 5.0)), lambda p: {2: 3.0, 4: 5.0}.get(p, 0.0)),
    "function": (Substrings(squares), lambda p: p**2.0),
    "all": (
        Substrings(squares, decay=0.5, shortest=2, longest=4),
        lambda p: p**2 * 0.5**p if 2 <= p <= 4 else 0.0,
    ),
}


def table(X, Y, weight):
    return np.array([[substrings(s, t, weight) for t in Y] for s in X], dtype=float)


@pytest.mark.parametrize("name", KERNELS)
@given(X=strings(max_samples=5, max_length=9), Y=strings(max_samples=4, max_length=9))
def test_by_definition(name, X, Y):
    kernel, weight = KERNELS[name]
    K = table(X, X, weight)
    np.testing.assert_allclose(kernel(X), K, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(K), rtol=1e-12)
    if isinstance(X[0], str) == isinstance(Y[0], str):
        np.testing.assert_allclose(kernel(X, Y), table(X, Y, weight), rtol=1e-12, atol=1e-12)


def test_whole_weights_are_exact():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 40))) for _ in range(15)]
    np.testing.assert_array_equal(Substrings()(X), table(X, X, lambda p: 1))
    assert Substrings()(["a" * 1000]).item() == sum((1001 - p) ** 2 for p in range(1, 1001))


@given(X=strings(max_samples=5), length=st.integers(1, 4), decay=st.sampled_from([0.5, 1.0, 1.5]))
def test_spectra_are_special_cases(X, length, decay):
    blended = Substrings(longest=length, decay=decay)(X)
    np.testing.assert_allclose(blended, BlendedSpectrum(length, decay)(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(Substrings(shortest=length, longest=length)(X), Spectrum(length)(X))


@pytest.mark.parametrize("name", KERNELS)
@given(X=strings(max_samples=5, max_length=8), Y=strings(max_samples=3, max_length=8))
def test_features_give_the_kernel(name, X, Y):
    kernel, _ = KERNELS[name]
    S = kernel.pack(X)
    F, keys = kernel.features(S)
    assert F.shape == (len(X), kernel.feature_count(S)) == (len(X), len(keys))
    np.testing.assert_allclose((F @ F.T).toarray(), kernel(S), rtol=1e-12, atol=1e-12)
    if isinstance(X[0], str) == isinstance(Y[0], str):
        G, same = kernel.features(kernel.pack(Y), keys)
        assert same is keys
        np.testing.assert_allclose((G @ F.T).toarray(), kernel(Y, X), rtol=1e-12, atol=1e-12)


def test_columns_have_names():
    F, keys = Substrings().features(Strings.pack(["abab"]))
    found = {"".join(keys.symbols(j)): F[0, j] ** 2 for j in F[[0]].indices}
    # "a" stands only where "ab" does, "ba" only before the end of "bab", and so on: one edge each
    assert {name: round(value, 12) for name, value in found.items()} == {"ab": 8.0, "b": 4.0, "abab": 2.0, "bab": 2.0}


def test_pieces_of_a_prepared_collection():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 12))) for _ in range(30)]
    kernel = Substrings(decay=0.7)
    S = kernel.prepare(kernel.pack(X))
    before = S.nbytes
    assert kernel.prepare(S) is S
    K = table(X, X, lambda p: 0.7**p)
    np.testing.assert_allclose(kernel(S), K, rtol=1e-12)
    assert S.nbytes > before  # the tree is made when it is needed
    for index in (slice(3, 9), np.array([5, 2, 2]), np.arange(30) % 3 == 0):
        np.testing.assert_allclose(kernel(S[index]), K[index][:, index], rtol=1e-12)
        np.testing.assert_allclose(kernel(S[index], S), K[index], rtol=1e-12)
        np.testing.assert_allclose(kernel(S, kernel.pack(X[:4])), K[:, :4], rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(S[index]), np.diag(K)[index], rtol=1e-12)


@pytest.mark.parametrize("kernel", [Substrings(), Substrings(decay=0.5), Substrings((1.0, 0.0, 2.0), longest=3)])
def test_laws(kernel):
    check_kernel(kernel, TEXTS)
    assert kernel.order == 0 and not kernel.strict and not kernel.bounded
    assert kernel.capabilities >= {"features", "pullback"}


def test_different_strings_have_different_images():
    words = ["a", "b", "ab", "ba", "aa", "aba", "bab", "aab"]
    assert Substrings().injective and np.linalg.eigvalsh(Substrings()(words)).min() > 0.05
    assert not Substrings(longest=3).injective and not Substrings(shortest=2).injective
    assert not Substrings((1.0,)).injective


def test_many_tiles_and_threads():
    rng = np.random.default_rng(2)
    X = ["".join(rng.choice(list("abcd"), rng.integers(0, 40))) for _ in range(420)]
    kernel = Substrings(decay=0.8)
    K = kernel(X, n_threads=1)
    np.testing.assert_array_equal(K, kernel(X, n_threads=2))
    blended = BlendedSpectrum(40, decay=0.8)(X[:60])
    np.testing.assert_allclose(K[:60, :60], blended, rtol=1e-11)


def test_unicode_and_words():
    X = ["\ud800\udc00é", "e\u0301é\U0001f600", "\U0001f600\ud800\udc00", "\0\0\0"]
    np.testing.assert_array_equal(Substrings()(X), table(X, X, lambda p: 1))
    X = [("to", "be", "or", "not", "to", "be"), ("to", "be"), (1, 2, b"x")]
    np.testing.assert_array_equal(Substrings()(X), table(X, X, lambda p: 1))
    np.testing.assert_array_equal(Substrings()(X, [("be", "or")]), table(X, [("be", "or")], lambda p: 1))


def test_empty_strings():
    np.testing.assert_array_equal(Substrings()(["", ""]), 0.0)
    np.testing.assert_array_equal(Substrings()(["", "ab"], ["b", ""]), [[0.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    "options",
    [
        {"weights": "all"},
        {"weights": (1.0, -1.0)},
        {"weights": ()},
        {"weights": (np.inf,)},
        {"weights": None},
        {"weights": ((1.0, 2.0),)},
        {"decay": 0.0},
        {"decay": np.nan},
        {"shortest": 0},
        {"longest": 0},
        {"longest": 2.5},
        {"shortest": 3, "longest": 2},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Substrings(**options)(["abc"])


@pytest.mark.parametrize("function", [lambda p: -p, lambda p: p[:1], lambda p: np.nan * p])
def test_bad_functions(function):
    with pytest.raises(DomainError, match="weights of Substrings"):
        Substrings(function)(["abc", "abd"])


def test_values_beyond_the_range_of_numbers():
    with pytest.raises(DomainError, match="too large"):
        Substrings(decay=10.0)(["a" * 400])
    assert np.isfinite(Substrings(decay=10.0, longest=5)(["a" * 400])).all()
    assert Substrings(decay=1e-3)(["a" * 4000]).item() > 0.0  # powers that vanish are zeros


def test_memory_is_planned(monkeypatch):
    S = Substrings().pack(["".join(row) for row in np.random.default_rng(7).choice(list("ab"), (60, 50))])
    monkeypatch.setattr(budget, "budget", lambda memory: 300_000)  # the tree fits, ten counts a symbol do not
    with pytest.raises(MemoryBudgetError, match=r"counts of the nodes.*longest="):
        Substrings()(S)
    monkeypatch.setattr(budget, "budget", lambda memory: 1000)
    with pytest.raises(MemoryBudgetError, match="suffix tree"):
        Substrings().diag(S)


def test_text():
    for kernel in (Substrings(), Substrings((1.0, 0.5), decay=0.5), Substrings(shortest=2, longest=7)):
        assert parse(repr(kernel), names=NAMES) == kernel


def test_the_decay_is_learned():
    kernel = Substrings(harmonic, decay=0.6)
    A, B = kernel.prepare(kernel.pack(TEXTS)), kernel.prepare(kernel.pack(["abra", "cab"]))
    W = np.random.default_rng(3).normal(size=(6, 2))
    up, down = (np.sum(W * kernel.replace(decay=d)(A, B)) for d in (0.6 + 1e-6, 0.6 - 1e-6))
    np.testing.assert_allclose(kernel.pullback(A, B, W), [(up - down) / 2e-6], rtol=1e-7)


# prediction in one pass ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@given(X=strings(max_samples=5, alphabet="ab"), Y=strings(max_samples=4, alphabet="abc"), seed=st.integers(0, 9))
def test_compiled_functions(name, X, Y, seed):
    kernel, weight = KERNELS[name]
    K = table(Y, X, weight)
    for coef in (np.random.default_rng(seed).normal(size=len(X)), np.random.default_rng(seed).normal(size=(len(X), 2))):
        f = kernel.compile(kernel.pack(X), coef)
        size = 1e-12 * (K @ np.abs(coef)).max(initial=0.0) + 1e-12
        np.testing.assert_allclose(f(kernel.pack(Y)), K @ coef, rtol=0, atol=size)


@given(X=strings(max_samples=5, alphabet="ab"), Y=strings(max_samples=4, alphabet="abc"))
@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
def test_normalised_functions(X, Y):
    kernel = Substrings(decay=0.5).normalized()
    K = kernel(Y, X)
    for coef in (np.arange(1.0, len(X) + 1), np.ones((len(X), 2))):
        f = kernel.compile(kernel.pack(X), coef)
        np.testing.assert_allclose(f(kernel.pack(Y)), K @ coef, rtol=1e-10, atol=1e-10)


def test_only_functions_of_substrings_are_compiled():
    S = Strings.pack(["ab"])
    assert compiled_expansion(Spectrum(2), S, np.ones(1)) is None
    assert Spectrum(2).normalized().compile(S, np.ones(1)) is None


def test_support_vectors_of_a_machine():
    rng = np.random.default_rng(4)
    X = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(40)]
    X = [x[:10] + "TATAAT" + x[16:] if i % 2 else x for i, x in enumerate(X)]
    y = np.arange(40) % 2
    model = SVC(Substrings(decay=0.5).normalized(), C=10.0).fit(X[:30], y[:30])
    f = model.expansion_
    values = f.kernel(X[30:], f.samples) @ f.coef + f.intercept
    np.testing.assert_allclose(model.decision_function(X[30:]), values.ravel(), rtol=1e-9)
    again = pickle.loads(pickle.dumps(model))  # the compiled function is made again
    np.testing.assert_array_equal(again.decision_function(X[30:]), model.decision_function(X[30:]))


def test_learning_by_features_is_learning_by_pairs():
    rng = np.random.default_rng(5)
    X = ["".join(rng.choice(list("ab"), rng.integers(1, 12))) for _ in range(30)]
    y = np.array([x.count("ab") for x in X], dtype=float)
    kernel = Substrings(decay=0.5)
    pairs = KernelRidge(kernel, alpha=0.1, gram=Dense()).fit(X[:20], y[:20]).predict(X[20:])
    nodes = KernelRidge(kernel, alpha=0.1, gram=Features()).fit(X[:20], y[:20]).predict(X[20:])
    np.testing.assert_allclose(nodes, pairs, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.timing
def test_one_pass_is_quicker_than_all_pairs():
    rng = np.random.default_rng(6)
    X = ["".join(rng.choice(list("ACGT"), 1000)) for _ in range(220)]
    kernel, new = Substrings(), Strings.pack(X[:20])
    support = kernel.prepare(kernel.pack(X[20:]))
    f = kernel.compile(support, np.ones(200))
    taken = [min(_seconds(function, new) for _ in range(7)) for function in (f, lambda T: kernel(T, support))]
    assert taken[0] < allowed(0.6) * taken[1]  # about a sixth on an idle machine


def _seconds(function, data):
    began = time.perf_counter()
    function(data)
    return time.perf_counter() - began


def test_compiled_loops_are_plain_python_too():
    coef, new = np.array([1.0, -2.0, 3.0, 0.5, 0.25, 1.0]), Strings.pack(["cabra", "", "abc"])
    expected = Substrings(decay=0.5).compile(Strings.pack(TEXTS), coef)(new)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_add_below", "_add_above", "_add_matches"):
            patch.setattr(module, name, getattr(module, name).py_func)
        found = Substrings(decay=0.5).compile(Strings.pack(TEXTS), coef)(new)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert spectrum("ab", "ab", 1) == 2
