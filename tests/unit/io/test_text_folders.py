"""Folders of texts with a subfolder for each class."""

import pytest

from mercer.io import FileError, Limits, detect, read
from mercer.io.text_folders import read_text_folder


@pytest.fixture
def mail(tmp_path):
    for name, text in (("ham/1.txt", "see you\nat noon"), ("spam/x", "win a prizé"), ("ham/b.txt", "fine")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_texts_files_and_folders(mail):
    assert detect(mail) == "texts"
    table = read(mail)
    assert table.columns["text"] == ["see you\nat noon", "fine", "win a prizé"]
    assert table.columns["folder"] == ["ham", "ham", "spam"] and table.kinds["file"] == "identifier"
    assert table.columns["file"] == ["ham/1.txt", "ham/b.txt", "spam/x"] and table.format == "texts"
    rest, y = table.split_target("folder")
    assert "folder" not in rest.names and list(y) == ["ham", "ham", "spam"]


def test_other_files_are_named_in_a_note(mail):
    (mail / "ham" / "logo.png").write_bytes(b"\x89PNG")
    (mail / "ham" / ".hidden").write_bytes(b"x")
    assert read(mail).n == 3 and "2 files" in read(mail).notes[0]


def test_encodings_and_faults(mail):
    (mail / "spam" / "x").write_text("prizé", encoding="latin-1")
    assert read(mail, encoding="latin-1").columns["text"][-1] == "prizé"
    with pytest.raises(FileError, match=r"spam.x, line 1, character 5"):
        read(mail)
    with pytest.raises(FileError, match="limit"):
        read(mail, limits=Limits(bytes=10))
    with pytest.raises(FileError, match="not a folder"):
        read_text_folder(mail / "ham" / "1.txt")
    (mail / "empty").mkdir()
    with pytest.raises(FileError, match="no texts"):
        read_text_folder(mail / "empty")


def test_without_subfolders_there_is_no_class(mail):
    assert read_text_folder(mail / "ham").names == ("text", "file")


def test_files_of_trees_come_first(mail):
    (mail / "ham" / "a.xml").write_text("<a/>")
    assert detect(mail) == "trees"
