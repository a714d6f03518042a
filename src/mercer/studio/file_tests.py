"""Two files: the test of ``mercer test``, its null distribution, and the samples where they differ most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.dependence import Request, compared
from mercer.cli.terminal import Terminal
from mercer.studio.form_fields import Form
from mercer.studio.pixels import INKS
from mercer.studio.snippets import command
from mercer.studio.two_samples import SEED, result_of, witness

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
    code = [
        "import json, subprocess",
        f"done = subprocess.run({words!r}, capture_output=True, check=True)",
        "told = json.loads(done.stdout)",
        "print([told['statistic'], told['p_value']])",
    ]
    return {
        **result_of(found.result, theme),
        "expression": repr(kernel),
        "samples": [found.first.n, found.second.n],
        "peaks": lists,
        "python": "\n".join(code) + "\n",
        "command": command(*words) + "\n",
    }
