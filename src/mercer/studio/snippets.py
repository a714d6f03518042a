"""What the copy buttons give: the same work as Python, and as commands with the data in small files.

Both are made of the fields that the view was computed from, and print the same numbers.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from mercer.arrays import Floats

__all__ = ["command", "data_file", "python_rows", "quoted", "taken_columns"]


def python_rows(name: str, rows: Any) -> str:
    """Return an assignment of rows of numbers, a line for some of them each.

    Examples
    --------
    >>> print(python_rows("X", [[1.0, 2.0], [3.0, 4.5]]))
    X = np.array([
        [1.0, 2.0], [3.0, 4.5],
    ])
    """
    texts = [repr([float(v) for v in row]) if hasattr(row, "__len__") else repr(float(row)) for row in rows]
    each = 6 if texts and texts[0].startswith("[") else 12
    lines = [f"    {', '.join(texts[i : i + each])}," for i in range(0, len(texts), each)]
    return "\n".join([f"{name} = np.array([", *lines, "])"])


def data_file(name: str, columns: Mapping[str, Sequence[Any] | Floats]) -> str:
    """Return a command that writes a small table, which holds only numbers and plain words."""
    lists = [[repr(float(v)) if not isinstance(v, str) else v for v in values] for values in columns.values()]
    rows = [",".join(row) for row in zip(*lists, strict=True)]
    return "\n".join([f"cat > {name} <<'END'", ",".join(columns), *rows, "END"])


def command(*words: str) -> str:
    """Return a command, its arguments quoted for a shell.

    Examples
    --------
    >>> command("mercer", "check", "my data.csv")
    "mercer check 'my data.csv'"
    """
    return shlex.join(words)


def quoted(text: str) -> str:
    """Return one argument, quoted for a shell."""
    return shlex.quote(text)


def taken_columns(X: Any) -> str:
    """Return how columns `names` of a table `data` become samples: as a mapping, a column of texts, or a matrix.

    Parameters
    ----------
    X : dict, list or array
        The samples that were made.

    Examples
    --------
    >>> taken_columns(["a", "b"])
    'data.columns[names[0]]'
    """
    if isinstance(X, Mapping):
        return "{name: data.columns[name] for name in names}"
    return "data.columns[names[0]]" if isinstance(X, list) else "np.column_stack([data.columns[n] for n in names])"
