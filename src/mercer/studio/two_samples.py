"""Two samples: whether they are of one distribution, how rare their difference is, and where they differ.

The witness function is the difference of the two means in feature space, as a function of the plane.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.inference import mmd_test
from mercer.kernels import Kernel
from mercer.plots.null_distribution import NullDistributionDisplay
from mercer.studio.form_fields import Form
from mercer.studio.pixels import INKS, grid_of, packed_floats, picture
from mercer.studio.snippets import command, data_file, python_rows

__all__ = ["compare", "result_of", "witness"]

HALF = 5.0
SEED = 0
LEVEL = 0.05


def witness(kernel: Kernel, first: Samples, second: Samples, at: Samples) -> Floats:
    """Return the mean similarity to the first sample minus that to the second, at some places."""
    return np.asarray(kernel(at, first)).mean(axis=1) - np.asarray(kernel(at, second)).mean(axis=1)


def result_of(result: Any, theme: str) -> dict[str, Any]:
    """Return what a test found, and its null distribution as a picture."""
    display = NullDistributionDisplay(float(result.statistic), float(result.p_value), result.null, LEVEL)
    verdict = "rejected" if display.rejected else "not rejected"
    critical = display.critical if np.isfinite(display.critical) else None
    return {
        "statistic": display.statistic,
        "p_value": display.p_value,
        "critical": critical,
        "rejected": display.rejected,
        "numbers": [display.statistic, display.p_value],
        "picture": picture(display.plot, (4.0, 2.6), theme),
        "words": (
            f"Null distribution by {result.null.method}: mean {result.null.mean:.3g}, standard deviation "
            f"{result.null.std:.3g}. Observed {display.statistic:.4g}, p = {display.p_value:.3g}: one distribution is "
            f"{verdict} at {LEVEL:g}."
        ),
    }


def compare(fields: Any) -> dict[str, Any]:
    """Test two clouds of points, and return the witness function on a grid."""
    form = Form(fields)
    X, Y = form.points("first", least=2), form.points("second", least=2)
    kernel, count, side = form.kernel(), form.whole("draws", 20, 2000), form.whole("side", 8, 96)
    theme = form.choice("theme", list(INKS)) if "theme" in form.fields else "light"
    begun = time.perf_counter()
    result = mmd_test(X, Y, kernel, count, SEED)
    learned = kernel.learn(kernel.pack(np.concatenate([X, Y])))
    pack = learned.pack
    values = witness(learned, pack(X), pack(Y), pack(grid_of(-HALF, HALF, side)))
    return {
        **result_of(result, theme),
        "expression": repr(kernel),
        "surface": packed_floats(values.reshape(side, side, 1)),
        "milliseconds": round(1e3 * (time.perf_counter() - begun), 1),
        "plane": (
            f"Witness function of {len(X)} and {len(Y)} points, from {values.min():.3g} to {values.max():.3g}: high "
            "where the first sample is denser."
        ),
        "python": "\n".join(
            [
                "import numpy as np",
                "import mercer",
                "from mercer.inference import mmd_test",
                "",
                python_rows("X", X),
                python_rows("Y", Y),
                f"result = mmd_test(X, Y, mercer.parse({repr(kernel)!r}), {count}, {SEED})",
                "print([result.statistic, result.p_value])",
            ]
        )
        + "\n",
        "command": "\n".join(
            [
                *(data_file(f"{n}.csv", {"x": Z[:, 0], "y": Z[:, 1]}) for n, Z in (("first", X), ("second", Y))),
                command(
                    *("mercer", "test", "first.csv", "second.csv", "--kernel", repr(kernel), "-n", str(count)),
                    *("--seed", str(SEED), "--json"),
                ),
            ]
        )
        + "\n",
    }
