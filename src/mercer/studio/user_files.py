"""The files that the user gave, each read again only if it has changed."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from mercer.cli.inputs import open_data
from mercer.errors import ParameterError
from mercer.io.datasets import Dataset
from mercer.io.tables import Table

__all__ = ["dataset", "labels_of"]


@functools.lru_cache(maxsize=2)
def _read(path: str, changed: float) -> Dataset:
    return open_data(Path(path))


def dataset(fields: Any, which: str = "path") -> Dataset:
    """Return the file, read again only if it has changed."""
    path = Path(fields[which])
    return _read(str(path), path.stat().st_mtime)


def labels_of(fields: Any) -> Table | None:
    """Return the table of targets that was given beside the file."""
    if not fields.get("labels"):
        return None
    table = dataset(fields, "labels")
    if not isinstance(table, Table):
        raise ParameterError(f"{fields['labels_name']} holds {table.kind}; targets are a table. Give a CSV file.")
    return table
