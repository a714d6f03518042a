"""
Kernels as mixtures of waves
============================

Bochner's theorem: a function of the difference is a kernel if and only if it is a mixture of cosines, and the
mixture, the *spectral density*, says everything about it. Frequencies that the density gives little weight are
penalised: the norm of a function in the space of the kernel is the integral of its power spectrum divided by the
density. So one look at the density shows which functions a kernel considers plausible.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.hilbert import bochner_test, spectral_measure
from mercer.kernels import BSpline, Epanechnikov, Gaussian, Matern, Periodic, SpectralMixture
from mercer.plots.spectral_density import SpectralDensityDisplay

# %%
# From left to right: kernels, their densities on a logarithmic scale, what they penalise, and functions drawn from
# their Gaussian processes. The density of a Matern kernel falls like a power of the frequency, so that rough
# functions are expensive; that of the Gaussian kernel falls so fast that they are out of the question.

smooth = {
    "Matern 1/2": Matern(0.5),
    "Matern 3/2": Matern(1.5),
    "Matern 5/2": Matern(2.5),
    "Gaussian": Gaussian(1.0),
}
other = {
    "B-spline": BSpline(3).normalized(),
    "periodic": Periodic(2.0, 0.7),
    "spectral mixture": SpectralMixture((0.6, 0.4), (0.5, 2 * np.pi), (0.6, 0.3)),
}
figure, axes = plt.subplots(2, 4, figsize=(14, 6.4), layout="constrained")
for row, kernels in zip(axes, (smooth, other), strict=True):
    display = SpectralDensityDisplay.from_kernel(
        kernels, what="kernel", t=np.linspace(-4, 4, 241), omega=np.linspace(0, 14, 281), ax=row[0]
    )
    for what, ax in zip(("density", "penalty", "paths"), row[1:], strict=True):
        display.plot(what, ax)
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    row[1].set_ylim(1e-7, 2)
    row[2].set_ylim(0.5, 1e7)
plt.show()

# %%
# The periodic kernel has no density: its frequencies are the multiples of one over the period, each with a mass of its
# own (the stems above). A product of kernels convolves their measures, so a periodic kernel times a slow Gaussian one
# has a narrow bell around each multiple: a period that may drift.

for kernel in (Gaussian(1.0), Periodic(2.0), Periodic(2.0) * Gaussian(5.0), BSpline(3)):
    print(spectral_measure(kernel))

# %%
# The theorem is also a test. The parabola of Epanechnikov, cut off at zero, looks like a kernel; its transform
# changes sign, and the frequency where it does is a witness that it is not.

result = bochner_test(Epanechnikov(1.0))
print(f"least density of the Epanechnikov function: {result.density:.4f} at frequency {result.omega[0]:.2f}")
omega = np.linspace(0, 25, 400)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.axhline(0, color="0.7", linewidth=0.8)
ax.plot(omega, spectral_measure(Epanechnikov(1.0)).density(omega[:, None]))
ax.plot(result.omega, [result.density], "o", color="C3")
ax.set(xlabel="frequency", ylabel="transform")
plt.show()

# %%
# **A kernel from a measure.** Any density gives a kernel, and mixtures of bells approach any density: the *spectral
# mixture*. Its weights, means and widths are free parameters, and the evidence of a Gaussian process finds them. Here
# is a series with two periods, 1 and 3.2, the second with a shape that is not a plain wave. The search starts from the
# peaks of the periodogram, since the evidence has many local optima in the means; the widths, which would shrink to
# nothing for waves that never fade, are held fixed.

rng = np.random.default_rng(0)
t = np.linspace(0, 20, 240)
truth = np.sin(2 * np.pi * t) + 0.8 * np.sin(2 * np.pi * t / 3.2) + 0.4 * np.cos(4 * np.pi * t / 3.2)
y = truth + 0.1 * rng.normal(size=len(t))
train = t < 11.0
frequencies = 2 * np.pi * np.fft.rfftfreq(8 * train.sum(), t[1] - t[0])
power = np.abs(np.fft.rfft((y[train] - y[train].mean()) * np.hanning(train.sum()), 8 * train.sum())) ** 2
peaks = np.flatnonzero((power[1:-1] > power[:-2]) & (power[1:-1] > power[2:])) + 1
means = np.sort(frequencies[peaks[np.argsort(power[peaks])[-3:]]])
start = SpectralMixture((0.5, 0.5, 0.5), tuple(means.tolist()), (0.03, 0.03, 0.03))
models = {
    "Gaussian": GaussianProcessRegressor(1.0 * Gaussian(1.0), noise=0.1),
    "spectral mixture": GaussianProcessRegressor(start, noise=0.1, fixed=("scales",)),
}
figure, axes = plt.subplots(2, 1, figsize=(11, 5.4), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(t[train, None], y[train])
    mean, std = model.predict(t[:, None], return_std=True)
    ax.fill_between(t, mean - 2 * std, mean + 2 * std, color="0.85", linewidth=0)
    ax.plot(t, mean, linewidth=1)
    ax.plot(t[train], y[train], "k.", markersize=2)
    ax.plot(t[~train], truth[~train], "--", color="C3", linewidth=0.8)
    ax.set_title(name)
    error = np.sqrt(np.mean((mean - truth)[~train] ** 2))
    print(f"{name:17} log evidence {model.log_marginal_likelihood_:7.1f}, error beyond the data {error:.2f}")
plt.show()

# %%
# The Gaussian kernel forgets the data within a length scale of the last observation; the mixture has found the three
# frequencies and continues them.

found = models["spectral mixture"].kernel_
print("periods", np.round(2 * np.pi / np.asarray(found.get_params()["means"]), 3), "of 1, 1.6 and 3.2")
SpectralDensityDisplay.from_kernel(
    {"what the evidence found": found}, omega=np.linspace(0, 10, 600), t=np.linspace(-10, 10, 400)
)
plt.show()
