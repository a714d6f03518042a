"""
A Gaussian process before and after
===================================

A Gaussian process is a distribution over functions. Before any data are seen its covariance function, a kernel, says
which functions are likely; a few observations rule out nearly all of them. What is left is the posterior: its mean is
the prediction, its spread the uncertainty. After Fig. 3 of Shawe-Taylor and Sun, *Kernel methods and support vector
machines*.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor, sample_prior
from mercer.kernels import Gaussian, Matern, Periodic

t = np.linspace(-5, 5, 201)[:, None]
X = np.array([[-4.0], [-1.5], [1.0], [2.5]])
y = np.array([-1.0, 0.5, 1.2, -0.3])


def band(ax, mean, std):
    """Shade two standard deviations around a mean."""
    ax.fill_between(t[:, 0], mean - 2 * std, mean + 2 * std, color="0.85", linewidth=0)
    ax.plot(t, mean, color="k", linewidth=1)


# %%
# Above: functions drawn from the prior. Below: functions drawn from the posterior, given four observations with next to
# no noise. The smoothness of both comes from the kernel alone.

kernels = {
    "Gaussian(1.0)": 1.0 * Gaussian(1.0),
    "Matern(0.5, 1.0)": 1.0 * Matern(0.5, 1.0),
    "Periodic(4.0)": 1.0 * Periodic(4.0, 1.0),
}
figure, axes = plt.subplots(2, 3, figsize=(12, 6), sharex=True, sharey=True, layout="constrained")
for column, (name, kernel) in zip(axes.T, kernels.items(), strict=True):
    band(column[0], np.zeros(len(t)), np.sqrt(kernel.diag(kernel.pack(t))))
    column[0].plot(t, sample_prior(kernel, t, 4, random_state=0), linewidth=1)
    model = GaussianProcessRegressor(kernel, noise=1e-4, fixed="all").fit(X, y)
    band(column[1], *model.predict(t, return_std=True))
    column[1].plot(t, model.sample_y(t, 4, random_state=0), linewidth=1)
    column[1].plot(X, y, "ko", markersize=5)
    column[0].set_title(name)
axes[0, 0].set_ylabel("prior")
axes[1, 0].set_ylabel("posterior")
plt.show()

# %%
# **Which kernel?** The evidence, the probability of what was observed, compares them and chooses their parameters.
# Forty observations of a smooth function with noise: the search starts from a length scale and a noise that are wrong.

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-5, 5, 40))[:, None]
y = np.sin(1.5 * X[:, 0]) + 0.2 * rng.normal(size=40)
wrong = GaussianProcessRegressor(1.0 * Gaussian(3.0), noise=1.0, fixed="all").fit(X, y)
best = GaussianProcessRegressor(1.0 * Gaussian(3.0), noise=1.0).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(12, 3.6), sharey=True, layout="constrained")
for ax, model in zip(axes, (wrong, best), strict=True):
    band(ax, *model.predict(t, return_std=True, include_noise=True))
    ax.plot(X, y, "k.", markersize=5)
    ax.set_title(f"log evidence {model.log_marginal_likelihood_:.1f}")
plt.show()
print(f"kernel {best.kernel_!r}, noise {best.noise_:.3f} (true: 0.04), {best.tuned_.evaluations} evaluations")
for kernel in (1.0 * Gaussian(1.0), 1.0 * Matern(0.5, 1.0), 1.0 * Periodic(4.0, 1.0)):
    found = GaussianProcessRegressor(kernel).fit(X, y)
    print(f"log evidence {found.log_marginal_likelihood_:7.2f}  {found.kernel_!r}")
