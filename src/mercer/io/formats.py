"""Which format a file or a folder has.

It is found from the first bytes (Parquet, NumPy, gzip, zip), then the extension, then the first lines.
What JSON holds (a table, trees, graphs) is decided by the keys of its first object.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercer.io.delimited import DELIMITERS
from mercer.io.limits import FileError, Limits, shown
from mercer.io.source import GZIP, NUMPY, PARQUET, Source

__all__ = ["FORMATS", "TREES", "detect", "detected", "extension_of", "is_folder", "is_graph_folder", "is_text_file"]

FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": ("csv",),
    "tsv": ("tsv", "tab"),
    "excel": ("xlsx", "xlsm"),
    "parquet": ("parquet", "pq"),
    "svmlight": ("svmlight", "libsvm", "svm"),
    "gram": ("npy",),
    "gram-rows": (),
    "jsonl": ("jsonl", "ndjson"),
    "fasta": ("fasta", "fa", "fna", "faa", "ffn", "frn"),
    "fastq": ("fastq", "fq"),
    "conll": ("conll", "iob", "bio"),
    "penn": ("mrg", "penn", "ptb"),
    "xml": ("xml",),
    "html": ("html", "htm", "xhtml"),
    "json": ("json",),
    "python": ("py",),
    "trees": (),
    "texts": (),
    "graphml": ("graphml",),
    "graph-json": (),
    "edges": ("edges", "edgelist"),
    "tu": (),
}
REAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# A line of svmlight; possessive, so that a long line that does not match is refused in one go.
SVMLIGHT = re.compile(rf"\s*+(?:{REAL})(?:\s++qid:[0-9]++)?+(?:\s++[0-9]++:(?:{REAL}))*+\s*+")
TREES = ("penn", "xml", "html", "json", "python")  # formats of one file; a folder of these is "trees"
_EXTENSIONS = {extension: name for name, extensions in FORMATS.items() for extension in extensions}
_KNOWN = (
    "CSV, TSV, Excel (.xlsx), Parquet, svmlight, JSON lines, FASTA, FASTQ, CoNLL columns, Gram matrices (.npy), "
    "trees (.mrg, .xml, .html, .json, .py) and graphs (TU Dortmund, .graphml, .json, .edges)"
)

# Other common files, which are not read: how each begins, what it is, what to do.
_STRANGERS = (
    (b"PK\x03\x04", "a zip archive (.zip, .npz, .ods)", "Unpack it, or save the sheet as .xlsx or 'CSV UTF-8'."),
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
    (b"SQLite format 3", "a SQLite database", "Export the table as CSV."),
)
_ZIP = b"PK"
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE)
_GRAPHML = re.compile(rb"<(?:[\w.-]+:)?graphml[\s/>]")
_BRACKETS = re.compile(r"\(\s*[^\s()]*\s*\(")  # "(S (NP"
_PART = "_graph_indicator.txt"


def detect(path: str | Path, limits: Limits | None = None) -> str:
    """Return the format of a file or a folder, one of ``FORMATS``."""
    if is_folder(path):
        return _of_folder(Path(path))
    return detected(Source.open(path, limits or Limits()))


def is_folder(path: Any) -> bool:
    """Whether something is the name of a folder."""
    return isinstance(path, (str, os.PathLike)) and os.path.isdir(path)


def _of_folder(path: Path) -> str:
    """Return what a folder holds: graphs, files of trees, or texts in subfolders."""
    if is_graph_folder(path):
        return "tu"
    trees = {extension for name in TREES for extension in FORMATS[name]}
    texts = False
    for file in path.rglob("*"):
        if extension_of(file) in trees and file.is_file():
            return "trees"
        texts = texts or (file.parent != path and is_text_file(file))
    return "texts" if texts else "trees"


def is_text_file(path: Path) -> bool:
    """Whether a name is that of a text in a folder of them: it ends in .txt or has no ending, and is not hidden."""
    return extension_of(path) in ("", "txt", "text") and not path.name.startswith(".") and path.is_file()


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook of Excel."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        return False


def is_graph_folder(path: str | Path) -> bool:
    """Whether a folder or a zip archive holds graphs in the TU Dortmund format."""
    path = Path(path)
    if path.is_dir():
        return any(path.glob(f"*{_PART}")) or (any(path.glob("*_A.txt")) and any(path.glob("*_graph_labels.txt")))
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(_PART) for name in archive.namelist())
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        return False


def extension_of(path: Path) -> str:
    """Return the last extension in lower case without the dot; for a compressed file, the one before ``.gz``."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    if suffixes and suffixes[-1] in ("gz", "gzip"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def detected(source: Source) -> str:
    """Return the format of a file: by the first bytes, then the extension, then the first lines."""
    head, extension = source.head, extension_of(source.path)
    if head.startswith(NUMPY):
        return "gram"
    if head.startswith(PARQUET) and _tail(source) == PARQUET:
        return "parquet"
    if head.startswith(_ZIP) and is_workbook(source.path):
        return "excel"
    if extension == "zip" or (head.startswith(_ZIP) and is_graph_folder(source.path)):
        return "tu"
    _refuse_strangers(source)
    name = _EXTENSIONS.get(extension)
    if name in (None, "xml") and _MARKUP.match(head) and _GRAPHML.search(head[:4096]):
        return "graphml"
    if name not in ("xml", "html", "graphml"):
        _refuse_markup(source)
    if name == "json":
        return _of_json(source)
    if name == "jsonl" and _look(source).has_graph:
        return "graph-json"
    return name or _sniffed(source)


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


def _refuse_markup(source: Source) -> None:
    if _MARKUP.match(source.head):
        raise source.error(
            f"The file is a web page or XML, but its name says something else; {_KNOWN} are accepted.",
            "Download the data file itself, or export the table as CSV; trees of elements need the ending .xml or "
            ".html.",
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
    if first.startswith(("{", "[")) and _look(source).has_graph:
        return "graph-json"
    if first.startswith("{"):
        return "jsonl"
    if first.startswith("["):
        raise _one_list(source)
    if _BRACKETS.match(text.lstrip()):
        return "penn"
    samples = [line.partition("#")[0] for line in lines[:20]]
    samples = [line for line in samples if line.strip()]
    if samples and ":" in samples[0] and SVMLIGHT.fullmatch(samples[0]):
        return "svmlight"
    if _is_columns(text):
        return "conll"
    if any(delimiter in first for delimiter in DELIMITERS):
        return "csv"
    extension = shown(source.path.suffix) if source.path.suffix else "none"
    raise source.error(
        f"The format is not known: neither the extension ({extension}) nor the first line shows it. {_KNOWN} are "
        "accepted.",
        f"Rename the file (as data.csv), or name its format, one of {', '.join(FORMATS)}.",
        line=1,
    )


def _is_columns(text: str) -> bool:
    """Whether a text looks like sentences: empty lines between others, which all have two fields or more, as many.

    What every line has between its fields, such as a semicolon, makes it a table.
    """
    lines = text.splitlines()[:-1] if len(text) >= 2**16 - 4 else text.splitlines()  # the last may be cut off
    full = [line.split() for line in lines if line.strip()]
    table = any(all(mark in line for line in lines if line.strip()) for mark in DELIMITERS if mark != "\t")
    gaps = any(not line.strip() for line in "\n".join(lines).strip().splitlines())
    return gaps and not table and len({len(fields) for fields in full}) == 1 and len(full[0]) > 1


# what JSON holds ------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass
class _Look:
    """What the beginning of a JSON text shows.

    Attributes
    ----------
    listed : bool
        Whether the text is a list, so that its first member is looked at.
    begins : str
        The first character of what is looked at: ``{`` of an object.
    keys : dict
        Keys of the object, each with the first character of its value.
    closed : bool
        Whether the end of the object was seen.
    more : bool
        Whether another value follows it (in the list, or in the file).
    """

    listed: bool = False
    begins: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    closed: bool = False
    more: bool = False

    @property
    def lists(self) -> set[str]:
        """The keys of graphs whose values are lists."""
        return {name for name in ("nodes", "links", "edges") if self.keys.get(name) == "["}

    @property
    def has_graph(self) -> bool:
        """Whether the object is a graph: lists of nodes and of edges."""
        return "nodes" in self.lists and len(self.lists) > 1

    @property
    def is_flat(self) -> bool:
        """Whether all values are single ones."""
        return not set(self.keys.values()) & {"{", "["}


def _look(source: Source) -> _Look:
    """Look at the first object of a JSON text; at all of the text only if the object does not end soon."""
    found = _first_object(source.head.decode("utf-8-sig", "replace"))
    if found.begins == "{" and not found.closed and not found.has_graph:
        found = _first_object(source.data.decode("utf-8-sig", "replace"))
    return found


def _first_object(text: str) -> _Look:
    found = _Look()
    depth, key, last = 0, "", ""
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if not found.begins and piece == "[" and not found.listed:
            found.listed = True
        elif not found.begins:
            found.begins, depth = piece[0], 1
            if piece != "{":
                break
        elif found.closed:
            found.more = True
            break
        else:
            if depth == 1 and last == ":" and key:
                found.keys[key] = piece[0]
            if depth == 1 and piece == ":":
                key = last.strip('"')
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece, 0)
            found.closed = depth == 0
        last = piece
    return found


def _of_json(source: Source) -> str:
    """Distinguish tables, trees and graphs."""
    found = _look(source)
    if found.has_graph:
        return "graph-json"
    if found.lists:
        have = ", ".join(map(repr, sorted(found.lists)))
        raise source.error(
            f"The file may hold trees or graphs: its first object has {have}, and graphs have both 'nodes' and 'links' "
            "(or 'edges').",
            "Give every graph both lists, or name the format: graph-json or json (trees).",
            line=1,
        )
    if found.begins == "{" and found.is_flat and not found.listed:
        return "jsonl"
    if (found.begins == "{" and found.is_flat) or (found.listed and found.begins not in ("{", "[", "]", "")):
        raise _one_list(source)
    return "jsonl" if found.more and not found.listed else "json"


def _one_list(source: Source) -> FileError:
    return source.error(
        "The file is one JSON list of objects without parts, or of single values; objects on lines of their own are "
        "accepted, and lists of trees or graphs.",
        "Write one object per line (JSON lines), without the brackets around all; if they are trees, name the format "
        "json.",
        line=1,
    )
