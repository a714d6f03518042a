"""
Carbon dioxide: a kernel written term by term
=============================================

The concentration of carbon dioxide at Mauna Loa rises, and falls and rises again with the seasons. A sum of kernels
says so: a slow trend, a season whose shape may drift, irregularities over months, and noise. The evidence chooses all
their parameters, and the posterior continues the curve.

The file ``mauna_loa_co2_weekly.csv.gz`` is read from the folder that the environment variable ``MERCER_DATA`` names.
Without it the page shows a made-up series of the same form: an accelerating trend, a season that grows, and noise.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian, Periodic, RationalQuadratic


def series():
    """Return years, monthly means, and what they are."""
    folder = os.environ.get("MERCER_DATA")
    path = Path(folder) / "mauna_loa_co2_weekly.csv.gz" if folder else None
    if path is None or not path.exists():
        year = np.arange(1958.2, 2001.9, 1.0 / 12.0)
        since, chance = year - 1958.0, np.random.default_rng(0)
        season = (2.6 + 0.015 * since) * (np.sin(2 * np.pi * year) - 0.4 * np.cos(4 * np.pi * year))
        level = 314.5 + 0.75 * since + 0.0125 * since**2
        return year, level + season + 0.3 * chance.normal(size=len(year)), "a made-up series"
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    table = table[np.isfinite(table).all(axis=1)]
    month = np.floor(12.0 * table[:, 0]).astype(int)
    kept, place = np.unique(month, return_inverse=True)
    means = np.bincount(place, table[:, 1]) / np.bincount(place)
    return (kept + 0.5) / 12.0, means, "Mauna Loa, monthly means"


year, level, name = series()
train = year < year.max() - 10.0
X, y = year[train, None], level[train]
print(f"{name}: {train.sum()} months until {year[train].max():.1f}, {np.sum(~train)} months after it are predicted")

# %%
# The mean function is a straight line of unknown slope; each term of the kernel has its own scale and length scales.
# The period of the season is known and held fixed.

kernel = 25.0 * Gaussian(30.0) + 4.0 * Periodic(1.0, 1.3) * Gaussian(90.0) + 0.4 * RationalQuadratic(1.0, 1.0)
held = ("1__0__kernel__period",)
model = GaussianProcessRegressor(kernel, noise=0.05, mean="linear", fixed=held, tol=1e-4)
model.fit(X, y)
mean, std = model.predict(year[:, None], return_std=True, include_noise=True)
print(f"log evidence {model.log_marginal_likelihood_:.1f} after {model.tuned_.evaluations} evaluations")
print(f"noise: standard deviation {np.sqrt(model.noise_):.2f} ppm")
for term in model.kernel_.terms:
    print("  ", term)

# %%
# Grey: two standard deviations, noise included. The ten years to the right of the line were not shown to the model.

ahead = np.linspace(year.min(), year.max() + 5.0, 900)
curve, spread = model.predict(ahead[:, None], return_std=True, include_noise=True)
figure, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
ax.fill_between(ahead, curve - 2 * spread, curve + 2 * spread, color="0.85", linewidth=0)
ax.plot(ahead, curve, color="C0", linewidth=0.8)
ax.plot(year[train], level[train], "k.", markersize=1.5)
ax.plot(year[~train], level[~train], ".", color="C3", markersize=2.5)
ax.axvline(year[train].max(), color="0.5", linewidth=0.8)
ax.set(xlabel="year", ylabel="CO2 in ppm", title=name)
plt.show()

# %%
# How good is it, and does it know? Errors on the years that were held back, and how many lie in the band.

error = level[~train] - mean[~train]
inside = np.mean(np.abs(error) < 2 * std[~train])
print(f"root mean square error {np.sqrt(np.mean(error**2)):.2f} ppm; within two standard deviations: {inside:.0%}")
