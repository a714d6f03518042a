"""The base class, and how packed collections travel through scikit-learn's own tools."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split

from mercer import KernelRidge, load, save
from mercer.domains import Frames, Pairs, Samples, Similarities, Strings, Vectors
from mercer.domains.samples import codes_among, packed, packed_pair, require_kin, row_index, symbol_kinds
from mercer.domains.texts import Texts
from mercer.errors import DomainError
from mercer.kernels import (
    BagOfWords,
    BlendedSpectrum,
    GappySpectrum,
    Gaussian,
    GlobalAlignment,
    LocalAlignment,
    ShortestPath,
    Spectrum,
    Subsequence,
    SubsetTree,
    Substrings,
    Subtree,
    TreeSpectrum,
    VertexHistogram,
    WeisfeilerLehman,
    Wildcard,
)

RNG = np.random.default_rng(0)
N = 24
LABELS = np.arange(N) % 2
NUMBERS = RNG.standard_normal((N, 3)) + 3.0 * LABELS[:, None]
TEXTS = ["ab" * (i // 2 + 1) if label else "cd" * (i // 2 + 1) for i, label in enumerate(LABELS)]

COLLECTIONS = {
    "dense": lambda: Vectors.pack(NUMBERS),
    "sparse": lambda: Vectors.pack(sp.csr_array(NUMBERS)),
    "strings": lambda: Strings.pack(TEXTS),
    "similarities": lambda: Similarities.pack(NUMBERS @ NUMBERS.T),
    "frames": lambda: Frames.pack({"a": TEXTS, "b": NUMBERS[:, 0]}, {"a": Strings.pack, ("b",): Vectors.pack}),
    "pairs": lambda: Pairs.zip(Strings.pack(TEXTS), Vectors.pack(NUMBERS)),
}


class Remembers(ClassifierMixin, BaseEstimator):
    """Predicts the label of rows it can look up; it fits only what is packed already."""

    def __init__(self, alpha=1.0, pairwise=False):
        self.alpha = alpha
        self.pairwise = pairwise

    def fit(self, X, y):
        assert isinstance(X, Samples), "packed again, or unpacked on the way"
        assert len(X) == len(y)
        self.row_ = dict(zip(X.derived["row"].tolist(), y, strict=True))
        self.classes_ = np.unique(y)
        self.samples_ = X.landmarks()
        return self

    def predict(self, X):
        assert isinstance(X, Samples)
        if isinstance(X, Similarities):
            assert X.against(self.samples_).shape == (len(X), len(self.samples_))
        assert not set(X.derived["row"].tolist()) & set(self.row_), "a test sample was trained on"
        return X.derived["row"] % 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.pairwise
        return tags


@pytest.mark.parametrize("name", COLLECTIONS)
def test_packed_samples_survive_cross_validation(name):
    S = COLLECTIONS[name]().with_derived("row", np.arange(N))
    model = Remembers(pairwise=name == "similarities")
    assert cross_val_score(model, S, LABELS, cv=3, error_score="raise").tolist() == [1.0, 1.0, 1.0]
    assert cross_val_predict(model, S, LABELS, cv=3).tolist() == LABELS.tolist()


@pytest.mark.parametrize("name", COLLECTIONS)
def test_packed_samples_survive_a_grid_search_within_cross_validation(name):
    S = COLLECTIONS[name]().with_derived("row", np.arange(N))
    search = GridSearchCV(
        Remembers(pairwise=name == "similarities"),
        {"alpha": [1.0, 2.0]},
        cv=2,
        refit=False,
        error_score="raise",
    )
    search.fit(S, LABELS)
    assert search.cv_results_["mean_test_score"].tolist() == [1.0, 1.0]
    search.set_params(refit=True)
    assert len(cross_val_score(search, S, LABELS, cv=2, error_score="raise")) == 2


@pytest.mark.parametrize("name", COLLECTIONS)
def test_packed_samples_are_split(name):
    S = COLLECTIONS[name]().with_derived("row", np.arange(N))
    train, test, y_train, y_test = train_test_split(S, LABELS, random_state=0)
    assert type(train) is type(S) and (len(train), len(test)) == (18, 6)
    assert (train.derived["row"] % 2 == y_train).all() and (test.derived["row"] % 2 == y_test).all()


def test_numpy_cannot_take_packed_strings():
    with pytest.raises(TypeError, match="packed samples"):
        np.asarray(Strings.pack(["a", "b"]))


def test_iteration_gives_single_samples():
    assert [s.symbols(0) for s in Strings.pack(["ab", "", "c"])] == [("a", "b"), (), ("c",)]


def test_row_index_normalises():
    assert row_index(slice(2, None), 5) == slice(2, 5, 1)
    assert row_index(slice(4, 2), 5) == slice(4, 4, 1)
    assert row_index(slice(None, None, -2), 5).tolist() == [4, 2, 0]
    assert row_index([-1, 0], 5).tolist() == [4, 0]
    assert row_index(np.array([True, False, True]), 3).tolist() == [0, 2]
    assert row_index([], 3).dtype == np.intp
    assert row_index(np.array([1], dtype=np.uint8), 3).dtype == np.intp


def test_a_valid_index_is_not_copied():
    index = np.array([2, 0, 1])
    assert row_index(index, 3) is index


class Counting:
    """How often something was packed."""

    calls = 0

    def __call__(self, X):
        self.calls += 1
        return Strings.pack(X)


def test_samples_go_through_as_they_are():
    S, pack = Strings.pack(["a"]), Counting()
    assert packed(S, pack) is S and pack.calls == 0
    assert packed_pair(S, S, pack) == (S, S) and pack.calls == 0


def test_raw_data_are_packed_and_the_same_data_once():
    pack, X = Counting(), ["a", "b"]
    A, B = packed_pair(X, X, pack)
    assert A is B and isinstance(A, Strings) and pack.calls == 1
    A, B = packed_pair(A, ["c"], pack)
    assert A is not B and isinstance(B, Strings) and pack.calls == 2


LETTERS = ["gattaca", "tagtag", "cattag", "gatgat"]
FORMS = {
    "str": LETTERS,
    "bytes": [word.encode() for word in LETTERS],
    "integers": [list(word.encode()) for word in LETTERS],
    "bytes of one letter": [[letter.encode() for letter in word] for word in LETTERS],
}
SCORES = (2.0, -1.0)
KERNELS = [
    Spectrum(2),
    BlendedSpectrum(3),
    Substrings(),
    Wildcard(3, 1),
    Subsequence(2),
    GappySpectrum(2, 1),
    LocalAlignment(SCORES),
    GlobalAlignment(SCORES),
    Spectrum(2).normalized(),
    Spectrum(2) + Subsequence(2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("first", ["bytes", "integers", "bytes of one letter"])
def test_bytes_are_not_letters_either_way_round(kernel, first):
    y = [0.0, 1.0, 0.5, 2.0]
    for fitted, new in (FORMS[first], FORMS["str"]), (FORMS["str"], FORMS[first]):
        model = KernelRidge(kernel).fit(fitted, y)
        with pytest.raises(DomainError, match=r"none of them can be equal\. Give .*decode"):
            model.predict(new)


def test_kernels_compare_any_symbols():
    assert Spectrum(2)(["ab"], ["xy"]) == 0.0
    assert Spectrum(1)(["ab"], [b"ab"]) == 0.0
    assert Spectrum(1)([["a", 1]], [[1, 2]]) == 1.0


def test_empty_samples_are_of_any_kind():
    model = KernelRidge(Spectrum(1)).fit(["ab", "b", ""], [0.0, 1.0, 2.0])
    assert model.predict([b"", b""]).tolist() == [0.0, 0.0]
    assert model.symbols_in_ == {"symbols": ("str",)}
    assert not hasattr(model.set_params(kernel=None).fit([[1.0], [2.0]], [0.0, 1.0]), "symbols_in_")


def test_parts_of_samples_are_looked_at():
    kernel = Gaussian(1.0).on("size") * Spectrum(1).on("gene")
    rows = {"size": [1.0, 2.0], "gene": ["ab", "b"]}
    model = KernelRidge(kernel).fit(rows, [0.0, 1.0])
    with pytest.raises(DomainError, match=r"symbols of gene of type number were given"):
        model.predict({"size": [1.0, 2.0], "gene": [b"ab", b"b"]})
    pairs = KernelRidge(Gaussian(1.0).tensor(Spectrum(1))).fit([((1.0,), "ab"), ((2.0,), "b")], [0.0, 1.0])
    with pytest.raises(DomainError, match=r"symbols of right of type number were given"):
        pairs.predict([((1.0,), b"ab")])


def test_a_saved_model_remembers(tmp_path):
    model = KernelRidge(Spectrum(1)).fit(["ab", "b"], [0.0, 1.0])
    save(model, tmp_path / "m.mercer")
    with pytest.raises(DomainError, match="decode"):
        load(tmp_path / "m.mercer").predict([b"ab"])


def test_words_of_bytes_are_decoded_by_their_owner():
    with pytest.raises(DomainError, match=r"Words of type bytes.*Decode"):
        Texts.pack([[b"the", b"cat"]])
    with pytest.raises(DomainError, match="Decode"):
        BagOfWords()(["the cat"], [b"the cat"])


@pytest.mark.parametrize("kernel", [SubsetTree(), Subtree(), TreeSpectrum(2)], ids=repr)
def test_labels_of_trees(kernel):
    texts, numbers = [("a", ("b", ("c",)), ("b",))] * 3, [(1, (2, (3,)), (2,))] * 3
    model = KernelRidge(kernel).fit(texts, [0.0, 1.0, 2.0])
    with pytest.raises(DomainError, match=r"symbols of type number were given, .* of type str"):
        model.predict(numbers)


@pytest.mark.parametrize("kernel", [VertexHistogram(), WeisfeilerLehman(2), ShortestPath()], ids=repr)
def test_labels_of_graphs(kernel):
    texts = [{"edges": [(0, 1)], "labels": ["a", "b"]}] * 3
    numbers = [{"edges": [(0, 1)], "labels": [1, 2]}] * 3
    model = KernelRidge(kernel).fit(texts, [0.0, 1.0, 2.0])
    with pytest.raises(DomainError, match=r"symbols of type number were given, .* of type str"):
        model.predict(numbers)


def test_codes_among_others():
    assert codes_among(("G", "A"), ("A", "x", "G"), -1).tolist() == [1, -1, 0]
    assert codes_among((), (), -1).dtype == np.int64


def test_numbers_of_any_type_are_kin():
    for known, new in (([1, 2], [np.int64(1)]), ([True], [1]), ([None, 1], [None, "a", 2]), ([(1, 2)], [(3, 4)])):
        require_kin(symbol_kinds(_of(known)), _of(new))
    with pytest.raises(DomainError, match="of type tuple were given"):
        require_kin(symbol_kinds(_of([1])), _of([(1, 2)]))


def _of(symbols):
    return SimpleNamespace(vocabulary=tuple(symbols))
