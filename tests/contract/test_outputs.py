"""Every writer makes ordinary files and replaces ordinary files only: pipes, devices and folders are left alone.

Pipes are made for the purpose in a temporary folder; nothing is ever tried on a node of the system.
"""

import os
import stat
import threading

import numpy as np
import pytest
from click.testing import CliRunner

from mercer import KernelRidge, load, save
from mercer.cli.application import application
from mercer.errors import CheckpointError, ParameterError
from mercer.gram import Tiles
from mercer.io.atomic import OverwriteError, write_atomically
from mercer.io.checkpoint import Checkpoint
from mercer.io.model_file import describe
from mercer.kernels import Gaussian
from mercer.reports import report

X = np.random.default_rng(0).normal(size=(12, 2))
MODEL = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")


def _checkpoint(path):
    KernelRidge(Gaussian(1.0), gram=Tiles()).set_callbacks(Checkpoint(path, every=0.0)).fit(X, X[:, 0])


WRITERS = {
    "model": lambda path: save(MODEL, path, force=True),
    "report": lambda path: report(MODEL, X).save(path, force=True),
    "bytes": lambda path: write_atomically(path, [b"abc"], force=True),
    "checkpoint": _checkpoint,
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n" + "".join(f"{u},{v},{u + v}\n" for u, v in X.round(3).tolist()))
    return path


@pytest.fixture
def node(tmp_path):
    os.mkfifo(tmp_path / "node")
    return tmp_path / "node"


def is_pipe(path):
    return stat.S_ISFIFO(os.lstat(path).st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_leave_a_pipe_alone(writer, node, tmp_path):
    (tmp_path / "link").symlink_to(node)
    for path in (node, tmp_path / "link"):
        with pytest.raises((OverwriteError, CheckpointError), match="is a pipe; results are written to ordinary files"):
            WRITERS[writer](path)
    assert is_pipe(node) and os.path.islink(tmp_path / "link")
    assert sorted(os.listdir(tmp_path)) == ["link", "node"]


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_refuse_folders_and_names_that_are_none(writer, tmp_path):
    with pytest.raises((OverwriteError, CheckpointError), match="is a folder"):
        WRITERS[writer](tmp_path)
    with pytest.raises((ParameterError, CheckpointError), match="NUL byte"):
        WRITERS[writer](f"{tmp_path}/a\0b")


@pytest.mark.parametrize("writer", ["model", "report", "bytes"])
def test_a_link_to_a_file_is_followed(writer, tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    WRITERS[writer](tmp_path / "link")
    assert os.path.islink(tmp_path / "link") and (tmp_path / "file").read_bytes() != b"old"
    (tmp_path / "dangling").symlink_to("new")
    WRITERS[writer](tmp_path / "dangling")
    assert (tmp_path / "new").is_file() and os.path.islink(tmp_path / "dangling")


COMMANDS = {
    "fit": ["fit", "data.csv", "--target", "y", "-o", "OUT", "-f"],
    "report": ["fit", "data.csv", "--target", "y", "-o", "m.mercer", "--report", "OUT", "-f"],
    "checkpoint": [
        "fit",
        "data.csv",
        "--target",
        "y",
        "-o",
        "m.mercer",
        "--estimator",
        "KernelRidge(Gaussian(1.0))",
        "--checkpoint",
        "OUT",
    ],
    "predict": ["predict", "model.mercer", "data.csv", "-o", "OUT", "-f"],
    "gram": ["gram", "data.csv", "--kernel", "Gaussian(1.0)", "--target", "y", "-o", "OUT", "-f"],
    "convert": ["convert", "data.csv", "--to", "jsonl", "-o", "OUT", "-f"],
}


def run(command, output, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return CliRunner().invoke(
        application, [str(output) if word == "OUT" else word for word in COMMANDS[command]], prog_name="mercer"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_leave_a_pipe_alone(command, data, node, monkeypatch):
    save(KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]), data.parent / "model.mercer")
    result = run(command, node, data.parent, monkeypatch)
    assert result.exit_code == 2 and "is a pipe" in result.output, result.output
    assert is_pipe(node)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_nul_byte_is_wrong_usage(command, data, monkeypatch):
    save(KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]), data.parent / "model.mercer")
    result = run(command, "a\0b", data.parent, monkeypatch)
    assert result.exit_code == 2 and "NUL byte" in result.output, result.output


@pytest.mark.parametrize("suffix", [".part", ".progress"])
def test_what_an_unfinished_matrix_is_kept_in_is_no_pipe(suffix, data, monkeypatch):
    os.mkfifo(data.parent / f"K.npy{suffix}")
    result = run("gram", "K.npy", data.parent, monkeypatch)
    assert result.exit_code == 2 and "is a pipe" in result.output
    assert is_pipe(data.parent / f"K.npy{suffix}")


def test_a_gram_matrix_goes_where_a_link_points(data, monkeypatch):
    (data.parent / "elsewhere").mkdir()
    (data.parent / "K.npy").symlink_to("elsewhere/K.npy")
    assert run("gram", "K.npy", data.parent, monkeypatch).exit_code == 0
    assert os.path.islink(data.parent / "K.npy")
    assert np.load(data.parent / "elsewhere" / "K.npy").shape == (12, 12)


def test_reading_a_pipe_does_not_wait(node):
    found = []

    def read():
        for function in (load, describe):
            try:
                function(node)
            except ValueError as error:
                found.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(60)
    assert len(found) == 2 and all("not an ordinary file" in text for text in found)


def test_removing_a_checkpoint_removes_files_only(node):
    Checkpoint(node).remove()
    assert is_pipe(node)
