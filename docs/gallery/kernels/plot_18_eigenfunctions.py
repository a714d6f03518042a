r"""
Mercer's eigenfunctions
=======================

A kernel and a measure :math:`\nu` (where are the data?) define an operator on functions,
:math:`(Tf)(x) = \int k(x, y) f(y)\, d\nu(y)`. Its eigenfunctions are what the kernel sees of the domain, the largest
first, and Mercer's theorem says that they are all there is to see:

.. math:: k(x, x') = \sum_i \mu_i\, e_i(x)\, e_i(x'), \qquad \int e_i\, e_j\, d\nu = \delta_{ij}.

So :math:`x \mapsto (\sqrt{\mu_i}\, e_i(x))_i` is a feature map, and the best of a given length: after r coordinates the
mean squared error in feature space is the sum of the eigenvalues that are left.
"""

from math import factorial

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import eval_hermite
from sklearn.datasets import make_moons

from mercer.hilbert import Normal, Sampled, Uniform, mercer_expansion
from mercer.kernels import Brownian, Gaussian, Matern
from mercer.plots import EigenfunctionsDisplay

# %%
# **The Gaussian kernel under a normal measure** is one of the few cases with a closed form: Hermite polynomials times
# a bell, and eigenvalues that fall by a constant factor. The integral is taken by Gauss-Hermite quadrature; the dots
# are the closed form.

length, scale = 0.5, 1.0
a, b = 1 / (4 * scale**2), 1 / (2 * length**2)
c = np.sqrt(a * a + 2 * a * b)


def exact_value(i):
    return np.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** (i - 1)


def exact_function(i, x):
    size = (c / a) ** 0.25 / np.sqrt(2.0 ** (i - 1) * factorial(i - 1))
    return size * np.exp(-(c - a) * x * x) * eval_hermite(i - 1, np.sqrt(2 * c) * x)


gaussian = mercer_expansion(Gaussian(length), Normal(0.0, scale, count=200))
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
display = EigenfunctionsDisplay.from_expansion(gaussian, count=4, region=((-3, 3),), ax=axes[0])
x = np.linspace(-3, 3, 25)
for i, values in enumerate(display.values, start=1):
    exact = exact_function(i, x)
    exact *= np.sign(np.interp(x, display.grid[0], values) @ exact)  # eigenfunctions are known up to their sign
    axes[0].plot(x, exact, "k.", markersize=3)
display.plot_eigenvalues(axes[1], exact=exact_value)
plt.show()
print(gaussian)
error = np.abs(gaussian.eigenvalues[:10] / exact_value(np.arange(1, 11)) - 1).max()
print(f"relative error of the first ten eigenvalues: {error:.1e}")

# %%
# **Brownian motion** has the kernel min(s, t). On the unit interval its eigenfunctions are sines with an odd number of
# quarter waves, and its eigenvalues fall only as the inverse square of their index: paths of Brownian motion are rough,
# and smooth functions describe them poorly. The Matern kernel of order 3/2 lies between it and the Gaussian.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
unit = Uniform(0.0, 1.0, count=400)
for kernel, ax in ((Brownian(), axes[0]), (Matern(1.5, length_scale=0.3), axes[1])):
    expansion = mercer_expansion(kernel, unit)
    EigenfunctionsDisplay.from_expansion(expansion, count=4, ax=ax)
    print(f"{kernel!r}: eigenvalues {expansion.eigenvalues[:4].round(4)}")
print("1 / ((i - 1/2) pi)^2:       ", (1 / ((np.arange(1, 5) - 0.5) * np.pi) ** 2).round(4))
plt.show()

# %%
# **How many terms are enough?** The figure shows what is left of k(x, x) after r terms, at the worst point and on
# average. The faster the eigenvalues fall, the fewer coordinates are needed; for the Gaussian, a handful.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
places = np.linspace(0.0, 1.0, 101)[:, None]
for kernel, colour in ((Brownian(), "C0"), (Matern(1.5, length_scale=0.3), "C1"), (Gaussian(0.3), "C2")):
    expansion = mercer_expansion(kernel, unit)
    ranks = np.unique(np.geomspace(1, min(expansion.rank, 60), 14).astype(int))
    cut = [expansion.truncated(int(r)) for r in ranks]
    ax.loglog(ranks, [one.remainder(places).max() for one in cut], "o-", color=colour, markersize=3, label=repr(kernel))
    ax.loglog(ranks, [one.tail for one in cut], "--", color=colour)
ax.set(xlabel="terms", ylabel="k(x, x) less the sum: largest, and mean (dashed)", ylim=(1e-11, 2))
ax.legend()
plt.show()

# %%
# **A sample is a measure too**, and the one that matters for learning from data. The eigenfunctions of a Gaussian
# kernel on two moons: the first ones show how dense the data are and which moon a place belongs to, later ones divide
# each moon into halves and quarters. The numbers are eigenvalues; points are the sample, black lines the zeros.

X, _ = make_moons(400, noise=0.06, random_state=0)
moons = mercer_expansion(Gaussian(0.3), Sampled(X), rank=6)
figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex=True, sharey=True, layout="constrained")
EigenfunctionsDisplay.from_expansion(moons, region=((-1.5, 2.5), (-1.0, 1.5)), ax=axes)
plt.show()
print(moons)
