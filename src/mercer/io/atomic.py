"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable
from typing import TypeAlias

from mercer.errors import MercerError, ParameterError

__all__ = ["OverwriteError", "refuse_overwriting", "require_replaceable", "write_atomically"]

PathLike: TypeAlias = str | os.PathLike[str]
Piece: TypeAlias = bytes | bytearray | memoryview

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES)


class OverwriteError(MercerError, FileExistsError):
    """A file of that name already exists, and overwriting was not allowed."""


def refuse_overwriting(path: PathLike) -> None:
    """Raise OverwriteError if there is a file of that name."""
    if os.path.lexists(path):
        raise OverwriteError(
            f"{os.fspath(path)} already exists; a file is overwritten only on request. "
            "Choose another name, or say force=True (on the command line --force)."
        )


def require_replaceable(path: PathLike, *, force: bool = False) -> None:
    """Raise unless a file of that name can be made, or replaced: pipes, devices and folders are left alone.

    Parameters
    ----------
    path : str or path
        A symbolic link is followed.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Raises
    ------
    ParameterError
        The name has a NUL byte, which no file can have.
    OverwriteError
        There is a file and ``force`` is false, or something that is not a file.
    """
    if "\0" in os.fsdecode(path):
        raise ParameterError(
            f"The name {os.fsdecode(path)!r} was given for a file; a name has no NUL byte. Choose another name."
        )
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:  # nothing is there, or a link to nothing
        mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        what = next((word for kind, word in _KINDS.items() if stat.S_IFMT(mode) == kind), "not an ordinary file")
        raise OverwriteError(
            f"{os.fspath(path)} is {what}; results are written to ordinary files, and nothing else is replaced. Give "
            "the name of a file."
        )
    if not force:
        refuse_overwriting(path)


def write_atomically(path: PathLike, pieces: Iterable[Piece], *, force: bool = False) -> None:
    """Write a file so that at every moment either the old or the whole new one has that name.

    Parameters
    ----------
    path : str or path
        Where to write the file. A symbolic link is followed, so the file that it names is replaced.
    pieces : iterable of bytes-like
        The content, one piece after another.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Raises
    ------
    OverwriteError
        There is a file of that name, and ``force`` is false; or something that is not a file, such as a pipe, a device
        or a folder.
    OSError
        The content could not be written. The file of that name is the old one or the whole new one, and
        nothing else is left behind.

    Notes
    -----
    A temporary file in the same directory is written, flushed and synchronised, then it is renamed by
    one `os.replace`, and the directory is synchronised, so that the name survives a loss of power.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"])
    ...     print(Path(folder, "a.txt").read_text())
    one two
    """
    require_replaceable(path, force=force)
    final = os.path.realpath(path)
    folder, name = os.path.split(final)
    # in the same directory: a name is taken over atomically only within one file system
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        require_replaceable(path, force=force)  # something may have come while this one was written
        os.replace(temporary, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _synchronise_directory(folder)


def _synchronise_directory(folder: str) -> None:
    """Make the new name durable; systems that cannot do it for a directory are skipped."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows does not open directories
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
