"""
Data that do not fit: learning in passes
========================================

With K = F F' of low rank, not all rows are needed at once: sums over the rows of F are enough, and these are computed
block by block. A `Stream` yields the blocks, from arrays on disk, Parquet files or an iterator. Ridge regression takes
a few passes over them, logistic regression and the squared hinge a few more, and memory does not grow with the rows.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, KernelRidge
from mercer.domains import Stream
from mercer.gram import Nystrom
from mercer.kernels import Gaussian


def blocks(n, rows=5000):
    """Rows of a smooth function of two columns with noise, a block at a time."""
    for start in range(0, n, rows):
        rng = np.random.default_rng(start)
        X = rng.normal(size=(min(rows, n - start), 2))
        yield X, np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + 0.3 * rng.normal(size=len(X))


# %%
# **Time and memory against the number of rows.** Figures for ten columns and 1000 landmarks on two cores, from
# ``python -m benchmarks.scale_streams growth``. Time grows in proportion to the rows once there are many of them, along
# the dashed line, and more slowly before: some of the work is for the landmarks alone. Memory hardly grows: a few
# numbers for each row, its target, value and coefficient. Pages of the gallery run in their own folder.

measured = json.loads(Path("../../../benchmarks/results/scale_streams.json").read_text())
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name in ("ridge", "logistic"):
    runs = [run for run in measured if run["learner"] == name]
    rows = np.array([run["n"] for run in runs])
    seconds, megabytes = (np.array([run[unit] for run in runs]) for unit in ("seconds", "bytes"))
    megabytes = megabytes / 1e6
    left.loglog(rows, seconds, "o-", label=name)
    right.loglog(rows, megabytes, "o-", label=name)
    print(f"{name:9s} {rows[-1]} rows: {seconds[-1]:.1f} s, {megabytes[-1]:.0f} MB, error {runs[-1]['error']:.3f}")
left.loglog(rows, seconds[-1] * rows / rows[-1], "k--", label="in proportion to the rows")
right.loglog(rows, 8e-6 * rows * runs[-1]["landmarks"], "k--", label="all of the factor")
left.set(xlabel="rows", ylabel="seconds of fit")
right.set(xlabel="rows", ylabel="megabytes at the peak of fit")
left.legend()
right.legend()

# %%
# **The same result.** Blocks from an iterator, a memory-mapped file and an array in memory give the same function.

spec = Nystrom(50)
ridge = KernelRidge(Gaussian(1.0), alpha=1.0, gram=spec)
with tempfile.TemporaryDirectory() as folder:
    parts = list(blocks(20_000))
    X, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    np.save(Path(folder) / "rows.npy", X)
    sources = {"array": X, "iterator": Stream.of(iter(parts)), "file": Stream.of(Path(folder) / "rows.npy")}
    grid = np.column_stack([np.linspace(-2.0, 2.0, 200), np.zeros(200)])
    values = {name: ridge.fit(source, y).predict(grid) for name, source in sources.items()}
for name, found in values.items():
    print(f"{name:9s} differs by {np.abs(found - values['array']).max():.1e}")

# %%
# **How few passes.** The residual of logistic regression after each Newton step: it starts close, at the minimum of the
# risk on an eighth of the rows.

logistic = KernelLogisticRegression(Gaussian(1.0), gram=spec, tol=1e-3).fit(X, y > 0.0)
solution = logistic.solution_
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.semilogy(solution.trace.residual, "o-")
passes = solution.details.get("passes", len(solution.trace))
ax.set(xlabel="Newton step", ylabel="residual", title=f"{passes:.0f} passes over {len(X)} rows")
plt.show()
