r"""
Two views of each sample
========================

A page has words and links, a person a face and a voice. Two machines, one for each view, can be trained to agree:
SVM-2K pays for disagreement on labelled samples, co-regularisation on samples without a label too.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVM2K, MultiViewLaplacianSVC
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
n = 200
truth = rng.integers(0, 2, size=n)
angle = rng.uniform(0.0, np.pi, size=n)
first = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(truth, 1.0, 2.0)[:, None]
second = rng.normal(size=(n, 2)) * 0.6 + np.where(truth, 1.0, -1.0)[:, None]
X = np.hstack([first + 0.15 * rng.normal(size=(n, 2)), second])
kernels = Gaussian(0.5).on([0, 1]), Gaussian(1.0).on([2, 3])

# %%
# **Disagreement costs.** The more it costs, the closer are the values of the two views.

some = np.arange(60)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharex=True, sharey=True, layout="constrained")
for ax, agreement in zip(axes, (0.0, 1.0, 20.0), strict=True):
    model = SVM2K(kernels, agreement=agreement).fit(X[some], truth[some])
    values = model.view_values(X[60:])
    ax.scatter(*values.T, s=10, c=np.where(truth[60:], "tab:orange", "tab:blue"))
    right = np.mean(model.predict(X[60:]) == truth[60:])
    ax.set(title=f"agreement {agreement:g}: {100 * right:.0f} % right", xlabel="first view", ylabel="second view")
plt.show()

# %%
# **Six labels.** With a graph in each view and agreement on all samples, few labels are enough.

y = np.full(n, -1)
for side in (0, 1):
    y[np.flatnonzero(truth == side)[:3]] = side
for agreement in (0.0, 1.0):
    model = MultiViewLaplacianSVC(kernels, C=10.0, agreement=agreement, manifold=0.1).fit(X, y)
    print(f"agreement {agreement:g}: {100 * np.mean(model.transduction_ == truth):.0f} % right")
