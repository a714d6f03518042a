"""Names of output files, and refusals before the work begins."""

import os
from pathlib import Path

import pytest

from mercer.cli.failures import UsageFault
from mercer.cli.outputs import beside, naming_files, require_writable
from mercer.io.atomic import OverwriteError


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("a.csv", "a.mercer"),
        ("a.b.csv.gz", "a.b.mercer"),
        ("data", "data.mercer"),
        ("x.mercer", "x.mercer.mercer"),
    ],
)
def test_beside(given, named):
    assert beside(Path("folder") / given, ".mercer") == Path("folder") / named


def test_beside_a_folder(tmp_path, monkeypatch):
    (tmp_path / "trees.v2" / "inner").mkdir(parents=True)
    assert beside(tmp_path / "trees.v2", ".mercer") == tmp_path / "trees.v2.mercer"
    monkeypatch.chdir(tmp_path / "trees.v2")
    assert beside(Path("."), ".mercer") == tmp_path / "trees.v2.mercer"
    monkeypatch.chdir("inner")
    assert beside(Path(".."), ".mercer") == tmp_path / "trees.v2.mercer"
    assert beside(Path("/"), ".mercer") == Path("/data.mercer")


def test_what_cannot_be_written_is_refused_at_once(tmp_path):
    file = tmp_path / "a.txt"
    require_writable(file, force=False)
    file.write_text("precious")
    with pytest.raises(OverwriteError, match="--force"):
        require_writable(file, force=False)
    require_writable(file, force=True)
    assert file.read_text() == "precious"
    with pytest.raises(UsageFault, match="is a folder"):
        require_writable(tmp_path, force=True)
    with pytest.raises(UsageFault, match="no folder"):
        require_writable(tmp_path / "none" / "a.txt", force=False)


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_ours(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageFault, match="not writable"):
        require_writable(tmp_path / "a.txt", force=False)


@pytest.mark.parametrize("said", ["", "Interrupted; the state is in s."])
def test_an_interrupted_command_names_what_it_has_written(said):
    files = []
    with pytest.raises(KeyboardInterrupt) as nothing, naming_files(files):
        raise KeyboardInterrupt(said)
    assert str(nothing.value) == said
    with pytest.raises(KeyboardInterrupt) as some, naming_files(files):
        files.append(Path("a.mercer"))
        raise KeyboardInterrupt(said)
    assert str(some.value) == f"{said or 'Interrupted; the work was not finished.'} Written before: a.mercer."
