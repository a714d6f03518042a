"""A file appears whole or not at all, whatever fails on the way."""

import builtins
import errno
import os
import stat

import pytest

from mercer.errors import MercerError, ParameterError
from mercer.io import atomic
from mercer.io.atomic import OverwriteError, require_replaceable, write_atomically

PIECES = [b"first ", memoryview(b"second "), bytearray(b"third")]


def test_the_pieces_make_the_file(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, PIECES)
    assert path.read_bytes() == b"first second third"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]
    write_atomically(str(path), iter([]), force=True)
    assert path.read_bytes() == b""


def test_nothing_is_overwritten_unless_asked(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(OverwriteError, match="force=True") as caught:
        write_atomically(path, PIECES)
    assert isinstance(caught.value, FileExistsError)
    assert isinstance(caught.value, MercerError)
    assert path.read_bytes() == b"old"
    write_atomically(path, PIECES, force=True)
    assert path.read_bytes() == b"first second third"


def test_a_file_that_comes_in_the_meantime_is_kept(tmp_path):
    path = tmp_path / "a.bin"

    def slow():
        yield b"new"
        path.write_bytes(b"somebody else's")

    with pytest.raises(OverwriteError):
        write_atomically(path, slow())
    assert path.read_bytes() == b"somebody else's"
    assert len(list(tmp_path.iterdir())) == 1


def test_permissions_are_those_of_any_new_file(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, PIECES)
    (tmp_path / "b.bin").write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "b.bin").stat().st_mode)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.bin").write_bytes(b"old")
    link = tmp_path / "link.bin"
    link.symlink_to(tmp_path / "real.bin")
    with pytest.raises(OverwriteError):
        write_atomically(link, PIECES)
    write_atomically(link, PIECES, force=True)
    assert link.is_symlink()
    assert (tmp_path / "real.bin").read_bytes() == b"first second third"


def test_a_missing_folder_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.bin", PIECES)


class Failing:
    """A stream whose k-th write fails, or writes half of what it is given and then fails."""

    def __init__(self, stream, fails_at, code, torn):
        self.stream, self.left, self.code, self.torn = stream, fails_at, code, torn

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stream.close()

    def write(self, piece):
        self.left -= 1
        if self.left < 0:
            if self.torn:
                self.stream.write(bytes(piece)[: len(piece) // 2])
            raise OSError(self.code, os.strerror(self.code))
        return self.stream.write(piece)

    def flush(self):
        self.left -= 1
        if self.left < 0:
            raise OSError(self.code, os.strerror(self.code))
        self.stream.flush()

    def fileno(self):
        return self.stream.fileno()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("step", range(4))
def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, code, old, torn, step):
    path = tmp_path / "a.bin"
    if old is not None:
        path.write_bytes(old)

    def opened(name, mode):
        return Failing(builtins.open(name, mode), step, code, torn)

    monkeypatch.setattr(atomic, "open", opened, raising=False)
    with pytest.raises(OSError) as caught:
        write_atomically(path, PIECES, force=True)
    assert caught.value.errno == code
    assert [entry.name for entry in tmp_path.iterdir()] == ([] if old is None else ["a.bin"])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failing_system_call_leaves_the_old_file(tmp_path, monkeypatch, code, name, old):
    path = tmp_path / "a.bin"
    if old is not None:
        path.write_bytes(old)

    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(OSError):
        write_atomically(path, PIECES, force=True)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ([] if old is None else ["a.bin"])
    assert old is None or path.read_bytes() == old


def failing_second(monkeypatch, code):
    calls = []
    real = os.fsync

    def second(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", second)


def test_a_directory_that_cannot_be_synchronised_is_no_error_but_a_broken_disk_is(tmp_path, monkeypatch):
    failing_second(monkeypatch, errno.EINVAL)
    write_atomically(tmp_path / "a.bin", PIECES)
    monkeypatch.undo()
    failing_second(monkeypatch, errno.EIO)
    with pytest.raises(OSError):
        write_atomically(tmp_path / "b.bin", PIECES)
    for name in ("a.bin", "b.bin"):
        assert (tmp_path / name).read_bytes() == b"first second third"
    assert len(list(tmp_path.iterdir())) == 2


def test_systems_that_do_not_open_directories(tmp_path, monkeypatch):
    real = os.open

    def refuse(name, *rest, **options):
        if os.path.isdir(name):
            raise PermissionError(errno.EACCES, "no")
        return real(name, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    write_atomically(tmp_path / "a.bin", PIECES)
    assert (tmp_path / "a.bin").exists()


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupted():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a.bin", interrupted())
    assert not list(tmp_path.iterdir())


def test_every_byte_is_synchronised_before_the_name_is_taken(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b))[1])
    write_atomically(tmp_path / "a.bin", PIECES)
    assert order == ["fsync", "replace", "fsync"]


def test_only_ordinary_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path, word in ((tmp_path / "pipe", "pipe"), (tmp_path / "link", "pipe"), (tmp_path, "folder|directory")):
        with pytest.raises(OverwriteError, match=f"is a.*({word}).*results are written to ordinary files"):
            require_replaceable(path, force=True)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    with pytest.raises(ParameterError, match="a name has no NUL byte"):
        require_replaceable("a\0b")
    require_replaceable(tmp_path / "new")
