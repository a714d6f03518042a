"""
Kernels as pictures
===================

A kernel on numbers is a curve: how similar are two points at distance t? Length scales are in the units of the data, so
all curves below fall to about 0.6 or less at t = 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Cauchy, Exponential, Gaussian, Linear, Matern, Periodic, Polynomial, Wendland
from mercer.plots import KernelProfileDisplay

# %%
# **Stationary kernels** depend on the difference of two points alone. They differ in how smooth the curve is at zero
# and how slowly it falls far out.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
KernelProfileDisplay.from_kernel([Exponential(1.0), Matern(1.5), Gaussian(1.0)], ax=left)
KernelProfileDisplay.from_kernel([Cauchy(1.0), Wendland(1, length_scale=2.0), Periodic(2.0)], ax=right)
left.set_title("by smoothness at zero")
right.set_title("by what happens far out")

# %%
# **Dot-product kernels** depend on where the points are; here, similarity to the point 1.

display = KernelProfileDisplay.from_kernel(
    [Linear(), Polynomial(2, offset=0.5), Polynomial(3, offset=0.5)], origin=[1.0], t=np.linspace(-3, 1, 201)
)
display.ax_.set_title("similarity with the point 1")

# %%
# The smoothness at zero decides how smooth a fitted function is. Eight points, three kernels with the same length
# scale:

x = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 3.8, 4.6, 5.5])[:, None]
y = np.array([0.2, 0.9, 0.4, 0.6, -0.8, -0.5, -0.9, 0.3])
t = np.linspace(-1, 6.5, 400)[:, None]
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for kernel in (Exponential(1.0), Matern(1.5), Gaussian(1.0)):
    ax.plot(t, KernelRidge(kernel, alpha=1e-6).fit(x, y).predict(t), label=repr(kernel))
ax.plot(x, y, "ko", label="data")
ax.legend()
plt.show()
