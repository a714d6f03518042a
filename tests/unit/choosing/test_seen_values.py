import json

import numpy as np
import pytest

from mercer.choosing.seen_values import SeenFile, SeenValues, digest
from mercer.errors import ParameterError
from mercer.kernels import Gaussian


def test_marks_tell_apart_what_texts_do_not():
    third, near = 1.0 / 3.0, np.nextafter(1.0 / 3.0, 1.0)
    assert digest(Gaussian(third)) == digest(Gaussian(third)) != digest(Gaussian(near))
    long = np.arange(5000.0)
    other = long.copy()
    other[2500] = -1.0
    assert digest(long) != digest(other)  # whose texts leave out the middle
    assert digest(lambda: 0) != digest(lambda: 0)  # what cannot be pickled is itself alone


def test_a_file_belongs_to_one_search(tmp_path):
    path = tmp_path / "seen.json"
    assert SeenFile(path, "a").read() is None
    SeenFile(path, "a").write([1, 2])
    assert SeenFile(path, "a").read() == [1, 2] and SeenFile(path, "b").read() is None
    assert not path.with_name("seen.json.new").exists()


def test_what_is_no_file_of_a_search_is_refused_and_kept(tmp_path):
    with pytest.raises(ParameterError, match="a folder that exists"):
        SeenFile(tmp_path / "nowhere" / "seen.json", "a")
    with pytest.raises(ParameterError, match="a folder that exists"):
        SeenFile(tmp_path, "a")
    path = tmp_path / "mine.json"
    for text in ("{not json", "[1, 2]", '{"stamp": "a"}'):
        path.write_text(text)
        with pytest.raises(ParameterError, match="not that of a search"):
            SeenFile(path, "a").read()
        assert path.read_text() == text


def test_values_come_back_with_all_their_bits(tmp_path):
    values = SeenValues(SeenFile(tmp_path / "seen.json", "a"))
    numbers = np.random.default_rng(0).normal(size=20) * 10.0 ** np.arange(-10, 10)
    for place, number in enumerate(numbers):
        values.keep({"C": place}, number)
    values.keep({"C": -1}, np.nan)
    values.flush()
    again = SeenValues(SeenFile(tmp_path / "seen.json", "a"))
    assert [again.get({"C": place}) for place in range(20)] == numbers.tolist()
    assert np.isnan(again.get({"C": -1})) and again.get({"C": 99}) is None
    assert json.loads((tmp_path / "seen.json").read_text())["stamp"] == "a"


def test_without_a_file_nothing_is_kept():
    values = SeenValues(None)
    values.keep({"C": 1.0}, 2.0)
    values.flush()
    assert values.get({"C": 1.0}) is None
