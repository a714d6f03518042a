"""
Two readings of the same data
=============================

Few observations leave a choice: a smooth function with much noise, or a lively one with little. Both are maxima of the
evidence here, and a search from one start finds the nearer one. ``ProcessBandsDisplay`` draws the mean and the band of
two standard deviations, beyond the data as well.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian
from mercer.plots import ProcessBandsDisplay

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0, 10, 9))[:, None]
y = np.sin(1.2 * X[:, 0]) + 0.4 * rng.normal(size=9)

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, length, noise in ((axes[0], 1.0, 0.01), (axes[1], 10.0, 1.0)):
    process = GaussianProcessRegressor(1.0 * Gaussian(length), noise=noise).fit(X, y)
    ProcessBandsDisplay.from_estimator(process, X, y, ax=ax)
    evidence = process.log_marginal_likelihood_
    ax.set_title(f"started at length {length:g}: log evidence {evidence:.2f}")
    print(f"start {length:4g}: {process.kernel_}, noise variance {process.noise_:.3g}, log evidence {evidence:.2f}")
plt.show()

# %%
# The larger evidence is the better reading. With more starts (``restarts``) the search itself finds it.
