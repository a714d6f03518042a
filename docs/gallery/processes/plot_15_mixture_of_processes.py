"""
Several functions at once
=========================

Regression looks for one function. Some data have two: cars in two lanes, a field that was measured with two settings
that nobody recorded. In a mixture of Gaussian processes each sample belongs to one of several functions, and which one
is inferred together with the functions; the number of functions is not given but inferred, since components of a
Dirichlet process that are not needed stay empty.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessMixture
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
x = rng.uniform(0, 6, 120)
lane = rng.uniform(size=120) < 0.5
y = np.where(lane, np.sin(x), -np.sin(x)) + 0.08 * rng.normal(size=120)
grid = np.linspace(0, 6, 200)[:, None]

# %%
# Up to six functions are allowed. One process goes through the middle and takes the rest for noise; the mixture finds
# two, although they cross, because only smooth functions go straight through the crossings.

one = GaussianProcessMixture(Gaussian(1.0), noise=0.05, n_components=1).fit(x[:, None], y)
model = GaussianProcessMixture(Gaussian(1.0), noise=0.05, n_components=6, restarts=2, random_state=0)
model.fit(x[:, None], y)
print("functions found:", model.n_components_, "with weights", model.weights_.round(2))
print(
    "bound of the log evidence:", round(model.lower_bound_, 1), "against", round(one.lower_bound_, 1), "of one function"
)

found = model.predict_components(grid)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].scatter(x, y, c=model.responsibilities_.argmax(axis=1), cmap="coolwarm", s=14)
for mean, std in zip(found.mean.T, found.std.T, strict=True):
    axes[0].plot(grid, mean, "k", linewidth=1)
    axes[0].fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="0.85", zorder=0)
axes[0].plot(grid, one.predict(grid), "k--", label="one process")
axes[0].set(title="two branches", xlabel="x", ylabel="y")
axes[0].legend()
values = np.linspace(-1.8, 1.8, 161)
for place in (1.5, 3.1):
    density = np.exp(model.log_density(np.full((161, 1), place), values))
    axes[1].plot(values, density, label=f"p(y | x = {place})")
axes[1].set(title="what is predicted is a density", xlabel="y")
axes[1].legend()
plt.show()

# %%
# Noise that changes
# ------------------
#
# These numbers imitate the record of a crash test: quiet, then violent, then calming down. A single process has one
# noise for all times. Here components have their own kernel and noise, and ``gating=True`` lets each also model where
# its samples lie, so that its weight depends on x.


def crash(n):
    """Return times and accelerations."""
    time = np.sort(rng.uniform(0, 60, n))
    mean = -60 * np.exp(-(((time - 21) / 6) ** 2)) + 40 * np.exp(-(((time - 33) / 6) ** 2))
    spread = np.where(time < 14, 1.5, np.where(time < 40, 20.0, 8.0))
    return time[:, None], (mean * (time > 12) + spread * rng.normal(size=n)) / 50


X, z = crash(130)
X_new, z_new = crash(500)
times = np.linspace(0, 60, 200)[:, None]
one = GaussianProcessMixture(noise=0.05, n_components=1).fit(X, z)
model = GaussianProcessMixture(noise=0.05, n_components=4, gating=True, parameters="own").fit(X, z)
print("noise of the components (standard deviation):", [round(c.noise**0.5, 3) for c in model.components_])
for name, candidate in (("one process", one), ("mixture", model)):
    print(f"{name:12} mean log density of new data {candidate.log_density(X_new, z_new).mean():.3f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, candidate, title in zip(axes, (one, model), ("one process", "mixture"), strict=True):
    mean, std = candidate.predict(times, return_std=True)
    ax.fill_between(times[:, 0], mean - 2 * std, mean + 2 * std, color="0.85")
    ax.plot(times, mean, "k")
    ax.plot(X, z, ".", markersize=3)
    ax.set(title=title, xlabel="time")
plt.show()

# %%
# The band of the mixture is narrow before the impact and wide after it, and new data are more probable under it.
