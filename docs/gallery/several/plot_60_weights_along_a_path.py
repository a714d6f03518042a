"""
Many kernels: weights along a path
==================================

Which width is right, and which columns matter? Instead of choosing one kernel we give a family of them to
``MultipleKernelClassifier``, which learns their weights together with the machine. The more errors cost, the more
kernels are worth having.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MultipleKernelClassifier, weight_path
from mercer.kernels import Gaussian
from mercer.mixtures import Average, LpBall, Simplex
from mercer.plots import KernelAlignmentDisplay, KernelWeightsDisplay, WeightPathDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
y = np.sin(3.0 * X[:, 0]) + 0.7 * X[:, 1] + 0.3 * rng.normal(size=150) > 0
names = ("first", "second", "third")
kernels = {f"{names[c]} column, width {s:g}": Gaussian(s).on(c) for c in range(3) for s in (0.3, 1.0, 3.0)}

# %%
# **A path of costs.** While errors are cheap, one kernel is enough: the second column, which is nearly linear in the
# classes. The wave of the first column needs a narrow kernel, and enters when errors cost enough. Nothing is ever
# learned from the third.

path = weight_path(MultipleKernelClassifier(kernels), X, y, np.geomspace(0.03, 30.0, 15))
WeightPathDisplay(path).plot()
plt.show()

# %%
# **Sparse or not.** On the simplex few kernels keep a weight. In a ball of a larger norm all do.

figure, axes = plt.subplots(1, 3, figsize=(15, 4), layout="constrained", sharey=True)
for ax, mixture in zip(axes, (Simplex(), LpBall(2.0), Average()), strict=True):
    model = MultipleKernelClassifier(kernels, mixture=mixture).fit(X, y)
    KernelWeightsDisplay.from_estimator(model, ax=ax)
    ax.set_title(repr(mixture))
plt.show()

# %%
# **Kernels that are alike** share what they explain, and which of them gets the weight says little. The alignment of
# their centred matrices shows which these are.

KernelAlignmentDisplay.from_kernels(kernels, X)
plt.show()
