import gzip
import time

import numpy as np
import pytest

from mercer.io.limits import FileError, Limits
from mercer.io.source import Source
from mercer.io.structures.tree_files import TreeBank, read_tree_folder, read_trees
from tests.clock import allowed

BANK = "( (S (NP we)\n  (VP go)) )\n\n(S (NP they) (VP (V stay)))\n"


def read(path, text, **limits):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trees(Source.open(path, Limits(**limits)))


def test_treebanks(tmp_path):
    bank = read(tmp_path / "bank.mrg", BANK)
    assert isinstance(bank, TreeBank) and bank.n == 2 and bank.ids == ("1", "2") and bank.format == "penn"
    assert bank.X.nested(1) == ("S", ("NP", "they"), ("VP", ("V", "stay")))
    assert bank.take([1]).X.nested(0) == bank.X.nested(1)
    assert bank.describe()["nodes"] == 11 and bank.targets == ()
    assert repr(bank) == "<TreeBank of bank.mrg: 2 samples, 5 to 6 nodes>"
    with pytest.raises(FileError, match="samples only"):
        bank.split_target("folder")
    assert read(tmp_path / "bank.penn.gz", gzip.compress(BANK.encode())).n == 2


def test_documents(tmp_path):
    assert read(tmp_path / "a.xml", "<a><b/></a>").X.nested(0) == ("a", "b")
    assert read(tmp_path / "b.xml", '<?xml version="1.0" encoding="latin-1"?><a>é</a>'.encode("latin-1")).X.nested(
        0
    ) == (
        "a",
        "é",
    )
    assert read(tmp_path / "a.htm", "<p>x<p>y").X.nested(0) == ("#document", ("p", "x"), ("p", "y"))
    assert read(tmp_path / "a.json", '[{"a": 1}, [2]]').X.nested(1) == ("[]", "2")
    assert read(tmp_path / "b.json", '{"a": 1}').n == 1
    assert read(tmp_path / "a.py", "x = 1\n").X.nested(0)[0] == "Module"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.mrg", "(S a)\n(S (NP b)\n", "line 2: 1 brackets are not closed"),
        ("a.mrg", "(S a)\n\n(S b))", "line 3: A bracket closes"),
        ("a.mrg", "(S a)\nword (S b)", "line 2: 'word' stands between"),
        ("a.mrg", "(S a)\nword", "line 2: 'word' stands between"),
        ("a.mrg", "nothing", "stands between trees"),
        ("a.mrg", "\n\n", "There is no tree"),
        ("a.mrg", b"(S \xff)", "no UTF-8"),
        ("a.xml", "<a><b></a>", "not XML: mismatched"),
        ("a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares entities"),
        ("a.json", '{"a": 1,\n "b": tru}', "line 2: This is not JSON"),
        ("a.json", "[]", "empty"),
        ("a.json", '["text"]', "row 1: There is a single value"),
        ("a.json", '[{"a": 1}, 3]', "row 2: There is a single value"),
        ("a.py", "def f(:\n", "not Python"),
        ("a.txt", "(S a)", "no file of trees"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, name, text, told):
    with pytest.raises(FileError, match=told):
        read(tmp_path / name, text)


@pytest.mark.timing
def test_limits(tmp_path):
    with pytest.raises(FileError, match="more than 1 trees"):
        read(tmp_path / "a.mrg", BANK, rows=1)
    with pytest.raises(FileError, match="the limit"):
        read(tmp_path / "a.mrg", BANK, bytes=10)
    with pytest.raises(FileError, match="Reading its trees needs"):
        read(tmp_path / "a.mrg", BANK, memory=1000)
    deep = "(a " * 50_000 + "x" + ")" * 50_000
    began = time.process_time()
    assert read(tmp_path / "deep.mrg", deep).X.sizes.tolist() == [50_001]
    assert time.process_time() - began < allowed(5.0)
    for name, unit in (("d.mrg", "("), ("d.json", "["), ("d.xml", "<a>"), ("d.py", "(")):
        with pytest.raises(FileError):
            read(tmp_path / name, unit * 50_000)


def test_folders(tmp_path):
    for group, words in (("good", ("yes", "fine")), ("bad", ("no",))):
        (tmp_path / group).mkdir()
        for i, word in enumerate(words):
            (tmp_path / group / f"{i}.xml").write_text(f"<a>{word}</a>")
    (tmp_path / "good" / "bank.mrg").write_text(BANK)
    (tmp_path / "readme.txt").write_text("hello")
    bank = read_tree_folder(tmp_path)
    assert bank.n == 5 and bank.targets == ("folder",) and bank.format == "trees"
    assert bank.ids[0] == "bad/0.xml" and "good/bank.mrg:2" in bank.ids
    X, y = bank.split_target("folder")
    assert X.X is bank.X and X.targets == () and bank.y.tolist() == y.tolist()
    assert y.tolist() == ["bad", "good", "good", "good", "good"]
    assert bank.take(np.array([0, 1])).split_target()[1].tolist() == ["bad", "good"]
    assert bank.notes == ("1 files that are not trees were passed over.",)
    with pytest.raises(FileError, match="the limit"):
        read_tree_folder(tmp_path, Limits(bytes=20))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="nor files of trees"):
        read_tree_folder(tmp_path / "empty")
    with pytest.raises(FileError, match="not a folder"):
        read_tree_folder(tmp_path / "readme.txt")
