"""
Processes that change
=====================

A stationary kernel says that a function is the same everywhere: as rough here as there. Three kernels say otherwise:
`ChangePoint`, one kernel before a place and another after it; `Gibbs`, a length scale that is a function of the place;
and `Deep`, a stationary kernel on places moved by a map, whose parameters are learned with those of the kernel.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.datasets import load_sample_image

from mercer import GaussianProcessRegressor
from mercer.constraints import Interval, Positive
from mercer.errors import ConvergenceWarning
from mercer.kernels import ChangePoint, Gaussian, Gibbs, Matern
from mercer.spec import Spec

warnings.simplefilter("ignore", ConvergenceWarning)  # where the sky is one colour, the noise goes to its bound


def likeliest(kernels, X, y):
    """Return the process with the largest evidence, each kernel being the start of a search."""
    found = (GaussianProcessRegressor(kernel, noise=0.01).fit(X, y) for kernel in kernels)
    return max(found, key=lambda process: process.log_marginal_likelihood_)


def judged(process, X, y):
    """Return the mean log density of new values, and the root mean squared error."""
    mean, spread = process.predict(X, return_std=True)
    variance = spread**2 + process.noise_
    density = -0.5 * np.log(2.0 * np.pi * variance) - 0.5 * (y - mean) ** 2 / variance
    return density.mean(), np.sqrt(np.mean((y - mean) ** 2))


# %%
# **A map with derivatives.** Any class that stores numbers, and gives the images of points and the derivatives in its
# numbers, may be learned. This one walks through the picture slowly, and from a certain place on faster, so that what
# is smooth before looks rough after it. ``kernel.of(map)`` is then a `Deep` kernel with three more parameters.


class Hurry(Spec):
    constraints = {"speed": Positive(), "place": Interval(-np.inf, np.inf), "width": Positive()}

    def __init__(self, speed, place, width):
        self.speed = speed
        self.place = place
        self.width = width

    def __call__(self, X):
        return X + self.speed * self.width * np.logaddexp(0.0, (X - self.place) / self.width)

    def pullback(self, X, G):
        u = (X - self.place) / self.width
        soft, slope = np.logaddexp(0.0, u), expit(u)
        slopes = self.width * soft, -self.speed * slope, self.speed * (soft - u * slope)
        return np.array([np.sum(G * part) for part in slopes])


def shorter(before, after, place):
    """Return a function of places that falls from one length scale to another one."""
    return lambda X: np.exp(np.log(before) + (np.log(after) - np.log(before)) * expit((X[:, 0] - place) / 0.1))


# %%
# **From the sky to the roofs.** Five columns of a photograph, from top to bottom: sky, then a tower or trees. A third
# of the pixels of each is given, the others are predicted. All choices are made by the evidence on the given pixels:
# parameters by its gradient from one start, and of six functions for `Gibbs` the likeliest.
#
# Where a column begins with sky (the first, fourth and fifth), `ChangePoint` and `Deep` gain more than a unit of log
# density per pixel. They do not predict better, but they know where they are right. In the second, with a roof from the
# top, there is little to gain. In the third the tip of a roof stands in the sky, dark, between two given pixels: who is
# sure of the sky pays for it, with nearly twenty units per pixel on average. `Gibbs` is seldom better than the
# stationary kernels here: its functions are smooth, and their variance is the same for the sky and for the roofs.

picture = load_sample_image("china.jpg").mean(axis=2) / 255.0
rows = np.arange(len(picture)) / 100.0
columns = (80, 200, 320, 440, 560)
families = {
    "Gaussian": [1.0 * Gaussian(0.3)],
    "Matern(0.5)": [1.0 * Matern(0.5, length_scale=0.3)],
    "Gibbs": [1.0 * Gibbs(shorter(3.0, b, c)) for b in (0.05, 0.1) for c in (1.0, 2.0, 3.0)],
    "ChangePoint": [
        ChangePoint(1.0 * Matern(0.5, length_scale=3.0), 1.0 * Matern(0.5, length_scale=0.2), location=2.0, width=0.1)
    ],
    "Deep": [(1.0 * Matern(0.5, length_scale=1.0)).of(Hurry(10.0, 2.0, 0.1))],
}
densities, errors = {name: [] for name in families}, {name: [] for name in families}
figure, axes = plt.subplots(2, 3, figsize=(13, 6), layout="constrained")
axes[0, 0].imshow(picture, cmap="gray")
axes[0, 0].vlines(columns, 0, len(picture) - 1, color="tab:red", lw=1)
axes[0, 0].axis("off")
for column in columns:
    order = np.random.default_rng(column).permutation(len(rows))
    given, others = np.sort(order[:140]), np.sort(order[140:])
    y = (picture[:, column] - picture[given, column].mean()) / picture[given, column].std()
    for name, kernels in families.items():
        process = likeliest(kernels, rows[given, None], y[given])
        density, error = judged(process, rows[others, None], y[others])
        densities[name].append(density)
        errors[name].append(error)
        if column == columns[-1]:
            ax = axes.flat[1 + list(families).index(name)]
            mean, spread = process.predict(rows[:, None], return_std=True)
            ax.fill_between(rows, mean - 2 * spread, mean + 2 * spread, alpha=0.3)
            ax.plot(rows, mean, lw=1)
            ax.plot(rows[given], y[given], "k.", ms=3)
            ax.set(title=f"{name}: log density {density:.2f}", ylim=(-4, 3))
plt.show()
print("log density of the other pixels, by columns" + " " * 6 + "median    error")
for name, values in densities.items():
    told = "".join(f"{value:8.2f}" for value in values)
    print(f"{name:12}{told}{np.median(values):9.2f}{np.mean(errors[name]):9.3f}")

# %%
# **A tone that rises** has one amplitude and a frequency that grows with time; that is what `Gibbs` is for. Its length
# scale is c / x, with c out of three by the evidence. A stationary kernel has to be as quick everywhere as the function
# is at the end.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.3, 4.0, 70))
times = np.linspace(0.3, 4.0, 500)
heard = np.sin(np.pi * x**2) + 0.1 * rng.normal(size=len(x))
later = np.sin(np.pi * times**2) + 0.1 * rng.normal(size=len(times))
tones = {
    "Gaussian": [1.0 * Gaussian(l) for l in (0.1, 0.5)],
    "Matern(2.5)": [1.0 * Matern(2.5, length_scale=l) for l in (0.1, 0.5)],
    "Gibbs": [1.0 * Gibbs(lambda X, c=c: c / X[:, 0]) for c in (0.3, 0.5, 0.8)],
}
figure, axes = plt.subplots(1, 3, figsize=(13, 3.2), layout="constrained", sharey=True)
for ax, (name, kernels) in zip(axes, tones.items(), strict=True):
    process = likeliest(kernels, x[:, None], heard)
    density, error = judged(process, times[:, None], later)
    mean, spread = process.predict(times[:, None], return_std=True)
    ax.fill_between(times, mean - 2 * spread, mean + 2 * spread, alpha=0.3)
    ax.plot(times, mean, lw=1)
    ax.plot(x, heard, "k.", ms=3)
    ax.set_title(f"{name}: log density {density:.2f}")
    print(
        f"{name:12} log evidence {process.log_marginal_likelihood_:7.2f}, log density {density:6.2f}, error {error:.3f}"
    )
plt.show()
