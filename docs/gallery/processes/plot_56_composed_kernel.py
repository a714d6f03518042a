"""
A kernel found for a time series
================================

A trend, a season whose size grows, and noise: a kernel of sums and products is grown until the evidence improves no
further, and its terms say what they contribute.
"""

# %%
# The series is simulated, so the truth is known.

import matplotlib.pyplot as plt
import numpy as np

from mercer.choosing import compose_kernel
from mercer.kernels import Gaussian, Linear, Periodic

rng = np.random.default_rng(0)
t = np.linspace(0.0, 5.0, 50)[:, None]
trend, season = 0.6 * t[:, 0], 0.3 * t[:, 0] * np.sin(2.0 * np.pi * t[:, 0])
y = trend + season + 0.15 * rng.normal(size=len(t))

found = compose_kernel(t, y, [Linear(), Periodic(1.0), Gaussian(1.0)], depth=2, max_fits=15)
for expression, value in found.steps:
    print(f"{value:8.1f}  {expression}")

# %%
# Each term of the kernel is a part of the posterior mean; together, with the constant, they are the prediction.

parts = found.parts(t)
fig, axes = plt.subplots(len(parts) + 1, 1, figsize=(7, 1.8 * (len(parts) + 1)), sharex=True, layout="constrained")
axes[0].plot(t, y, ".", color="0.6")
axes[0].plot(t, found.process.predict(t))
axes[0].set_title("the series and the posterior mean", fontsize=9)
for ax, (name, values) in zip(axes[1:], parts.items(), strict=True):
    ax.plot(t, values)
    ax.set_title(name if len(name) < 90 else name[:87] + "...", fontsize=8)
plt.show()
