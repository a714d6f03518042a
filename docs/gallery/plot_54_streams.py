"""
Data that do not fit: learning in passes
========================================

With K = F F' of low rank nobody needs all rows at once: sums over the rows of F are enough, and these are made block
by block. A `Stream` gives the blocks, from arrays on disk, Parquet files or an iterator. Ridge regression takes a few
passes over them, logistic regression and the squared hinge a few more, and memory does not grow with the rows.
"""

import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelLogisticRegression, KernelRidge
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
# **Time and memory against the number of rows.** Time grows in proportion to the rows once there are many of them, and
# slower before: some of the work is for the landmarks alone. Memory hardly grows: a few numbers for each row, its
# target, value and coefficient. Of one million rows of ten columns with 1000 landmarks, `benchmarks/scale_streams.py`
# tells the figures: ridge regression takes about 8 seconds and 180 MB on two cores, logistic regression 20 seconds and
# 220 MB.

spec = Nystrom(50)
models = {
    "ridge": KernelRidge(Gaussian(1.0), alpha=1.0, gram=spec),
    "logistic": KernelLogisticRegression(Gaussian(1.0), gram=spec, tol=1e-3),
    "squared hinge": SVC(Gaussian(1.0), loss="squared_hinge", gram=spec),
}
sizes = [2000, 6000, 20_000]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, model in models.items():
    seconds, peaks = [], []
    for n in sizes:
        stream = Stream.of(blocks(n))
        y = stream.y if name == "ridge" else stream.y > 0.0
        tracemalloc.start()
        began = time.perf_counter()
        model.fit(stream, y)
        seconds.append(time.perf_counter() - began)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    left.loglog(sizes, seconds, "o-", label=name)
    right.loglog(sizes, peaks, "o-", label=name)
right.loglog(sizes, [8 * n * 52 / 1e6 for n in sizes], "k--", label="rows and factor in memory")
left.set(xlabel="rows", ylabel="seconds of fit")
right.set(xlabel="rows", ylabel="megabytes at the peak of fit")
right.legend()

# %%
# **The same result.** Blocks of an iterator, a file that is mapped and an array in memory give the same function.

with tempfile.TemporaryDirectory() as folder:
    parts = list(blocks(20_000))
    X, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    np.save(Path(folder) / "rows.npy", X)
    sources = {"array": X, "iterator": Stream.of(iter(parts)), "file": Stream.of(Path(folder) / "rows.npy")}
    grid = np.column_stack([np.linspace(-2.0, 2.0, 200), np.zeros(200)])
    values = {name: models["ridge"].fit(source, y).predict(grid) for name, source in sources.items()}
for name, found in values.items():
    print(f"{name:9s} differs by {np.abs(found - values['array']).max():.1e}")

# %%
# **How few passes.** The residual of logistic regression after each Newton step: it begins near, at the minimum of the
# risk of an eighth of the rows.

solution = models["logistic"].solution_
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.semilogy(solution.trace.residual, "o-")
passes = solution.details.get("passes", len(solution.trace))
ax.set(xlabel="Newton step", ylabel="residual", title=f"{passes:.0f} passes over {sizes[-1]} rows")
plt.show()
