"""TU Dortmund folders and archives, whole and broken."""

import zipfile

import numpy as np
import pytest

from mercer.io.formats import is_graph_folder
from mercer.io.limits import FileError, Limits
from mercer.io.structures.graph_archives import read_tu

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "6\n6\n8\n6\n1\n",
    "edge_labels": "0\n0\n1\n1\n0\n0\n",
    "node_attributes": "0.5, 1\n1, 1\n2, 1\n3, 1\n4, 1e2\n",
}


def written(folder, changes=None):
    files = FILES | (changes or {})
    folder.mkdir(exist_ok=True)
    for part, text in files.items():
        if text is not None:
            (folder / f"TOY_{part}.txt").write_text(text)
    return folder


def test_a_folder_is_read(tmp_path):
    data = read_tu(written(tmp_path / "TOY"))
    S = data.graphs
    assert data.n == 2 and data.targets == ("label",) and data.y.tolist() == [-1, 1]
    assert S.node_labels(0) == (6, 6, 8) and S.edges(0).tolist() == [[0, 1], [1, 2]] and not S.directed.any()
    assert S.edge_vocabulary == (0, 1) and S.attributes[4].tolist() == [4.0, 100.0]
    X, y = data.split_target()
    assert X.targets == () and y.tolist() == [-1, 1] and X.X is S
    assert data.take([1]).graphs.node_labels(0) == (6, 1) and data.describe()["nodes"] == 5
    assert repr(data).startswith("<GraphData of TOY: 2 samples, 2 to 3 nodes")
    assert is_graph_folder(tmp_path / "TOY") and not is_graph_folder(tmp_path)


def test_an_archive_is_read_as_the_folder_is(tmp_path):
    folder = written(tmp_path / "TOY")
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"TOY/{file.name}")
    left, right = read_tu(folder), read_tu(tmp_path / "toy.zip")
    assert all(map(np.array_equal, left.graphs.arrays, right.graphs.arrays))
    assert is_graph_folder(tmp_path / "toy.zip") and not is_graph_folder(folder / "TOY_A.txt")


def test_directions_are_found(tmp_path):
    one_way = read_tu(written(tmp_path / "a", {"A": "1, 2\n2, 3\n4, 5\n5, 4\n", "edge_labels": None}))
    assert one_way.graphs.directed.tolist() == [True, False]
    twice = read_tu(written(tmp_path / "b", {"A": FILES["A"] * 2, "edge_labels": FILES["edge_labels"] * 2}))
    assert len(twice.graphs.edges(0)) == 2
    labels = read_tu(written(tmp_path / "c", {"edge_labels": "0\n1\n1\n1\n0\n0\n"}))
    assert labels.graphs.directed.tolist() == [True, False]


def test_several_labels_and_numbers(tmp_path):
    changes = {"node_labels": "1, 2\n1, 3\n1, 2\n1, 2\n1, 2\n", "graph_attributes": "0.5, 1\n2, 3\n"}
    data = read_tu(written(tmp_path / "a", changes))
    assert data.graphs.node_labels(0) == ((1, 2), (1, 3), (1, 2))
    assert data.targets == ("label", "attribute 1", "attribute 2") and data.y is None
    with pytest.raises(FileError, match="No target was named"):
        data.split_target()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": None}, "no file ending in _A.txt"),
        ({"A": "1, 2\n2, 9\n", "edge_labels": None}, "line 2.*there are 5 nodes"),
        ({"A": "1, 2\n1, 4\n", "edge_labels": None}, "line 2.*different graphs"),
        ({"A": "1, 2\n1; 4\n", "edge_labels": None}, "line 2.*stands where 2 numbers are expected"),
        ({"A": "1, 2\n1\n", "edge_labels": None}, "line 2.*2 numbers"),
        ({"A": "1, 2\n1.5, 2\n", "edge_labels": None}, "line 2.*not whole"),
        ({"graph_indicator": "1\n1\n2\n1\n2\n"}, "counted from 1 in order"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, "without gaps"),
        ({"node_labels": "1\n2\n"}, "2 lines for 5 nodes"),
        ({"node_attributes": "nan\n1\n1\n1\n1\n"}, "line 1.*nan"),
        ({"node_attributes": "1e400\n1\n1\n1\n1\n"}, "line 1.*1e400"),
        ({"graph_labels": "1\n"}, "1 lines for 2 graphs"),
    ],
)
def test_broken_folders_are_refused(tmp_path, changes, message):
    folder = written(tmp_path / "TOY", changes)
    with pytest.raises(FileError, match=message):
        read_tu(folder)


def test_guards(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X_A.txt", "1, 2\n" * 400_000)
        archive.writestr("X_graph_indicator.txt", "1\n1\n")
    with pytest.raises(FileError, match="expands to more than is allowed"):
        read_tu(tmp_path / "bomb.zip")
    (tmp_path / "torn.zip").write_bytes((tmp_path / "bomb.zip").read_bytes()[:-40])
    with pytest.raises(FileError, match="cannot be read"):
        read_tu(tmp_path / "torn.zip")
    with pytest.raises(FileError, match="Reading its graphs needs"):
        read_tu(written(tmp_path / "SMALL"), Limits(memory=2000))
    with pytest.raises(FileError, match="more than 3 lines"):
        read_tu(written(tmp_path / "TOY"), Limits(rows=3))
    written(tmp_path / "TOY")
    (tmp_path / "TOY" / "OTHER_A.txt").write_text("1, 2\n")
    with pytest.raises(FileError, match=r"2 files ending in _A\.txt"):
        read_tu(tmp_path / "TOY")
