import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mercer.io.limits import FileError, FileTimeError, Limits
from mercer.io.source import Source
from mercer.io.svmlight import LARGEST, _wrong, read_svmlight
from mercer.kernels import Linear


@pytest.fixture
def data(tmp_path):
    def make(text, limits=None):
        path = tmp_path / "data.svm"
        path.write_text(text, encoding="utf-8")
        return read_svmlight(Source.open(path, limits or Limits()))

    return make


@pytest.mark.parametrize("zero_based", [True, False])
def test_agrees_with_scikit_learn(data, tmp_path, zero_based):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 40)) * (random.random((3000, 40)) < 0.6)
    X[0, 0] = 1.0
    y = random.normal(size=3000)
    dump_svmlight_file(X, y, str(tmp_path / "written.svm"), zero_based=zero_based)
    found = data((tmp_path / "written.svm").read_text())
    expected, labels = load_svmlight_file(str(tmp_path / "written.svm"), n_features=40)
    assert found.zero_based == zero_based
    assert np.array_equal(found.X.toarray(), expected.toarray()) and np.array_equal(found.y, labels)


def test_kernels_take_the_vectors(data):
    found = data("1 1:2 3:4\n-1 2:5\n")
    assert Linear()(found.X).tolist() == [[20, 0], [0, 25]]
    rest, y = found.split_target()
    assert rest is found and y.tolist() == [1, -1] and found.targets == ("label",)
    assert found.split_target("label")[1] is y
    with pytest.raises(FileError, match="There is no target 'age'; the file has 'label'"):
        found.split_target("age")


def test_largest_index_costs_nothing(data):
    found = data(f"1 1:1 {LARGEST}:2\n")
    assert found.width == LARGEST and found.X.indices.dtype == np.int32
    assert "Only 2 of" in found.notes[0]
    assert json.loads(json.dumps(found.describe()))["used"] == 2


def test_queries(data):
    found = data("1 qid:7 1:1\n2 qid:8\n")
    assert found.qid.tolist() == [7, 8] and found.take([1]).qid.tolist() == [8]
    assert found.describe()["queries"] == 2
    with pytest.raises(FileError, match="line 2: Some lines have a qid"):
        data("1 qid:7 1:1\n2 1:1\n")


def test_vectors_without_pairs(data):
    found = data("1\n2\n")
    assert found.X.shape == (2, 0) and "all vectors are zero" in found.notes[0]
    assert repr(found) == "<Sparse of data.svm: 2 samples, 0 columns, 0 stored values>"
    assert found.aligned(3).X.shape == (2, 3)


def test_aligned_with_another_file(data):
    ones, zeros = data("1 1:5 2:6\n"), data("1 0:5 1:6\n")
    assert ones.aligned(4).X.toarray().tolist() == [[5, 6, 0, 0]]
    assert ones.aligned(4, zero_based=True).X.toarray().tolist() == [[0, 5, 6, 0]]
    assert zeros.aligned(2, zero_based=True).X.toarray().tolist() == [[5, 6]]
    with pytest.raises(FileError, match=r"row 1: Indices go up to 2; 1 columns, counted from 1, are accepted"):
        ones.aligned(1)
    with pytest.raises(FileError, match=r"go up to 1 and down to 0; 4 columns, counted from 1"):
        zeros.aligned(4, zero_based=False)
    with pytest.raises(FileError, match=r"counted from 0"):
        zeros.aligned(1)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1 1:2\n1 2:1 2:1\n", 2, 3),
        ("1 qid:1 1:2\n1 qid:1 2:1 1:1\n", 2, 4),
        ("1 1:2 x\n", 1, 3),
        ("\n# c\nx 1:2\n", 3, 1),
        ("1 1:1\n1 5:1e999\n", 2, 2),
        ("1\n" * 10 + "1e999", 11, 1),
    ],
)
def test_places_of_errors(data, text, line, column):
    with pytest.raises(FileError) as caught:
        data(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_an_error_many_lines_after_the_first_chunk(data):
    good = "1 " + " ".join(f"{j}:1" for j in range(1, 101)) + "\n"
    with pytest.raises(FileError, match=r"line 1001, column 3: The pair '1:1' does not ascend"):
        data(good * 1000 + "1 2:1 1:1\n" + good)


@pytest.mark.parametrize(
    ("limits", "message"),
    [(Limits(rows=1), "more than 1 rows"), (Limits(line=4), "more than 4 characters")],
)
def test_limits(data, limits, message):
    with pytest.raises(FileError, match=message):
        data("1\n1\n1 1:22\n", limits)


def test_time_is_over(data):
    with pytest.raises(FileTimeError):
        data("1 1:1\n", Limits(seconds=1e-9))


def test_a_line_is_refused_even_if_each_token_is_good(data, monkeypatch):
    assert _wrong(0, "1") == _wrong(1, "qid:3") == _wrong(2, "3:4") == ("", "")
    monkeypatch.setattr("mercer.io.svmlight._wrong", lambda position, token: ("", ""))
    with pytest.raises(FileError, match="not a label and index:value pairs"):
        data("x\n")
