"""Samples as text or Parquet: the formats that other programs read.

Numbers are written so that reading them gives the same number to the last bit; whole numbers without a point.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.failures import UsageFault
from mercer.domains import Trees
from mercer.errors import DomainError
from mercer.io.datasets import Dataset
from mercer.io.limits import shown
from mercer.io.svmlight import Sparse
from mercer.io.tables import Table

__all__ = ["FORMATS", "guarded", "pieces"]

FORMATS = ("csv", "tsv", "jsonl", "svmlight", "parquet")
_FORMULA = "=+-@\t\r"  # what a spreadsheet may take for the beginning of a formula
_CHUNK = 10_000  # rows written at a time
_DENSE = 10**8  # most values of a sparse matrix that are written out one by one


def guarded(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: text that could be one gets an apostrophe before it.

    Examples
    --------
    >>> guarded("=1+2"), guarded("-1.5"), guarded("-"), guarded(-1.5)
    ("'=1+2", '-1.5', "'-", -1.5)
    """
    if not isinstance(value, str) or value[:1] not in _FORMULA or not value:
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def pieces(data: Dataset, format: str, target: str | None = None, spreadsheet: bool = False) -> Iterator[bytes]:
    """Yield the bytes of samples in a format, a piece at a time; cells for a spreadsheet are `guarded`."""
    if format == "svmlight":
        return _svmlight(data, target)
    columns = _columns(data)
    if format == "jsonl":
        return _jsonl(columns, data.n)
    if format == "parquet":
        return iter([_parquet(columns)])
    return _delimited(columns, data.n, "\t" if format == "tsv" else ",", guarded if spreadsheet else lambda v: v)


def _columns(data: Dataset) -> dict[str, Sequence[Any]]:
    """Named columns of plain values, None where one is missing."""
    if isinstance(data, Table):
        return {name: _values(part) for name, part in data.parts.items()}
    names = {} if data.ids is None else {"id": list(data.ids)}
    if data.kind == "sequences":
        descriptions = getattr(data, "descriptions", ())
        more = {"description": list(descriptions)} if any(descriptions) else {}
        return {**names, "sequence": list(data.X), **more}
    if isinstance(data.X, Trees):
        groups = {"folder": list(data.y)} if data.y is not None else {}
        return {**names, "tree": [data.X.brackets(i) for i in range(data.n)], **groups}
    if data.kind == "sentences":
        raise UsageFault(
            f"{data.path} holds sentences, whose words have columns; {', '.join(FORMATS)} have a row for each sample. "
            "Keep it as it is."
        )
    if data.kind == "graphs":
        raise UsageFault(
            f"{data.path} holds graphs, for which {', '.join(FORMATS)} have no place. Write their Gram matrix with "
            "'mercer gram'."
        )
    if isinstance(data, Sparse):
        if data.n * data.width > _DENSE:
            raise UsageFault(
                f"{data.path} has {data.n} x {data.width} values, most of them zero; a table would be too large. "
                "Keep it as svmlight."
            )
        dense = data.matrix.toarray()
        first = 0 if data.zero_based else 1
        return {"label": _numbers(data.label), **{f"x{j + first}": _numbers(dense[:, j]) for j in range(data.width)}}
    matrix = np.asarray(data.X)
    others = data.ids if data.ids is not None and matrix.shape[0] == matrix.shape[1] else None
    return {**names, **{(others[j] if others else f"k{j + 1}"): _numbers(matrix[:, j]) for j in range(matrix.shape[1])}}


def _values(part: Any) -> Sequence[Any]:
    if part.words is not None:
        return [None if np.isnan(value) else part.words[int(value)] for value in part.values]
    return _numbers(part.values) if isinstance(part.values, np.ndarray) else part.values


def _numbers(values: Any) -> list[float | int | None]:
    return [
        None if v != v else int(v) if abs(v) < 2**53 and v == int(v) else v for v in np.asarray(values, float).tolist()
    ]


def _delimited(
    columns: Mapping[str, Sequence[Any]], n: int, delimiter: str, cell: Callable[[Any], Any]
) -> Iterator[bytes]:
    for start in range(-1, n, _CHUNK):
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        if start < 0:
            writer.writerow(map(cell, columns))
        for i in range(max(start, 0), min(max(start, 0) + _CHUNK - (start < 0), n)):
            writer.writerow(["" if values[i] is None else cell(values[i]) for values in columns.values()])
        yield stream.getvalue().encode()


def _jsonl(columns: Mapping[str, Sequence[Any]], n: int) -> Iterator[bytes]:
    for i in range(n):
        yield (json.dumps({name: values[i] for name, values in columns.items()}, ensure_ascii=False) + "\n").encode()


def _parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageFault(
            "Writing Parquet needs pyarrow, which is not installed. Run: pip install 'mercer[data]'."
        ) from None
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), sink)
    except pa.ArrowException as error:
        raise DomainError(f"The table cannot be written as Parquet: {error}. Write CSV instead.") from error
    return sink.getvalue().to_pybytes()


def _svmlight(data: Dataset, target: str | None) -> Iterator[bytes]:
    if isinstance(data, Sparse):
        labels, matrix, first = data.label, data.matrix, 0 if data.zero_based else 1
        ends = matrix.indptr
        for i, label in enumerate(_numbers(labels)):
            row = zip(
                matrix.indices[ends[i] : ends[i + 1]].tolist(),
                _numbers(matrix.data[ends[i] : ends[i + 1]]),
                strict=True,
            )
            yield _line(label, ((j + first, value) for j, value in row))
        return
    if not isinstance(data, Table):
        raise UsageFault(f"{data.path} holds {data.kind}; svmlight holds numbers. Write CSV or JSON lines.")
    if target is None:
        raise UsageFault(
            f"svmlight begins each line with a label; the columns are {', '.join(map(shown, data.names[:20]))}. "
            "Name it with --target."
        )
    rest, y = data.split_target(target)
    if y.dtype.kind not in "fiu":
        names, y = np.unique(y.astype(str), return_inverse=True)
        if len(names) > 1000:
            raise UsageFault(
                f"The target {target!r} holds {len(names)} different texts. Name a column of numbers or classes."
            )
    wrong = [name for name in rest.names if not isinstance(rest.columns[name], np.ndarray)]
    if wrong:
        raise UsageFault(
            f"{data.path} has columns that are not numbers ({', '.join(map(shown, wrong[:10]))}); svmlight holds "
            "numbers. Leave them out, or write CSV or JSON lines."
        )
    lost = [name for name, count in rest.missing.items() if count]
    if lost:
        raise UsageFault(
            f"{data.path} misses values in {', '.join(map(shown, lost[:10]))}; svmlight has no sign for that. "
            "Fill them in first."
        )
    lists = [_numbers(rest.columns[name]) for name in rest.names]
    for i, label in enumerate(_numbers(y)):
        yield _line(label, ((j + 1, values[i]) for j, values in enumerate(lists)))


def _line(label: Any, entries: Iterable[tuple[int, Any]]) -> bytes:
    return " ".join([str(label), *(f"{j}:{value}" for j, value in entries if value != 0)]).encode() + b"\n"


def format_of(path: Path) -> str | None:
    """Return the format that the ending of a file's name asks for; None if it is not known.

    Examples
    --------
    >>> format_of(Path("a.ndjson")), format_of(Path("a.doc"))
    ('jsonl', None)
    """
    endings = {
        "csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "svmlight": "svmlight",
        "libsvm": "svmlight", "svm": "svmlight", "parquet": "parquet", "pq": "parquet", "mercer": "mercer",
    }  # fmt: skip
    return endings.get(path.suffix.lower().lstrip("."))
