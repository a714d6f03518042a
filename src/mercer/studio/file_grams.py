"""The Gram matrix of the user's file, and what two of its samples share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.cli.inputs import column_kinds, pose, samples
from mercer.errors import ParameterError
from mercer.io.datasets import Dataset
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.selection.automatic import some_rows
from mercer.studio.form_fields import Form
from mercer.studio.gram_view import SPECTRUM, Collection, pair, shown_gram
from mercer.studio.pixels import INKS
from mercer.studio.snippets import command, taken_columns
from mercer.studio.user_files import dataset

__all__ = ["collected", "look", "shared"]

MOST = 200  # samples, drawn at random once


def collected(data: Dataset, kernel: Kernel, target: str | None) -> Collection:
    """Return samples of a file as a kernel takes them, with what is shown and compared of each."""
    rest = data.drop(target) if isinstance(data, Table) and target else data
    if isinstance(rest, Table):
        columns = samples(rest, kernel)[1]
        problem = pose(rest, None, None, columns, drop=True)
        some = problem.data.take(some_rows(problem.n, MOST))
        assert isinstance(some, Table)
        X, used = samples(some, kernel)
        rows = [{name: _value(some.columns[name][i]) for name in used} for i in range(some.n)]
        if len(used) == 1 and column_kinds(kernel).get(used[0]) != "category" and isinstance(rows[0][used[0]], str):
            words = [str(row[used[0]]) for row in rows]
            return Collection("texts" if any(" " in w for w in words) else "strings", X, words, words)
        ids = some.ids or [f"row {i + 1}" for i in range(some.n)]
        return Collection("rows", X, list(map(str, ids)), rows)
    some: Any = data.take(some_rows(data.n, MOST))
    ids = list(some.ids) if some.ids is not None else [f"sample {i + 1}" for i in range(some.n)]
    if data.kind == "sequences":
        return Collection("strings", some.X, ids, [str(text) for text in some.X])
    if data.kind == "trees":
        own = [some.X.brackets(i) for i in range(some.n)]
        return Collection("trees", some.X, own, own)
    if data.kind == "graphs":
        return Collection("graphs", some.X, ids, [list(map(str, some.X.node_labels(i))) for i in range(some.n)])
    if data.kind == "gram":
        own = [[float(v)] for v in np.diagonal(np.asarray(some.X))]
        return Collection("numbers", some.X, ids, own)
    raise ParameterError(f"This file holds {data.kind}, of which nothing is shown here. Choose another file.")


def _value(value: Any) -> Any:
    return float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else str(value)


def _asked(fields: Any) -> tuple[Form, Kernel, Collection]:
    form = Form(fields)
    kernel = form.kernel(of=None)
    target = form.text("target") or None if "target" in form.fields else None
    return form, kernel, collected(dataset(fields), kernel, target)


def look(fields: Any) -> dict[str, Any]:
    """Return the Gram matrix of at most 200 samples of the file."""
    form, kernel, found = _asked(fields)
    theme = form.choice("theme", list(INKS)) if "theme" in form.fields else "light"
    name, target = fields["name"], fields.get("target") or None
    drop = ["--target", target] if target else []
    line = command("mercer", "check", name, *drop, "--kernel", repr(kernel), "--json")
    return {
        **shown_gram(kernel, found, theme),
        "python": _python(name, dataset(fields), kernel, target, found.X),
        "command": line + "\n",
    }


def shared(fields: Any) -> dict[str, Any]:
    """Return what two samples of the file have in common."""
    form, _, found = _asked(fields)
    return pair(found, form)


def _python(name: str, data: Dataset, kernel: Kernel, target: str | None, X: Any) -> str:
    """Return a program that prints trace, largest and smallest eigenvalue of the matrix."""
    lines = ["import numpy as np", "import mercer", "from mercer.io import read", "", f"data = read({name!r})"]
    n, taken = data.n, "data.X"
    if isinstance(data, Table):
        used = samples(data.drop(target) if target else data, kernel)[1]
        lines += [f"names = {list(used)!r}", "data = data.take(data.complete(names))"]
        n, taken = int(data.complete(used).sum()), taken_columns(X)
    if n > MOST:
        lines += [
            f"rows = np.sort(np.random.default_rng(0).choice(data.n, size={MOST}, replace=False))",
            "data = data.take(rows)",
        ]
    lines += [f"X = {taken}", f"kernel = mercer.parse({repr(kernel)!r})", *SPECTRUM]
    return "\n".join(lines) + "\n"
