"""
Quantile bands
==============

How much do observations scatter, and does the scatter depend on x? A regression of the mean does not say.
``QuantileSVR`` fits the functions below which given shares of the observations lie, several in one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from mercer import QuantileSVR
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)


def spread(x):
    """Standard deviation of the noise, which grows with x."""
    return 0.05 + 0.12 * x


def observe(n):
    """Return n inputs and their observations."""
    x = np.sort(rng.uniform(0, 6, n))
    return x[:, None], np.sin(x) + spread(x) * rng.normal(size=n)


X, y = observe(400)
X_new, y_new = observe(20_000)

# %%
# Functions fitted one by one may cross where samples are few. ``crossing="forbid"`` sorts their values at each point.
# Dotted: the true quantiles, which are known here because the sample is simulated.

quantiles = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
model = QuantileSVR(Gaussian(1.5), C=10.0, quantiles=quantiles, crossing="forbid").fit(X, y)
t = np.linspace(0, 6, 300)
bands = model.predict(t[:, None])

figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
ax.plot(X, y, ".", color="0.6", markersize=3)
for lower, upper, shade in ((0, 4, 0.15), (1, 3, 0.3)):
    ax.fill_between(t, bands[:, lower], bands[:, upper], color="C0", alpha=shade, linewidth=0)
for place, tau in enumerate(quantiles):
    ax.plot(t, bands[:, place], color="C0", linewidth=1.2)
    ax.plot(t, np.sin(t) + spread(t) * norm.ppf(tau), "k:", linewidth=1)
    ax.annotate(f"{tau:.0%}", (6.05, bands[-1, place]), va="center", fontsize=8, annotation_clip=False)
ax.set(xlim=(0, 6), xlabel="x", ylabel="y")
plt.show()

# %%
# **Coverage.** On the training samples the share below each function is correct by construction: at most tau lies below
# and at most 1 - tau above, the few others on it. New observations show how far that can be trusted.

below, below_new = (np.mean(b[:, None] < model.predict(A) - 1e-9, axis=0) for A, b in ((X, y), (X_new, y_new)))
for tau, inside, outside in zip(quantiles, below, below_new, strict=True):
    print(f"quantile {tau:.2f}: below it {inside:.3f} of the training samples, {outside:.3f} of new ones")
print(f"between 5 % and 95 %: {below_new[4] - below_new[0]:.3f} of new ones, where 0.9 is asked for")
left = X_new[:, 0] < 3
for name, part in (("left", left), ("right", ~left)):
    values = model.predict(X_new[part])
    inside = np.mean((y_new[part] >= values[:, 0]) & (y_new[part] <= values[:, 4]))
    print(f"  {name} half: {inside:.3f}, mean width {np.mean(values[:, 4] - values[:, 0]):.2f}")

# %%
# **Crossing.** Straight lines through observations that fan out must meet somewhere, here to the left of the data.
# Beyond that point the raw functions have swapped places, and the 75 % quantile lies below the 25 % quantile; sorted
# values keep their order. Sorting never increases the pinball loss of an observation, summed over the quantiles.

x_few = np.sort(rng.uniform(1, 6, 60))
y_few = 0.5 * x_few + 0.3 * x_few * rng.normal(size=60)
t = np.linspace(-4, 6, 301)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, crossing in zip(axes, ("allow", "forbid"), strict=True):
    model = QuantileSVR(Linear(), C=10.0, quantiles=quantiles, crossing=crossing).fit(x_few[:, None], y_few)
    values = model.predict(t[:, None])
    for place, tau in enumerate(quantiles):
        ax.plot(t, values[:, place], color=f"C{place}", label=f"{tau:.0%}")
    ax.plot(x_few, y_few, ".", color="0.5", zorder=0)
    ax.set(title=f'crossing="{crossing}"', xlabel="x")
    print(f"{crossing:6}: order broken at {np.mean((np.diff(values, axis=1) < 0).any(axis=1)):.0%} of the points")
axes[0].legend()
plt.show()
