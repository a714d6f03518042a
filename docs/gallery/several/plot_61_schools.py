r"""
Many schools, few pupils each
=============================

Each school has a line of its own, but the lines are alike. A machine for each school has too few pupils, one machine
for all ignores the schools. The kernel :math:`(\rho + (1 - \rho) [t = t']) \, k(x, x')` lies in between: a function
shared by all, and a correction for each. The share :math:`\rho` is chosen by leaving out one pupil at a time.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MultiTaskRidge, NuclearNormRegressor
from mercer.kernels import Linear

rng = np.random.default_rng(0)
schools, pupils = 40, 6
slopes = 1.0 + 0.3 * rng.normal(size=schools)
task = np.repeat(np.arange(schools), pupils)
X = np.column_stack([rng.normal(size=len(task)), np.ones(len(task))])
y = slopes[task] * X[:, 0] + 0.5 * rng.normal(size=len(task))
T = np.column_stack([rng.normal(size=2000), np.ones(2000)])
new = rng.integers(0, schools, size=2000)
truth = slopes[new] * T[:, 0]

# %%
# **From machines of their own to one for all.**

shares = np.linspace(0.0, 1.0, 11)
model = MultiTaskRidge(Linear(), alpha=1.0, rho=list(shares)).fit(X, y, tasks=task)
errors = [
    np.mean((MultiTaskRidge(Linear(), alpha=1.0, rho=share).fit(X, y, tasks=task).predict(T, tasks=new) - truth) ** 2)
    for share in shares
]
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(shares, model.rho_errors_ - model.rho_errors_.min(), label="left-out pupils, less the least")
ax.plot(shares, errors, label="truth")
ax.axvline(model.rho_, color="grey", linestyle=":")
ax.set(xlabel="share of what schools have in common", ylabel="mean squared error")
ax.legend()
plt.show()

# %%
# **A school that was never seen** gets what all share; the nuclear norm finds how many functions the schools share.

print("a new school:", model.predict([[1.0, 1.0]], tasks=[99]).round(2))
few = NuclearNormRegressor(Linear(), alpha=8.0, fit_intercept=False).fit(X, y, tasks=task)
print("functions shared:", few.rank_, "singular values:", few.singular_values_.round(1))
