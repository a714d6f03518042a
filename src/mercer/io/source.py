"""The bytes of a file behind every guard: size, compression, encoding, memory, time."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from mercer.budget import Clock, format_bytes
from mercer.constraints import OneOf
from mercer.errors import ParameterError
from mercer.io.limits import FileError, FileTimeError, Limits

__all__ = ["GZIP", "NUMPY", "PARQUET", "Source"]

GZIP, NUMPY, PARQUET = b"\x1f\x8b", b"\x93NUMPY", b"PAR1"  # how files begin
_PIECE = 2**20  # bytes decompressed or decoded at a time
_HARMLESS = 10**6  # bytes: what is smaller than this after decompression is not a bomb
# Fields become Python objects for a moment, numbers become eight bytes: measured on tables of short fields.
_EXPANSION = 8

_UTF8 = "Name its encoding ({guess}, on the command line: --encoding {guess}), or save it as UTF-8."
_BOMS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32"}
_BOMS |= {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


@dataclass
class Source:
    """A file opened for one reader.

    Attributes
    ----------
    path : Path
        The file as it was named.
    limits : Limits
        What may be read from it.
    size : int
        Bytes on disk.
    head : bytes
        The first bytes, decompressed.
    compressed : bool
        Whether the file is gzip.
    encoding : str
        Of its text, which readers get as UTF-8.
    decimal : str
        What separates the integer part of its numbers from the fraction, ``"."`` or ``","``.
    """

    path: Path
    limits: Limits
    size: int
    head: bytes
    compressed: bool
    clock: Clock
    encoding: str = "utf-8"
    decimal: str = "."
    _data: bytes | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | Path, limits: Limits, encoding: str = "utf-8", decimal: str = ".") -> Source:
        """Look at a file: it must exist, be an ordinary file, hold something and be no larger than allowed."""
        OneOf(".", ",").check("decimal", decimal, "read")
        encoding = _known_encoding(encoding)
        if not isinstance(path, (str, os.PathLike)):
            raise ParameterError(f"path={path!r:.60} is not the name of a file; text or a Path is accepted. Give one.")
        path = Path(path)
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                what = "a directory" if stat.S_ISDIR(status.st_mode) else "not an ordinary file"
                raise FileError(path, f"This is {what}; a data file is accepted.", "Name the file itself.")
            with path.open("rb") as stream:
                head = stream.read(_PIECE)
        except FileError:
            raise
        except FileNotFoundError:
            raise FileError(path, "There is no such file.", "Check the name and the folder.") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            reason = getattr(error, "strerror", None) or str(error)
            raise FileError(path, f"The file cannot be opened: {reason}.", "Check its permissions.") from error
        source = cls(path, limits, status.st_size, head, head.startswith(GZIP), limits.clock(), encoding, decimal)
        if not head:
            raise source.error("The file is empty.", "Give a file with at least one row.", line=1)
        if source.size > limits.bytes:
            raise source.too_large(source.size)
        if source.compressed:
            with path.open("rb") as stream:
                source.head = next(source._inflated(stream), b"")
        if encoding != "utf-8":
            decoder = codecs.getincrementaldecoder(encoding)("replace")  # the last character may be cut
            source.head = decoder.decode(source.head).encode()
        return source

    def error(self, problem: str, fix: str, **place: Any) -> FileError:
        """Return an error about this file."""
        return FileError(self.path, problem, fix, **place)

    def too_large(self, size: int) -> FileError:
        """Return the error of a file larger than the limit."""
        return self.error(
            f"The file holds more than {format_bytes(self.limits.bytes)}, the limit ({format_bytes(size)}).",
            "Split the file, or allow more with Limits(bytes=...).",
            byte=self.limits.bytes,
        )

    def check_time(self, line: int | None = None) -> None:
        """Refuse to go on when time is up."""
        if self.clock.expired:
            raise FileTimeError(
                self.path,
                f"Reading has taken longer than {self.limits.seconds:g} seconds, the limit.",
                "Split the file, or allow more with Limits(seconds=...).",
                line=line,
            )

    # ------------------------------------------------------------------ bytes

    @property
    def data(self) -> bytes:
        """All bytes, decompressed."""
        if self._data is None:
            self.limits.require(self.path, "Reading it", self.size * _EXPANSION)
            with self.path.open("rb") as stream:
                self._data = b"".join(self._inflated(stream)) if self.compressed else stream.read()
            if self.encoding != "utf-8":
                self._data = self._transcoded(self._data)
            self.limits.require(self.path, "Reading it", len(self._data) * _EXPANSION)
        return self._data

    def _transcoded(self, data: bytes) -> bytes:
        try:
            return data.decode(self.encoding).encode()
        except UnicodeError as error:
            byte = getattr(error, "start", 0)
            raise self.error(
                f"The bytes are no text in {self.encoding}, which was named as its encoding.",
                "Name the encoding with which it was written, or leave it out for UTF-8.",
                byte=byte,
            ) from None

    def _inflated(self, stream: BinaryIO) -> Iterator[bytes]:
        total = 0
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                while piece := unpacked.read(_PIECE):
                    total += len(piece)
                    self._check_inflation(total)
                    yield piece
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(
                f"The gzip data are damaged: {error}.", "Compress the file again, or copy it again.", byte=total
            ) from error
        if total == 0:
            raise self.error("The file is empty after decompression.", "Give one with some rows.", line=1)

    def _check_inflation(self, total: int) -> None:
        if total > self.limits.bytes:
            raise self.too_large(total)
        if total > max(_HARMLESS, self.limits.ratio * self.size):
            raise self.error(
                f"The gzip data expand more than {self.limits.ratio:g} times, the limit: a decompression bomb?",
                "If you trust the file, unpack it first (gunzip).",
                byte=total,
            )
        self.limits.require(self.path, "Unpacking it", total * _EXPANSION)
        self.check_time()

    # ------------------------------------------------------------------ text

    def lines(self) -> Iterator[str]:
        """The lines with their ends, after a check that all of it is UTF-8 text; a byte-order mark is dropped."""
        data = self.data
        self._check_text(data)
        start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        stream = io.BytesIO(data)
        stream.seek(start)
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield from text

    def _check_text(self, data: bytes) -> None:
        for mark, encoding in _BOMS.items():
            if data.startswith(mark):
                problem = f"The text is {encoding}; UTF-8 is accepted."
                raise self.error(problem, _UTF8.format(guess=encoding), line=1)
        nul = data.find(b"\0")
        if nul >= 0:
            line, character = _position(data, nul)
            raise self.error(
                "There is a NUL byte: this is not a text file, or it is damaged.",
                "Export the data again as text, or name the right file.",
                line=line,
                character=character,
            )
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(data), _PIECE):
            try:
                decoder.decode(data[start : start + _PIECE], final=start + _PIECE >= len(data))
            except UnicodeDecodeError as error:
                # The decoder may have kept the beginning of a character from the piece before.
                held = len(error.object) - len(data[start : start + _PIECE])
                raise self._not_utf8(data, start - held + error.start) from None

    def _not_utf8(self, data: bytes, byte: int) -> FileError:
        line, character = _position(data, byte)
        return self.error(
            f"Byte 0x{data[byte]:02x} is no UTF-8 text; it looks like an older encoding, such as Windows-1252.",
            _UTF8.format(guess="WINDOWS-1252"),
            line=line,
            character=character,
        )


def _known_encoding(name: str) -> str:
    """Return the name that Python has for an encoding of text."""
    try:
        "".encode(name)  # of names such as base64, which are no encodings of text, this is an error
        return codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            f"encoding={name!r:.60} is not known; names such as 'utf-8', 'latin-1', 'cp1252' and 'utf-16' are. Write "
            "one that Python knows."
        ) from None


def _position(data: bytes, byte: int) -> tuple[int, int]:
    """Line and character, from 1, of a byte; what precedes it is UTF-8."""
    begin = max(data.rfind(b"\n", 0, byte), data.rfind(b"\r", 0, byte)) + 1
    before = data[:begin]
    line = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n") + 1
    return line, len(data[begin:byte].decode("utf-8", "replace").removeprefix("\ufeff")) + 1
