"""Sentences in columns: what is read, and what is refused with its place."""

import gzip

import pytest

from mercer.io import read
from mercer.io.limits import FileError, Limits

TEXT = "The D B\ncat N I\n\n\nruns V B\r\n \nA D B\ndog N I\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "words.txt"


def test_words_and_sentences(path):
    path.write_text(TEXT)
    data = read(path)
    assert data.format == "conll"
    assert repr(data) == "<Sentences of words.txt: 3 samples, 5 words, 3 columns>"
    rest, y = data.split_target("last")
    assert [list(labels) for labels in y] == [["B", "I"], ["B"], ["B", "I"]]
    assert rest.X[0] == [("column1=The", "column2=D"), ("column1=cat", "column2=N")]
    assert [list(labels) for labels in data.take([2]).split_target("column2")[1]] == [["D", "N"]]
    assert data.describe()["different"] == {"column1": 5, "column2": 3, "column3": 2}
    assert data.targets == ("column1", "column2", "column3", "last")


def test_tabs_keep_blanks_and_gzip_is_unpacked(tmp_path):
    path = tmp_path / "words.conll.gz"
    path.write_bytes(gzip.compress(b"New York\tN\n\nruns\tV\n"))
    assert read(path).X[0] == [("column1=New York", "column2=N")]


def test_one_column_is_words_without_labels(path):
    path.write_text("The\ncat\n\nruns\n")
    data = read(path, "conll")
    assert data.n == 2
    with pytest.raises(FileError, match="nothing is left"):
        data.split_target("last")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("The D B\ncat N\n\nruns V B\n", "line 2.*2 columns, and the first line has 3"),
        ("The\tD\tB\ncat\t\tI\n", "line 2.*Column 2 is empty"),
        ("\n \n\n", "no word"),
        ("", "empty"),
    ],
)
def test_bad_files(path, text, problem):
    path.write_text(text)
    with pytest.raises(FileError, match=problem):
        read(path, "conll")


def test_limits_and_names(path):
    path.write_text(TEXT)
    with pytest.raises(FileError, match="more than 3 words"):
        read(path, "conll", Limits(rows=3))
    with pytest.raises(FileError, match="column9"):
        read(path).split_target("column9")
    with pytest.raises(FileError, match="no column4"):
        read(path).selected(["column4"])


def test_tables_are_still_tables(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("a;b\n1;2\n\n3;4\n")
    assert read(path).format == "csv"
