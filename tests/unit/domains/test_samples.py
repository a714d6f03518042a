"""The base class, and how packed collections travel through scikit-learn's own tools."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split

from mercer.domains import Frames, Pairs, Samples, Similarities, Strings, Vectors
from mercer.domains.samples import packed, packed_pair, row_index

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
