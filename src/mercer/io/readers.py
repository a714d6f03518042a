"""One entry point for data files: find the format, read it within limits, or say what is wrong and where."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mercer.errors import ParameterError
from mercer.io.columns import Kinds, checked_kinds
from mercer.io.datasets import Dataset
from mercer.io.delimited import read_delimited
from mercer.io.formats import FORMATS, TREES, detect, detected, is_folder
from mercer.io.limits import FileBudgetError, FileError, Limits
from mercer.io.source import Source

__all__ = ["FORMATS", "detect", "read"]
__public__ = __all__


def read(
    path: str | Path,
    format: str | None = None,
    limits: Limits | None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> Dataset:
    r"""Read the samples of a file.

    Parameters
    ----------
    path : str or Path
        The file; or a folder, of graphs in the TU Dortmund format, of files of trees, or of texts with a subfolder for
        each class.
    format : str, optional
        One of ``FORMATS``; found if not given. ``"gram-rows"``, similarities of new samples with those of
        training, is never found: it must be asked for. JSON is a table, trees (``"json"``) or graphs
        (``"graph-json"``), by what its first object holds.
    limits : Limits, optional
        How much to read from a file before refusing it.
    kinds : mapping of str to str, optional
        Kinds of columns of a table, by name, instead of those that the rules find: the ``kinds`` of the
        training table, when new samples are read. Names that the table does not have are ignored.
    encoding : str, default "utf-8"
        Of text, by any name that Python knows: ``"cp1252"`` of older spreadsheets, ``"latin-1"``, ``"utf-16"``.
    decimal : {".", ","}, default "."
        The decimal mark of numbers in CSV and TSV. With a comma, fields are separated by semicolons or tabs.

    Returns
    -------
    Dataset
        Table (CSV, TSV, Excel, Parquet, JSON lines, folders of texts), Sparse (svmlight), Sequences (FASTA, FASTQ),
        Sentences (CoNLL columns), GramMatrix, TreeBank (brackets, XML, HTML, JSON, Python source, folders of these) or
        GraphData (TU Dortmund folders and archives, GraphML, JSON, lists of edges).

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
    wanted, limits = checked_kinds(kinds), limits or Limits()
    if is_folder(path) and format in (None, "tu", "trees", "texts"):
        return _read_folder(Path(path), format or detect(path), limits, encoding)
    source = Source.open(path, limits, encoding, decimal)
    try:
        name = format or detected(source)
        return _READERS[name](source, wanted)
    except MemoryError as error:
        if isinstance(error, FileBudgetError):
            raise
        raise _no_memory(source.path) from None
    except OSError as error:
        if isinstance(error, ValueError):  # a FileTimeError is both
            raise
        raise source.error(
            f"The file cannot be read: {error.strerror or error}.", "Check the disk, and copy the file again."
        ) from error


def _read_folder(path: Path, name: str, limits: Limits, encoding: str) -> Dataset:
    try:
        if name == "texts":
            return _loaded("text_folders", "read_text_folder")(path, limits, encoding)
        module, function = ("graph_archives", "read_tu") if name == "tu" else ("tree_files", "read_tree_folder")
        return _loaded(f"structures.{module}", function)(path, limits)
    except FileError:
        raise
    except MemoryError:
        raise _no_memory(path) from None
    except OSError as error:
        raise FileError(
            path, f"The folder cannot be read: {error.strerror or error}.", "Check its permissions, and the disk."
        ) from error


def _no_memory(path: Path) -> FileBudgetError:
    return FileBudgetError(path, "Memory ran out while reading it.", "Split the file, or keep fewer rows or columns.")


def _loaded(module: str, function: str) -> Any:
    """Return a reader whose code is loaded when it is needed: most files need none of it."""
    return getattr(importlib.import_module(f"mercer.io.{module}"), function)


_READERS: dict[str, Callable[[Source, Kinds], Dataset]] = {
    "csv": read_delimited,
    "tsv": lambda source, kinds: read_delimited(source, kinds, "\t"),
    "excel": lambda source, kinds: _loaded("excel", "read_excel")(source, kinds),
    "parquet": lambda source, kinds: _loaded("parquet", "read_parquet")(source, kinds),
    "svmlight": lambda source, kinds: _loaded("svmlight", "read_svmlight")(source),
    "gram": lambda source, kinds: _loaded("gram_file", "read_gram")(source),
    "gram-rows": lambda source, kinds: _loaded("gram_file", "read_gram_rows")(source),
    "jsonl": lambda source, kinds: _loaded("jsonl", "read_jsonl")(source, kinds),
    "fasta": lambda source, kinds: _loaded("structures.fasta", "read_fasta")(source),
    "fastq": lambda source, kinds: _loaded("structures.fasta", "read_fastq")(source),
    "conll": lambda source, kinds: _loaded("structures.conll", "read_conll")(source),
    **{
        name: lambda source, kinds, name=name: _loaded("structures.tree_files", "read_trees")(source, name)
        for name in TREES
    },
    "texts": lambda source, kinds: _loaded("text_folders", "read_text_folder")(
        source.path, source.limits, source.encoding
    ),
    "trees": lambda source, kinds: _loaded("structures.tree_files", "read_tree_folder")(source.path, source.limits),
    "graphml": lambda source, kinds: _loaded("structures.graph_files", "read_graphml")(source),
    "graph-json": lambda source, kinds: _loaded("structures.graph_files", "read_graph_json")(source),
    "edges": lambda source, kinds: _loaded("structures.graph_files", "read_edge_list")(source),
    "tu": lambda source, kinds: _loaded("structures.graph_archives", "read_tu")(source.path, source.limits),
}
