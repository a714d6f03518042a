import json

import pytest

from mercer.io.limits import FileError, FileTimeError, Limits
from mercer.io.source import Source
from mercer.io.structures.fasta import read_fasta, read_fastq
from mercer.kernels import Spectrum


@pytest.fixture
def sequences(tmp_path):
    def make(text, reader=read_fasta, limits=None):
        path = tmp_path / "data.fasta"
        path.write_text(text, encoding="utf-8", newline="")
        return reader(Source.open(path, limits or Limits()))

    return make


def test_kernels_take_the_sequences(sequences):
    found = sequences(">a first one\nGAT\nTACA\n\n>b\nTAG\n")
    assert found.X == ["GATTACA", "TAG"] and found.ids == ("a", "b") and found.descriptions == ("first one", "")
    assert Spectrum(2)(found.X).shape == (2, 2)
    assert found.take([1]).ids == ("b",) and repr(found) == "<Sequences of data.fasta: 2 samples, lengths 3 to 7>"
    known = json.loads(json.dumps(found.describe()))
    assert (known["alphabet"], known["letters"], known["fields"]) == ("ACGT", 10, [])


def test_fields_of_descriptions_are_targets(sequences):
    found = sequences(">a [class=x] t=1.5 z=1\nG\n>b class=y t=2\tu=3\nA\n")
    assert found.targets == ("class", "t", "description")
    rest, y = found.split_target("class")
    assert rest is found and y.tolist() == ["x", "y"]
    assert found.split_target("t")[1].tolist() == [1.5, 2.0]
    assert found.split_target("description")[1][0] == "[class=x] t=1.5 z=1"
    with pytest.raises(FileError, match="There is no target 'u'; the file has 'class', 't', 'description'"):
        found.split_target("u")
    assert sequences(">a t=1e999\nG\n").split_target("t")[1].tolist() == ["1e999"]
    assert sequences(">a t=1\nG\n>b\nG\n").targets == ()
    assert found.y is None and sequences(">a\nG\n").y is None
    only = sequences(">a t=1\nG\n>b t=2\nG\n")
    assert only.y.tolist() == only.split_target()[1].tolist() == [1.0, 2.0]
    with pytest.raises(FileError, match="No target was named; the file has 'class', 't', 'description'"):
        found.split_target()


def test_mixed_case_is_noted(sequences):
    assert "1 sequences mix" in sequences(">a\nGAtt\n>b\ngat\n").notes[0]
    assert sequences(">a\nGAT\n>b\ngat\n").notes == ()


def test_reads(sequences):
    found = sequences("@a x\r\nGAT\r\n+a x\r\n!I~\r\n\r\n@b\nT\n+\n@\n", read_fastq)
    assert found.X == ["GAT", "T"] and found.ids == ("a", "b") and found.format == "fastq"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(rows=1), "line 3: There are more than 1 sequences"),
        (Limits(sequence=2), "line 2: .*more than 2 letters"),
    ],
)
def test_limits(sequences, limits, message):
    with pytest.raises(FileError, match=message):
        sequences(">a\nGAT\n>b\nG\n", limits=limits)
    with pytest.raises(FileError, match=r"more than"):
        sequences("@a\nGAT\n+\nIII\n@b\nGAT\n+\nIII\n", read_fastq, limits)


def test_the_length_of_all_lines_counts(sequences):
    with pytest.raises(FileError, match="line 3: The sequence has more than 5 letters"):
        sequences(">a\nGAT\nTAC\n", limits=Limits(sequence=5))


def test_time_is_over(sequences):
    with pytest.raises(FileTimeError):
        sequences(">a\n" + "G\n" * 5000, limits=Limits(seconds=1e-9))
