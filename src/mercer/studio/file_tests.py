"""Two files: the test of ``mercer test``, its null distribution, and the samples where they differ most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.dependence import Compared, Request, compared
from mercer.cli.inputs import samples
from mercer.cli.terminal import Terminal
from mercer.io.datasets import Dataset
from mercer.io.tables import Table
from mercer.studio.form_fields import Form
from mercer.studio.pixels import INKS
from mercer.studio.snippets import command, taken_columns
from mercer.studio.two_samples import SEED, result_of, witness
from mercer.studio.user_files import dataset

__all__ = ["compare"]

LISTED = 5


def compare(fields: Any) -> dict[str, Any]:
    """Test the rows of two files as two samples."""
    form = Form(fields)
    count = form.whole("draws", 20, 2000)
    text = form.text("kernel") or None
    theme = form.choice("theme", list(INKS)) if "theme" in form.fields else "light"
    request = Request(
        data=Path(fields["path"]),
        other=Path(fields["other"]),
        stat="mmd",
        kernel=text,
        other_kernel=None,
        null="permutation",
        block_length=None,
        permutations=count,
        seed=SEED,
        level=0.05,
        missing="drop",
        max_time=None,
        threads=None,
    )
    found = compared(Terminal(quiet=True), request)
    kernel = found.result.kernels[0]
    A, B = kernel.pack(found.X), kernel.pack(found.Y)
    lists = []
    for S, data, sign in ((A, found.first, 1.0), (B, found.second, -1.0)):
        values = sign * witness(kernel, A, B, S)
        order = np.argsort(-values)[:LISTED]
        ids = data.ids or [f"row {i + 1}" for i in range(data.n)]
        lists.append([{"what": str(ids[int(i)])[:80], "value": float(values[i])} for i in order])
    words = ["mercer", "test", fields["name"], fields["other_name"], *(("--kernel", text) if text else ())]
    words += ["-n", str(count), "--seed", str(SEED), "--missing", "drop", "--json"]
    return {
        **result_of(found.result, theme),
        "expression": repr(kernel),
        "samples": [found.first.n, found.second.n],
        "peaks": lists,
        "python": _python(fields, found, count),
        "command": command(*words) + "\n",
    }


# copies -----------------------------------------------------------------------------------------------------


def _python(fields: Any, found: Compared, count: int) -> str:
    """Return a program that reads both files, takes what was compared of each, and tests it."""
    sides = ((found.first, "path", "name"), (found.second, "other", "other_name"))
    reads = [_read(fields[name], data, dataset(fields, path)) for data, path, name in sides]
    lines = [
        "import numpy as np",
        "import mercer",
        "from mercer.inference import mmd_test",
        "from mercer.io import read",
        "",
        f"first, second = {', '.join(reads)}",
    ]
    if isinstance(found.first, Table):
        used = list(found.X) if isinstance(found.X, dict) else list(samples(found.first, found.kernel)[1])
        lines += [
            'kinds = ("number", "boolean", "category", "text")',
            "whole = [data.take(data.complete(data.of_kind(*kinds))) for data in (first, second)]",
            f"names = {used!r}",
            f"X, Y = ({taken_columns(found.X)} for data in whole)",
        ]
    else:
        lines.append("X, Y = first.X, second.X")
    kernel = "None" if found.kernel is None else f"mercer.parse({repr(found.kernel)!r})"
    lines += [
        f"result = mmd_test(X, Y, {kernel}, {count}, {SEED})",
        "print([result.statistic, result.p_value])",
    ]
    return "\n".join(lines) + "\n"


def _read(name: str, data: Dataset, plain: Dataset) -> str:
    """Return how a file is read: with the kinds of columns that are not as they would be found."""
    if not (isinstance(data, Table) and isinstance(plain, Table)):
        return f"read({name!r})"
    other = {column: kind for column, kind in data.kinds.items() if plain.kinds[column] != kind}
    return f"read({name!r}, kinds={other!r})" if other else f"read({name!r})"
