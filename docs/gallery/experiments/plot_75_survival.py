"""
Survival: who lives longer
==========================

**The claim** (:ref:`[SS] <source-ss>` Section 7.3): survival can be analysed by machines that rank patients or
regress their times. Some times are censored: the patient was alive when last seen.

**The data** are generated: risks that depend on two of five measurements, not linearly, and a third of the times
censored. The measure is the concordance, the share of comparable pairs in the right order. A pair is comparable if
the one with the shorter time died.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, RankSVM
from mercer.kernels import Gaussian, Linear

chance = np.random.default_rng(0)
X = chance.normal(size=(400, 5))
risk = np.exp(1.5 * np.tanh(X[:, 0]) + X[:, 1] ** 2 / 2)
time_of_death = chance.exponential(1.0 / risk)
last_seen = chance.exponential(np.quantile(time_of_death, 0.85), size=400)
time, died = np.minimum(time_of_death, last_seen), time_of_death <= last_seen
train, test = np.arange(200), np.arange(200, 400)
print(f"{np.mean(~died):.0%} of the times are censored")


def concordance(predicted, time, died):
    """Return the share of comparable pairs that a prediction of longer life puts in the right order."""
    comparable = (time[:, None] < time) & died[:, None]
    right = (predicted[:, None] < predicted) + 0.5 * (predicted[:, None] == predicted)
    return (right * comparable).sum() / comparable.sum()


# %%
# Regression of the logarithm of time treats censored times as deaths, or leaves them out. Ranking uses comparable pairs
# only: all pairs of deaths, and each censored patient with some who died before.

y = np.log(time)
seen = train[died[train]]
rows, grades, groups = list(seen), list(time[seen]), [-1] * len(seen)
for one in train[~died[train]]:
    before = seen[time[seen] < time[one]][:5]
    rows += [*before, one]
    grades += [0.0] * len(before) + [1.0]
    groups += [one] * (len(before) + 1)
kernel = Gaussian(2.0)
predictions = {
    "linear, deaths only": SVR(Linear(), C=1.0, epsilon=0.1).fit(X[seen], y[seen]).predict(X[test]),
    "deaths only": SVR(kernel, C=1.0, epsilon=0.1).fit(X[seen], y[seen]).predict(X[test]),
    "all as deaths": SVR(kernel, C=1.0, epsilon=0.1).fit(X[train], y[train]).predict(X[test]),
    "ranking": RankSVM(kernel, C=0.05).fit(X[rows], grades, groups=groups).predict(X[test]),
}
found = {name: concordance(value, time[test], died[test]) for name, value in predictions.items()}
best = concordance(-risk[test], time[test], died[test])
for name, value in found.items():
    print(f"{name:22} {value:.3f}")
print(f"{'the true risk':22} {best:.3f}")

figure, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
ax.barh(list(found), list(found.values()), color="C0")
ax.axvline(best, color="k", linestyle="--", label="the true risk")
ax.axvline(0.5, color="0.5", linestyle=":", label="guessing")
ax.set(xlabel="concordance on 200 new patients", xlim=(0.4, 0.9))
ax.legend(fontsize="small")
plt.show()

# %%
# **Comparison**: ranking and regression are close to each other, as the papers cited by the source found too.

assert max(found.values()) < best + 0.03
assert found["ranking"] > 0.65 and abs(found["ranking"] - found["all as deaths"]) < 0.12
