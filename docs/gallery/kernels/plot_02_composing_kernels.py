"""
Composing kernels
=================

Sums of kernels mean sums of functions, products mean interactions. A made-up series of 15 years of monthly
values, with a trend, a season that grows, and noise, shows what each term contributes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear, Periodic

rng = np.random.default_rng(0)
years = (np.arange(180) / 12)[:, None]
t = years[:, 0]
series = 2.0 * t + (1 + 0.3 * t) * np.sin(2 * np.pi * t) + 0.5 * rng.normal(size=180)
known = t < 11

# %%
# Three statements of what similar means. The first says that nearby months are alike; the second has a trend and a
# season that repeats; in the third a product lets the season grow with the trend.

season = Periodic(1.0, length_scale=1.0)
kernels = {
    "near months are alike": Gaussian(1.0),
    "a trend and a season": Linear() + season,
    "a trend and a season that grows": Linear() + season + Linear() * season,
}
figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, sharey=True, layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    model = KernelRidge(kernel, alpha=0.1, fit_intercept=True).fit(years[known], series[known])
    forecast = model.predict(years)
    error = np.sqrt(np.mean((forecast - series)[~known] ** 2))
    ax.plot(t[known], series[known], ".", color="0.4", markersize=3)
    ax.plot(t[~known], series[~known], ".", color="0.75", markersize=3)
    ax.plot(t, forecast)
    ax.axvline(11, color="0.8", linewidth=1)
    ax.set_title(f"{title}: {kernel!r}, error after year 11: {error:.2f}", fontsize=9)
axes[-1].set_xlabel("years")
plt.show()

# %%
# A composed kernel prints as it was written, and reads back from its text.

from mercer import parse  # noqa: E402

print(kernel)
print(parse(repr(kernel)) == kernel)
