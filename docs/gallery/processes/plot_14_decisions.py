"""
Decisions under uncertainty
===========================

A Gaussian process says how uncertain it is. What to do with that depends on what errors cost: where a prediction that
is too low costs more than one that is too high, the best prediction is not the mean. ``decide`` finds the prediction
with the least expected loss, as in Section 4.3 of Signoretto and Suykens, *Kernel Methods*.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian
from mercer.losses import Linex, Pinball, Squared
from mercer.selection import expected_loss

rng = np.random.default_rng(0)


def observe(n):
    """Return n inputs, few of them in the middle, and their observations."""
    x = np.concatenate([rng.uniform(0, 3, n // 2), rng.uniform(5, 8, n - n // 2)])
    return x[:, None], np.sin(x) + 0.15 * rng.normal(size=n)


X, y = observe(60)
t = np.linspace(0, 8, 300)[:, None]
model = GaussianProcessRegressor(1.0 * Gaussian(1.0), noise=0.1).fit(X, y)
mean, std = model.predict(t, return_std=True, include_noise=True)

# %%
# **Quantiles** minimise the pinball loss. Under a normal distribution they are a multiple of the standard deviation
# away from the mean: far where nothing was observed.

figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
ax.plot(X, y, "k.", markersize=4)
for tau, style in ((0.05, ":"), (0.5, "-"), (0.95, ":")):
    ax.plot(t, model.decide(t, Pinball(tau)), style, color="C0", label=f"quantile {tau}")
ax.legend(loc="lower left")
plt.show()

# %%
# **Asymmetric costs.** An item missing from stock costs four times as much as one left over; the cost of
# underestimating a water level grows exponentially. Any function of the outcome and the prediction will do.


def stock(y, f):
    """Cost of having f in stock when the demand is y."""
    return np.where(y > f, 4.0 * (y - f), f - y)


losses = {"squared": Squared(), "stock: 4 to 1": stock, "linex, a = 3": Linex(3.0)}
figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
ax.plot(X, y, "k.", markersize=4)
for name, loss in losses.items():
    ax.plot(t, model.decide(t, loss), label=name)
ax.legend(loc="lower left")
plt.show()

# %%
# What is it worth? The expected cost of each decision under each loss, averaged over the line, and its actual cost on
# new observations. Each decision is the cheapest under its own loss.

X_new, y_new = observe(2000)
new_mean, new_std = model.predict(X_new, return_std=True, include_noise=True)
print("expected / real cost        " + "".join(f"{name:>22}" for name in losses))
for made, decision in losses.items():
    f = model.decide(X_new, decision)
    cells = []
    for loss in losses.values():
        cost = loss if callable(loss) else loss.value
        cells.append(f"{expected_loss(new_mean, new_std, f, loss).mean():10.3f} /{cost(y_new, f).mean():10.3f}")
    print(f"decided for {made:16}" + "".join(cells))
