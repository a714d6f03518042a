"""
What nu means
=============

``SVC`` has a price C per error, a number without a unit. ``NuSVC`` has nu, which is a share of samples:

    share of margin errors <= nu <= share of support vectors.

A margin error is a sample within the margin or on the wrong side of it. The same holds for ``OneClassSVM``, where an
error is a training sample outside the region. Both sides of the inequality are measured here.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NuSVC, OneClassSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
n = 300
y = np.repeat([-1, 1], n // 2)
X = rng.normal(size=(n, 2)) + 1.2 * y[:, None]
EDGE = 1e-6  # a sample this close to an edge is on it

# %%
# Two overlapping clouds, and a machine for each nu. ``NuSVC`` scales its decision values so that the edges of the
# margin are at -1 and 1.

nus = np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
shares = {"NuSVC": [], "OneClassSVM": []}
for nu in nus:
    model = NuSVC(Gaussian(1.5), nu=nu).fit(X, y)
    wrong = y * model.decision_function(X) < 1 - EDGE
    shares["NuSVC"].append((wrong.mean(), len(model.support_) / n, model.margin_[0], np.mean(model.predict(X) != y)))
    model = OneClassSVM(Gaussian(1.5), nu=nu).fit(X)
    outside = model.decision_function(X) < -EDGE * abs(model.offset_)
    shares["OneClassSVM"].append((outside.mean(), len(model.support_) / n))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, rows), error in zip(axes, shares.items(), ("margin errors", "outside the region"), strict=True):
    below, above = np.array(rows)[:, :2].T
    ax.fill_between(nus, below - nus, above - nus, color="0.93")
    ax.axhline(0, color="0.4", linewidth=1)
    ax.plot(nus, above - nus, "^-", color="C0", label="support vectors")
    ax.plot(nus, below - nus, "v-", color="C3", label=error)
    ax.set(title=name, xlabel="nu", xlim=(0, 1.03))
    ax.legend()
axes[0].set_ylabel("share of the training samples, minus nu")

print(f"{'NuSVC':>11}{'OneClassSVM':>58}")
print("  nu  margin errors  support vectors   margin  errors   outside  support vectors")
for nu, two, one in zip(nus, *shares.values(), strict=True):
    print(f"{nu:4.2f}{two[0]:15.3f}{two[1]:17.3f}{two[2]:9.3f}{two[3]:8.3f}{one[0]:10.3f}{one[1]:17.3f}")
    assert two[0] <= nu + 1e-12 and one[0] <= nu + 1e-12
    assert nu <= two[1] + 1e-12 and nu <= one[1] + 1e-12
plt.show()

# %%
# The two shares differ by the samples exactly on an edge, which are few, and fewer in proportion the more samples there
# are. The column "margin" is rho of the formula, before scaling. It shrinks quickly as nu approaches the share of
# samples that the kernel cannot separate; below that share only rounding error would be left of it, so nu should not be
# chosen there.
#
# Nor is every large nu possible for two classes: half of it has to come from each, so nu is at most twice the share of
# the smaller class. Too large a value is refused:

try:
    NuSVC(Gaussian(1.5), nu=0.8).fit(X[100:], y[100:])
except ValueError as refusal:
    print(refusal)

# %%
# **nu and C are one family.** A ``NuSVC`` with margin rho is an ``SVC`` with C = 1 / rho, scaled so that its edges are
# at -1 and 1:

from mercer import SVC  # noqa: E402

model = NuSVC(Gaussian(1.5), nu=0.3).fit(X, y)
same = SVC(Gaussian(1.5), C=1 / model.margin_[0]).fit(X, y)
difference = np.abs(model.decision_function(X) - same.decision_function(X)).max()
print(f"nu = 0.3 is C = {1 / model.margin_[0]:.4f}; largest difference of the decision values {difference:.1e}")
