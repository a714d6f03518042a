"""Semantic maps: against dicts and dense algebra; latent semantics is kernel PCA of the base."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge, load, save
from mercer.errors import ParameterError
from mercer.gram import Features
from mercer.kernels import Gaussian, Linear
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.texts import semantics as module
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf
from mercer.kernels.texts.semantics import Cooccurrence, LatentSemantic, Semantic, SemanticMap
from mercer.kernels.texts.word_pairs import WordPairs
from mercer.testing import check_kernel
from tests.naive.texts import dot, idf, meant, tf, weighed

WORDS = ["to", "be", "or", "not", "do"]
CORPORA = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=5)
LINKS = {"to": "be", "or": ["or", "not"], "do": {"be": 0.5, "act": -2.0}}
MEANINGS = {"to": {"be": 1.0}, "or": {"or": 1.0, "not": 1.0}, "do": {"be": 0.5, "act": -2.0}}
TRIPLES = tuple((word, meaning, value) for word, told in MEANINGS.items() for meaning, value in told.items())
DOCUMENTS = [
    "the car has an engine",
    "an auto has an engine and wheels",
    "the boat has a sail",
    "a ship with a sail",
    "cars and ships",
    "",
    "engine of the ship",
]


def learned(kernel, X, weight=None):
    return kernel.learn(kernel.pack(X), None, weight)


def dense(k, X):
    F, keys = k.features(k.pack(X))
    return F.toarray() if sp.issparse(F) else F, keys


# maps that are given ----------------------------------------------------------------------------------


@given(X=CORPORA, Z=CORPORA)
def test_words_count_for_what_they_mean(X, Z):
    for links in (LINKS, TRIPLES, list(map(list, TRIPLES))):
        ours, theirs = ([meant(tf(x), MEANINGS) for x in side] for side in (X, Z))
        expected = np.array([[dot(x, z) for z in theirs] for x in ours], dtype=float)
        np.testing.assert_allclose(Semantic(links)(X, Z), expected, rtol=1e-13, atol=1e-13)


@given(X=CORPORA)
def test_weights_come_before_meanings(X):
    w = idf(X)
    phi = [meant(weighed(x, w), MEANINGS) for x in X]
    K = learned(Semantic(LINKS, TfIdf()), X)(X)
    np.testing.assert_allclose(K, [[dot(x, z) for z in phi] for x in phi], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_matrix_leaves_other_words_out(form):
    S = np.random.default_rng(0).normal(size=(3, 4))
    k = Semantic(SemanticMap(("or", "to", "be"), form(S)))
    phi = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(k(["to or to do", "be to"]), phi @ S @ S.T @ phi.T)
    check_kernel(k, ["to or to do", "be to", ""])


def test_stemming_is_a_map():
    links = {"cars": "car", "ships": "ship"}
    stemmed = [document.replace("cars", "car").replace("ships", "ship") for document in DOCUMENTS]
    np.testing.assert_array_equal(Semantic(links)(DOCUMENTS), BagOfWords()(stemmed))


def test_features_have_meanings_as_keys():
    k = Semantic(LINKS)
    F, keys = k.features(k.pack(["do or", "be"]))
    G, _ = k.features(k.pack(["to do"]), keys)
    assert set(keys) == {"be", "act", "or", "not"}
    np.testing.assert_array_equal((G @ F.T).toarray(), k(["to do"], ["do or", "be"]))


def test_laws_of_given_maps():
    check_kernel(Semantic(TRIPLES), ["to be", "or not", "do", "be do", ""])
    check_kernel(Semantic((("ships", "ship", 1.0),), TfIdf(smooth=True)), DOCUMENTS)


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        (Semantic(3), "a dict of words"),
        (Semantic((("a", "b"),)), "a dict of words"),
        (Semantic({"a": {"b": np.nan}}), "finite weights"),
        (Semantic({"a": {"b": "c"}}), "finite weights"),
        (Semantic({"a": [["b"]]}), "finite weights"),
        (Semantic({}, Spectrum(2)), "base must be"),  # pyright: ignore[reportArgumentType]
        (Semantic(SemanticMap(("a",), np.ones((2, 2)))), "one for each row"),
        (Semantic(SemanticMap(("a",), np.full((1, 2), np.inf))), "finite numbers"),
        (LatentSemantic(0), "rank must be"),
        (LatentSemantic(2, Gaussian(1.0)), "has no finite feature map"),
        (Cooccurrence(map=3), "map must be"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_refusals(kernel, part):
    with pytest.raises(ParameterError, match=part):
        kernel.check()


# maps that are learned --------------------------------------------------------------------------------


@given(X=CORPORA, Z=CORPORA)
def test_cooccurrence_is_the_square_of_term_products(X, Z):
    """[ST] "Semantics for text": S = D'."""
    base = BagOfWords()
    D, keys = dense(base, X)
    phi = base.features(base.pack(Z), keys)[0].toarray()
    np.testing.assert_allclose(learned(Cooccurrence(), X)(Z), phi @ D.T @ D @ phi.T, rtol=1e-12)


@given(X=CORPORA, Z=CORPORA, rank=st.integers(1, 4))
def test_latent_semantics_is_kernel_pca(X, Z, rank):
    """[ST]: projections on the eigenvectors of the kernel matrix give phi' U_k U_k' phi."""
    base = BagOfWords()
    K, new = base(X), base(Z, X)
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = [i for i in range(min(rank, len(K))) if values[i] > 1e-9]
    if kept and kept[-1] + 1 < len(values) and values[kept[-1]] - values[kept[-1] + 1] < 1e-6:
        return  # the directions are not unique
    P = new @ vectors[:, kept] / np.sqrt(values[kept])
    np.testing.assert_allclose(learned(LatentSemantic(rank), X)(Z), P @ P.T, atol=1e-9 * max(1.0, K.max()))


def test_all_directions_give_the_base_on_its_corpus():
    k = learned(LatentSemantic(100, TfIdf().normalized()), DOCUMENTS[:5])
    np.testing.assert_allclose(
        k(DOCUMENTS[:5]), learned(TfIdf().normalized(), DOCUMENTS[:5])(DOCUMENTS[:5]), atol=1e-12
    )


def test_directions_of_large_corpora(monkeypatch):
    rng = np.random.default_rng(0)
    X = [[f"w{i}" for i in rng.integers(0, 60, 12)] for _ in range(40)]
    small = learned(LatentSemantic(5), X)
    monkeypatch.setattr(module, "_DENSE", 0)
    large = learned(LatentSemantic(5), X)
    np.testing.assert_allclose(large.map.matrix, small.map.matrix, atol=1e-9)
    again = learned(LatentSemantic(5), X)
    assert np.array_equal(large.map.matrix, again.map.matrix)


@pytest.mark.parametrize("kernel", [Cooccurrence(), LatentSemantic(2), LatentSemantic(2, TfIdf(smooth=True))])
def test_weights_are_copies(kernel):
    copies = learned(kernel, [DOCUMENTS[i] for i in (0, 0, 0, 1, 2, 2)])
    weighted = learned(kernel, DOCUMENTS, np.array([3.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(weighted(DOCUMENTS), copies(DOCUMENTS), atol=1e-10)


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")  # the empty document
@pytest.mark.parametrize(
    "kernel",
    [
        Cooccurrence(),
        LatentSemantic(3),
        LatentSemantic(2, TfIdf(smooth=True).normalized()),
        Cooccurrence(TfIdf() + Spectrum(3)),
        LatentSemantic(2, Spectrum(2)),
        LatentSemantic(2).normalized(),
    ],
)
def test_laws_of_learned_maps(kernel):
    check_kernel(kernel, DOCUMENTS)


def test_any_kernel_with_features():
    X = np.random.default_rng(0).normal(size=(8, 3))
    k = learned(LatentSemantic(2, Linear()), X)
    _, _, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(k(X), X @ Vt[:2].T @ Vt[:2] @ X.T, atol=1e-12)
    check_kernel(LatentSemantic(2, Linear()), X)


def test_what_is_not_learned_is_refused():
    for kernel in (Cooccurrence(), LatentSemantic(2)):
        with pytest.raises(ParameterError, match="is not fitted"):
            kernel(DOCUMENTS)


@pytest.mark.parametrize("kernel", [Cooccurrence(TfIdf()), LatentSemantic(3), Semantic({"cars": "car"}, TfIdf())])
def test_in_estimators(kernel):
    y = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 0.7])
    new = ["a car and a boat", "an unseen thing"]
    model = KernelRidge(kernel, alpha=0.5).fit(DOCUMENTS, y)
    linear = KernelRidge(kernel, alpha=0.5, gram=Features()).fit(DOCUMENTS, y)
    np.testing.assert_allclose(linear.predict(new), model.predict(new), rtol=1e-8)
    K = model.kernel_(DOCUMENTS)
    coef = np.linalg.solve(K + 0.5 * np.eye(7), y)
    np.testing.assert_allclose(model.predict(new), model.kernel_(new, DOCUMENTS) @ coef, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")  # the empty document
@pytest.mark.parametrize(
    "kernel",
    [
        BagOfWords(),
        TfIdf(smooth=True).normalized(),
        Semantic({"cars": {"car": 0.5}}, TfIdf()),
        Semantic(SemanticMap(("car", "boat"), np.eye(2))),
        Cooccurrence(TfIdf().normalized()),
        LatentSemantic(2, Spectrum(2)),
        WordPairs(2),
        BagOfWords() + Spectrum(2),
    ],
)
@pytest.mark.parametrize("gram", [None, Features()])
def test_models_are_saved_with_what_was_learned(kernel, gram, tmp_path):
    y = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 0.7])
    model = KernelRidge(kernel, alpha=0.5, gram=gram).fit(DOCUMENTS, y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    new = ["a car and a boat", "an unseen thing"]
    assert np.array_equal(again.predict(new), model.predict(new))
