"""
Traffic: when one process is not enough
=======================================

**The claim** (:ref:`[STS] <source-sts>` Sections 7 and 8): mixtures of Gaussian processes "have the advantages of
characterizing varying covariances or multimodal data", and were applied to the flow of traffic.

**The data** are generated: hourly flow on 20 days; working days have two peaks and free days one, but the kind of day
was not recorded. No traffic counts can be bundled.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessMixture, GaussianProcessRegressor
from mercer.kernels import Gaussian

chance = np.random.default_rng(0)
hour = np.tile(np.arange(6.0, 22.0, 2.0), 20)
working = np.repeat(np.arange(20) % 7 < 5, 8)
commute = 8 * np.exp(-((hour - 8) ** 2) / 3) + 9 * np.exp(-((hour - 17) ** 2) / 4) + 2
leisure = 5 * np.exp(-((hour - 13) ** 2) / 12)
flow = np.where(working, commute, leisure) + 0.4 * chance.normal(size=len(hour))
X = hour[:, None]

# %%
# A single process must treat half of the days as noise. The mixture finds two functions, and how often each holds.

one = GaussianProcessRegressor(20.0 * Gaussian(2.0), noise=1.0).fit(X, flow)
both = GaussianProcessMixture(
    20.0 * Gaussian(2.0), noise=0.2, n_components=2, fixed="all", random_state=0, normalize_y=False
).fit(X, flow)
print(f"noise of one process: {np.sqrt(one.noise_):.2f}; the noise of the data is 0.40")

grid = np.linspace(6, 20, 90)[:, None]
mean, std = one.predict(grid, return_std=True, include_noise=True)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained", sharey=True)
axes[0].fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.2)
axes[0].plot(grid[:, 0], mean)
axes[0].set(title="one process", ylabel="vehicles a minute")
found = both.predict_components(grid)
for mean, std in zip(found.mean.T, found.std.T, strict=True):
    axes[1].fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.2)
    axes[1].plot(grid[:, 0], mean)
axes[1].set(title="a mixture of two")
for ax in axes:
    ax.plot(hour, flow, "k.", markersize=3)
    ax.set(xlabel="hour")
plt.show()

# %%
# **Comparison**: as claimed, the mixture separates what one process averages. At eight o'clock:

new_day = np.array([[8.0]])
branches = np.sort(both.predict_components(new_day).mean[0])
print(f"one process predicts {one.predict(new_day)[0]:.1f}, which no day has; the branches {branches.round(1)}")
assert abs(branches[-1] - 10.0) < 1.5 and abs(branches[0] - leisure[hour == 8.0][0]) < 1.5
