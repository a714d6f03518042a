r"""
Three figures of Shawe-Taylor and Sun
=====================================

The three figures of :ref:`[STS] <source-sts>`, *Kernel methods and support vector machines*, from their captions.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, sample_prior
from mercer.kernels import Gaussian
from mercer.plots import MarginDisplay

# %%
# **Figure 1**: "One instantiation of the feature mapping using a Gaussian kernel." A point x becomes the function
# :math:`\phi(x) = \kappa(x, \cdot)`, which gives its similarity to all other points. Three points of the line become
# three bells. The inner product of two images is a value that can be read off: the height of one bell at the centre of
# the other.

kernel = Gaussian(0.8)
line = np.linspace(-4, 4, 300)[:, None]
points = np.array([[-2.0], [-0.6], [1.9]])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.axhline(0.0, color="0.6", linewidth=0.8)
left.set(title="points of the input space", yticks=[], ylim=(-1, 1), xlim=(-4, 4))
for place, x in enumerate(points[:, 0]):
    left.plot(x, 0.0, "o", color=f"C{place}")
    left.text(x, 0.12, f"$x_{place + 1}$", ha="center", color=f"C{place}")
    image = kernel(line, points[place : place + 1])[:, 0]
    right.plot(line, image, color=f"C{place}", label=rf"$\phi(x_{place + 1})$")
right.plot([-0.6, -0.6], [0.0, kernel(points)[0, 1]], ":", color="k")
product = r"$\langle \phi(x_1), \phi(x_2) \rangle$"
right.annotate(product, (-0.6, kernel(points)[0, 1]), (0.1, 0.5), arrowprops={"arrowstyle": "-"})
right.set(title="their images, functions in the feature space", xlim=(-4, 4))
right.legend()
print("inner products of the images:", kernel(points).round(3).tolist(), sep="\n")
plt.show()

# %%
# **Figure 2**: "An illustration of the margin and classification hyperplane for the linearly separable binary case."
# The hyperplane is :math:`w^\top x + b = 0`, and no point lies between the two at 1 and -1. Their distance, the margin,
# is 2 over the length of w. Rings mark the support vectors.

rng = np.random.default_rng(1)
X = np.vstack([rng.normal((-2, -1.2), 0.7, size=(20, 2)), rng.normal((2, 1.2), 0.7, size=(20, 2))])
y = np.repeat([-1, 1], 20)
machine = SVC("linear", C=np.inf).fit(X, y)
display = MarginDisplay.from_estimator(machine, X, y)
w = machine.coef_[0]
middle = -machine.intercept_[0] * w / (w @ w)
ends = middle + np.outer([-1.0, 1.0], w) / (w @ w)
display.ax_.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "<->"})
display.ax_.set(aspect="equal", title=f"margin 2 / |w| = {2 / np.linalg.norm(w):.2f}")
nearest = np.min(y * machine.decision_function(X))
print(f"smallest y f(x) of the samples: {nearest:.6f}")
plt.show()

# %%
# **Figure 3**: "Samples from a Gaussian process with zero mean and a Gaussian kernel as the covariance function." Every
# curve is one draw of the whole function; the shaded band holds 95 % of them at each place.

t = np.linspace(0, 5, 200)[:, None]
paths = sample_prior(Gaussian(0.7), t, 5, random_state=2)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.fill_between(t[:, 0], -1.96, 1.96, color="0.9", linewidth=0)
ax.plot(t, paths)
ax.set(xlabel="x", ylabel="f(x)", xlim=(0, 5))
plt.show()

assert abs(nearest - 1.0) < 1e-3
