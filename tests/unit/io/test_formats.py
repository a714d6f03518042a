"""Which format a file or a folder has."""

import json
import zipfile

import pytest

from mercer.io.formats import FORMATS, TREES, detect, extension_of, is_folder, is_graph_folder
from mercer.io.limits import FileError
from tests.broken_structures import EDGES, GRAPH, GRAPHML, PENN, TU, zipped


def kind(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return detect(path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.mrg", PENN, "penn"),
        ("a.PTB", PENN, "penn"),
        ("a", PENN, "penn"),
        ("a.txt", "\n ( (S (NP x)) )", "penn"),
        ("a.xml", "<a/>", "xml"),
        ("a.xml", GRAPHML, "graphml"),
        ("a", GRAPHML, "graphml"),
        ("a.graphml", "<graphml/>", "graphml"),
        ("a.xhtml", "<!DOCTYPE html><p>", "html"),
        ("a.htm", "<html>", "html"),
        ("a.py", "x = 1\n", "python"),
        ("a.edges", EDGES, "edges"),
        ("a.edgelist", EDGES, "edges"),
        ("a.zip", b"anything", "tu"),
        ("a.bin", zipped(TU), "tu"),
    ],
)
def test_trees_and_graphs(tmp_path, name, text, expected):
    assert kind(tmp_path / name, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', "jsonl"),
        ('{"a": 1}\n{"a": 2}\n', "jsonl"),
        ('{"a": [1]}', "json"),
        ('{"a": [1]}\n{"a": [2]}\n', "jsonl"),  # whose reader says that values are single
        ("[[1], [2]]", "json"),
        ('[{"a": {"b": 1}}]', "json"),
        ('{"nodes": [1], "links": []}', "graph-json"),
        ('{"directed": false, "nodes": [], "edges": []}', "graph-json"),
        (json.dumps([GRAPH, GRAPH]), "graph-json"),
        ('{"a": {"nodes": [1], "links": []}}', "json"),  # not at the top
        ('{"a": ":", "b": "{[", "nodes": 3, "links": 4}', "jsonl"),
        ('{"nodes": [' + "0, " * 500_000 + '0], "links": []}', "graph-json"),  # keys far apart
        ("[]", "json"),
    ],
)
def test_json_is_told_apart_by_its_first_object(tmp_path, text, expected):
    assert kind(tmp_path / "a.json", text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"edges": [[0, 1]]}', "has 'edges', and graphs have both"),
        ('[{"name": "a", "nodes": [{"name": "b"}]}]', "has 'nodes', and graphs have both"),
        ('[{"a": 1}, {"a": 2}]', "one JSON list"),
        ("[1, 2]", "one JSON list"),
    ],
)
def test_unclear_json_is_refused(tmp_path, text, told):
    with pytest.raises(FileError, match=told) as caught:
        kind(tmp_path / "a.json", text)
    assert "ame the format" in caught.value.fix


def test_markup_needs_a_name_that_says_so(tmp_path):
    for name in ("a.csv", "a.txt", "a"):
        with pytest.raises(FileError, match="web page or XML"):
            kind(tmp_path / name, "<!DOCTYPE html><p>not found")


def test_json_lines_of_graphs(tmp_path):
    assert kind(tmp_path / "a.jsonl", json.dumps(GRAPH) + "\n" + json.dumps(GRAPH)) == "graph-json"
    assert kind(tmp_path / "b.jsonl", '{"nodes": 3, "links": 2}\n') == "jsonl"
    assert kind(tmp_path / "c", json.dumps(GRAPH)) == "graph-json"


def test_folders(tmp_path):
    for part, text in TU.items():
        (tmp_path / f"TOY_{part}.txt").write_text(text)
    assert is_folder(tmp_path) and is_folder(str(tmp_path)) and not is_folder(b"/") and not is_folder(None)
    assert is_graph_folder(tmp_path) and detect(tmp_path) == "tu"
    (tmp_path / "TOY_graph_indicator.txt").unlink()
    assert detect(tmp_path) == "tu"  # so that the reader says what is missing
    (tmp_path / "TOY_A.txt").unlink()
    assert detect(tmp_path) == "trees"


def test_archives(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.bin", "w") as archive:
        archive.writestr("a.txt", "hello")
    assert not is_graph_folder(tmp_path / "other.bin") and not is_graph_folder(tmp_path / "nothing.zip")
    with pytest.raises(FileError, match="zip archive"):
        detect(tmp_path / "other.bin")
    (tmp_path / "torn.bin").write_bytes(zipped(TU)[:-30])
    assert not is_graph_folder(tmp_path / "torn.bin")


def test_extensions(tmp_path):
    assert extension_of(tmp_path / "a.b.MRG.gz") == "mrg" and extension_of(tmp_path / "a") == ""
    assert set(TREES) < set(FORMATS)
    every = [extension for extensions in FORMATS.values() for extension in extensions]
    assert len(every) == len(set(every))
