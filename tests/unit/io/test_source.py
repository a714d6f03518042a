import gzip
import os

import pytest

from mercer.errors import ParameterError
from mercer.io.limits import FileBudgetError, FileError, FileTimeError, Limits
from mercer.io.source import Source


def write(folder, data, name="f.csv"):
    path = folder / name
    path.write_bytes(data)
    return path


def lines(folder, data, limits=None):
    return list(Source.open(write(folder, data), limits or Limits()).lines())


def test_lines_keep_their_ends_and_drop_the_mark(tmp_path):
    assert lines(tmp_path, b"\xef\xbb\xbfa\nb\r\nc\rd") == ["a\n", "b\r\n", "c\r", "d"]
    assert lines(tmp_path, "é\u2028x\n".encode()) == ["é\u2028x\n"]


def test_compressed_and_plain_are_the_same(tmp_path):
    data = b"a,b\n" * 1000
    source = Source.open(write(tmp_path, gzip.compress(data)), Limits())
    assert source.compressed and source.data == data and source.head == data
    assert source.data is source.data


@pytest.mark.parametrize(
    ("data", "line", "character"),
    [
        (b"\xff", 1, 1),
        (b"ab\ncd\xff", 2, 3),
        (b"ab\r\ncd\r\xff", 3, 1),
        ("éé".encode() + b"\xff", 1, 3),
        (b"\xef\xbb\xbfab\xff", 1, 3),
        (b"a" * (2**20 - 1) + b"\xc3" + b"x", 1, 2**20),
        (b"a\n" * 2**19 + b"\xe9", 2**19 + 1, 1),
    ],
)
def test_bytes_that_are_no_text_are_located(tmp_path, data, line, character):
    with pytest.raises(FileError, match="save it as UTF-8") as caught:
        lines(tmp_path, data)
    assert (caught.value.line, caught.value.character) == (line, character)


def test_a_nul_is_located(tmp_path):
    with pytest.raises(FileError, match="NUL") as caught:
        lines(tmp_path, b"ab\nc\0d")
    assert (caught.value.line, caught.value.character) == (2, 2)


def test_a_character_across_two_pieces_is_read(tmp_path):
    data = b"a" * (2**20 - 1) + "é".encode()
    assert lines(tmp_path, data)[0][-1] == "é"


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        Source.open(tmp_path / "absent", Limits())
    with pytest.raises(FileError, match="a directory"):
        Source.open(tmp_path, Limits())
    with pytest.raises(FileError, match="cannot be opened"):
        Source.open("a\0b", Limits())
    with pytest.raises(FileError, match="cannot be opened"):
        Source.open("x" * 5000, Limits())


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not an ordinary file"):
        Source.open(tmp_path / "pipe", Limits())


def test_limits_on_size_memory_and_ratio(tmp_path):
    path = write(tmp_path, b"x" * 1000)
    with pytest.raises(FileError, match="more than 10 B"):
        Source.open(path, Limits(bytes=10))
    with pytest.raises(FileBudgetError):
        _ = Source.open(path, Limits(memory=1000)).data
    path = write(tmp_path, gzip.compress(b"x" * 3_000_000))
    with pytest.raises(FileError, match="expand more than 200 times"):
        _ = Source.open(path, Limits()).data
    assert len(Source.open(path, Limits(ratio=2000)).data) == 3_000_000
    with pytest.raises(FileError, match="more than"):
        _ = Source.open(path, Limits(ratio=2000, bytes=2_000_000)).data
    with pytest.raises(FileBudgetError):
        _ = Source.open(path, Limits(ratio=2000, memory=1_000_000)).data


def test_time_is_over(tmp_path):
    source = Source.open(write(tmp_path, b"x"), Limits(seconds=1e-9))
    with pytest.raises(FileTimeError, match="longer than 1e-09 seconds"):
        source.check_time(3)
    Source.open(write(tmp_path, b"x"), Limits()).check_time()


def test_other_encodings(tmp_path):
    text = "größe;ort\n1;Köln\n"
    for encoding in ("cp1252", "latin-1", "utf-16", "utf-16-le", "UTF8"):
        source = Source.open(write(tmp_path, text.encode(encoding)), Limits(), encoding)
        assert "".join(source.lines()) == text and source.head == text.encode()
    packed = gzip.compress(text.encode("cp1252"))
    assert "".join(Source.open(write(tmp_path, packed), Limits(), "cp1252").lines()) == text
    with pytest.raises(FileError, match="no text in ascii"):
        list(Source.open(write(tmp_path, text.encode("cp1252")), Limits(), "ascii").lines())
    for unknown in ("utf-99", "base64", 3, "a\0b"):
        with pytest.raises(ParameterError, match="encoding="):
            Source.open(write(tmp_path, b"a"), Limits(), unknown)
    with pytest.raises(FileError, match="--encoding WINDOWS-1252"):
        list(Source.open(write(tmp_path, text.encode("cp1252")), Limits()).lines())


def test_what_is_no_name(tmp_path):
    for path in (3, None, b"data.csv", ["a"]):
        with pytest.raises(ParameterError, match="is not the name of a file"):
            Source.open(path, Limits())


def test_packed_files_that_are_damaged_or_empty(tmp_path):
    packed = gzip.compress(b"some text\n" * 100)
    with pytest.raises(FileError, match="The gzip data are damaged"):
        _ = Source.open(write(tmp_path, packed[:-12]), Limits()).data
    with pytest.raises(FileError, match="empty after decompression"):
        _ = Source.open(write(tmp_path, gzip.compress(b"")), Limits()).data


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marks_of_other_encodings_are_told(tmp_path, encoding):
    with pytest.raises(FileError, match=f"(?i)The text is {encoding}"):
        list(Source.open(write(tmp_path, "a,b\n1,2\n".encode(encoding)), Limits()).lines())
