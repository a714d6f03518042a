r"""
The figure of Hofmann, Schölkopf and Smola
==========================================

**Figure 1** of :ref:`[HSS] <source-hss>`, *A tutorial review of RKHS methods*: "A simple geometric classification
algorithm: given two classes of points (depicted by 'o' and '+'), compute their means :math:`c_+, c_-` and assign a test
input x to the one whose mean is closer. This can be done by looking at the dot product between :math:`x - c` (where
:math:`c = (c_+ + c_-)/2`) and :math:`w := c_+ - c_-`, which changes sign as the enclosed angle passes through
:math:`\pi/2`. Note that the corresponding decision boundary is a hyperplane (the dotted line) orthogonal to w."
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMeanClassifier
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(4)
X = np.vstack([rng.normal((-1.4, -0.5), 0.7, size=(9, 2)), rng.normal((1.5, 0.9), 0.7, size=(9, 2))])
y = np.repeat([-1, 1], 9)
model = KernelMeanClassifier(Linear()).fit(X, y)
low, high = X[y < 0].mean(axis=0), X[y > 0].mean(axis=0)
c, w = (low + high) / 2, high - low
x = np.array([0.9, -0.9])

figure, (plain, curved) = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
across, up = np.meshgrid(np.linspace(-3.4, 3.6, 150), np.linspace(-2.6, 3.0, 150))
grid = np.column_stack([across.ravel(), up.ravel()])
for ax, machine in ((plain, model), (curved, KernelMeanClassifier(Gaussian(0.8)).fit(X, y))):
    f = machine.decision_function(grid).reshape(across.shape)
    ax.contour(across, up, f, levels=[0.0], colors="k", linestyles=":")
    ax.plot(*X[y < 0].T, "o", color="C0", markerfacecolor="none")
    ax.plot(*X[y > 0].T, "+", color="C3", markersize=9)
    ax.set(aspect="equal")
for place, name in ((low, "$c_-$"), (high, "$c_+$"), (c, "$c$"), (x, "$x$")):
    plain.plot(*place, "ks", markersize=4)
    plain.annotate(name, place, (6, -12), textcoords="offset points")
plain.annotate("", high, low, arrowprops={"arrowstyle": "->"})
plain.annotate("", x, c, arrowprops={"arrowstyle": "->", "color": "0.5"})
plain.text(*(c + 0.28 * w + (-0.15, 0.25)), "$w$")
plain.set_title("the dot product: a hyperplane")
curved.set_title("a Gaussian kernel: means in feature space")
plt.show()

# %%
# The angle decides: where it exceeds a right angle, the point belongs to the class of :math:`c_-`. The same rule in the
# feature space of a Gaussian kernel, on the right, is a comparison of two Parzen windows, and its boundary is curved.

angle = np.degrees(np.arccos((x - c) @ w / np.linalg.norm(x - c) / np.linalg.norm(w)))
print(f"the angle of x - c and w is {angle:.0f} degrees; x belongs to {model.predict([x])[0]:+d}")
by_hand = (grid - c) @ w > 0
assert np.array_equal(by_hand, model.decision_function(grid) > 0)
