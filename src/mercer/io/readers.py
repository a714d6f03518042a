"""One door for data files: find the format, read it within limits, or say what is wrong and where.

The format is found by the first bytes (Parquet, NumPy, gzip), then by the extension, then by the look of
the first lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from mercer.errors import ParameterError
from mercer.io.columns import Kinds, checked_kinds
from mercer.io.datasets import Dataset
from mercer.io.delimited import DELIMITERS, read_delimited
from mercer.io.fasta import read_fasta, read_fastq
from mercer.io.gram_file import MAGIC as NUMPY
from mercer.io.gram_file import read_gram, read_gram_rows
from mercer.io.jsonl import read_jsonl
from mercer.io.limits import FileBudgetError, Limits, shown
from mercer.io.parquet import MAGIC as PARQUET
from mercer.io.parquet import read_parquet
from mercer.io.source import GZIP, Source
from mercer.io.svmlight import LINE, read_svmlight

__all__ = ["FORMATS", "detect", "read"]

FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": ("csv",),
    "tsv": ("tsv", "tab"),
    "parquet": ("parquet", "pq"),
    "svmlight": ("svmlight", "libsvm", "svm"),
    "gram": ("npy",),
    "gram-rows": (),
    "jsonl": ("jsonl", "ndjson"),
    "fasta": ("fasta", "fa", "fna", "faa", "ffn", "frn"),
    "fastq": ("fastq", "fq"),
}
_EXTENSIONS = {extension: name for name, extensions in FORMATS.items() for extension in extensions}
_KNOWN = "CSV, TSV, Parquet, svmlight, JSON lines, FASTA, FASTQ and Gram matrices (.npy)"

# Files that people have, which are none of ours: how each begins, what it is, what to do.
_STRANGERS = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet (.xlsx, .npz)", "Unpack it, or save the sheet as 'CSV UTF-8'."),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls)", "Save the sheet as 'CSV UTF-8'."),
    (b"\x80\x02", "a pickle, which can run any program", "Save the data as CSV, Parquet or .npy."),
    (b"\x80\x03", "a pickle, which can run any program", "Save the data as CSV, Parquet or .npy."),
    (b"\x80\x04", "a pickle, which can run any program", "Save the data as CSV, Parquet or .npy."),
    (b"\x80\x05", "a pickle, which can run any program", "Save the data as CSV, Parquet or .npy."),
    (b"\x89HDF", "an HDF5 file", "Export it as Parquet or CSV."),
    (b"ARROW1", "an Arrow (Feather) file", "Write it as Parquet."),
    (b"BZh", "compressed by bzip2", "Unpack it first (bunzip2), or use gzip."),
    (b"\xfd7zXZ", "compressed by xz", "Unpack it first (unxz), or use gzip."),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard", "Unpack it first (unzstd), or use gzip."),
    (b"%PDF", "a PDF document", "Export the table as CSV."),
    (b"SQLite format 3", "a SQLite data base", "Export the table as CSV."),
)
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE)


def detect(path: str | Path, limits: Limits | None = None) -> str:
    """Return the format of a file, one of ``FORMATS``."""
    return _detected(Source.open(path, limits or Limits()))


def read(
    path: str | Path,
    format: str | None = None,
    limits: Limits | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Dataset:
    r"""Read the samples of a file.

    Parameters
    ----------
    path : str or Path
        The file.
    format : str, optional
        One of ``FORMATS``; found if not given. ``"gram-rows"``, similarities of new samples with those of
        training, is never found: it must be asked for.
    limits : Limits, optional
        How much to take of a file before refusing it.
    kinds : mapping of str to str, optional
        Kinds of columns of a table, by name, instead of those that the rules find: the ``kinds`` of the
        training table, when new samples are read. Names that the table does not have are ignored.

    Returns
    -------
    Dataset
        Table (CSV, TSV, Parquet, JSON lines), Sparse (svmlight), Sequences (FASTA, FASTQ) or GramMatrix.

    Raises
    ------
    FileError
        The file is not as it should be; the message names the place and a fix.
    ParameterError
        There is no such format or kind of column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.csv")
    ...     _ = path.write_text("age,city\n3,Rome\n5,Oslo\n4,Rome\n")
    ...     table = read(path)
    >>> table
    <Table of data.csv: 3 samples, 1 number, 1 category>
    >>> table.X["age"]
    array([3., 5., 4.])
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format={format!r} is not known; {', '.join(FORMATS)} are. Choose one of them.")
    wanted = checked_kinds(kinds)
    source = Source.open(path, limits or Limits())
    try:
        name = format or _detected(source)
        return _READERS[name](source, wanted)
    except MemoryError as error:
        if isinstance(error, FileBudgetError):
            raise
        raise FileBudgetError(
            source.path,
            "Memory ran out while reading it.",
            "Split the file, or keep fewer rows or columns.",
        ) from None
    except OSError as error:
        if isinstance(error, ValueError):  # a FileTimeError is both
            raise
        raise source.error(
            f"The file cannot be read: {error.strerror or error}.", "Check the disk, and copy the file again."
        ) from error


_READERS: dict[str, Callable[[Source, Kinds], Dataset]] = {
    "csv": read_delimited,
    "tsv": lambda source, kinds: read_delimited(source, kinds, "\t"),
    "parquet": read_parquet,
    "svmlight": lambda source, kinds: read_svmlight(source),
    "gram": lambda source, kinds: read_gram(source),
    "gram-rows": lambda source, kinds: read_gram_rows(source),
    "jsonl": read_jsonl,
    "fasta": lambda source, kinds: read_fasta(source),
    "fastq": lambda source, kinds: read_fastq(source),
}


def _detected(source: Source) -> str:
    """The format: by the first bytes, then the extension, then the look of the text."""
    head = source.head
    if head.startswith(NUMPY):
        return "gram"
    if head.startswith(PARQUET) and _tail(source) == PARQUET:
        return "parquet"
    _refuse_strangers(source)
    suffixes = [suffix.lower().lstrip(".") for suffix in source.path.suffixes]
    if suffixes and suffixes[-1] in ("gz", "gzip"):
        suffixes.pop()
    if suffixes and suffixes[-1] in _EXTENSIONS:
        return _EXTENSIONS[suffixes[-1]]
    return _sniffed(source)


def _tail(source: Source) -> bytes:
    with source.path.open("rb") as stream:
        stream.seek(max(0, source.size - len(PARQUET)))
        return stream.read(len(PARQUET))


def _refuse_strangers(source: Source) -> None:
    head = source.head
    for magic, what, fix in _STRANGERS:
        if head.startswith(magic):
            raise source.error(f"The file is {what}; {_KNOWN} are accepted.", fix, byte=0)
    if source.compressed and head.startswith(GZIP):
        raise source.error("The file is compressed twice.", "Unpack it once (gunzip).", byte=0)
    if _MARKUP.match(head):
        raise source.error(
            f"The file is a web page or XML; {_KNOWN} are accepted.",
            "Download the data file itself, or export the table as CSV.",
            line=1,
        )


def _sniffed(source: Source) -> str:
    text = source.head[: 2**16].decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    first = lines[0].lstrip() if lines else ""
    if first.startswith(">"):
        return "fasta"
    if first.startswith("@") and len(lines) > 2 and lines[2].startswith("+"):
        return "fastq"
    if first.startswith("{"):
        return "jsonl"
    if first.startswith("["):
        raise source.error(
            "The file is one JSON list; objects on lines of their own are accepted.",
            "Write one object per line (JSON lines), without the brackets around all.",
            line=1,
        )
    samples = [line.partition("#")[0] for line in lines[:20]]
    samples = [line for line in samples if line.strip()]
    if samples and ":" in samples[0] and LINE.fullmatch(samples[0]):
        return "svmlight"
    if any(delimiter in first for delimiter in DELIMITERS):
        return "csv"
    extension = shown(source.path.suffix) if source.path.suffix else "none"
    raise source.error(
        f"The format is not known: neither the extension ({extension}) nor the first line tells it. {_KNOWN} are "
        "accepted.",
        f"Rename the file (as data.csv), or name its format, one of {', '.join(FORMATS)}.",
        line=1,
    )
