"""
Two samples, two variables: is there anything to see?
=====================================================

Kernels turn a distribution into a point of feature space, the mean of the images of its samples. If two samples come
from one distribution, their means are close; if two variables are independent, the mean of the joint images is the
product of the single ones. Permuting the data shows how close is close enough: that is a test whose level is exact
at every sample size, on any objects for which there is a kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.inference import aggregated_test, dhsic_test, hsic_test, mmd_test
from mercer.kernels import Gaussian, Spectrum
from mercer.plots.null_distribution import NullDistributionDisplay

rng = np.random.default_rng(0)

# %%
# Equal mean, equal variance, another shape
# -----------------------------------------
# A normal and a Laplace distribution with the same mean and variance. A test of means sees nothing; the maximum mean
# discrepancy :math:`\| \mu_X - \mu_Y \|^2` of a Gaussian kernel compares all moments at once.

n = 400
X = rng.normal(size=(n, 1))
Y = rng.laplace(scale=np.sqrt(0.5), size=(n, 1))
result = mmd_test(X, Y, Gaussian(0.5), random_state=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.hist([X[:, 0], Y[:, 0]], bins=40, density=True, label=["normal", "Laplace"])
left.set(xlabel="x", title="two samples")
left.legend()
NullDistributionDisplay.from_result(result, ax=right)
right.set_title("the discrepancy among 1000 permutations")
plt.show()

# %%
# The width matters, and need not be guessed
# ------------------------------------------
# A wide kernel sees only the mean, a narrow one only noise. ``aggregated_test`` takes several widths at once and keeps
# one exact level: the smallest p-value is compared with the smallest p-values of the permutations.

several = aggregated_test(X, Y, random_state=0)
widths = [kernel.length_scale for kernel in several.kernels]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.loglog(widths, several.p_values, "o-", label="single kernels")
ax.axhline(several.p_value, color="C1", label=f"all together, p = {several.p_value:.2g}")
ax.axhline(0.05, color="0.6", linestyle="--", label="5 %")
ax.set(xlabel="length scale of the Gaussian", ylabel="p-value")
ax.legend()
plt.show()

# %%
# How often the difference is found
# ---------------------------------
# The power: the share of 30 repetitions in which the test rejects at 5 %. Using all pairs of samples gives the most
# power; averages over blocks, or over single pairs, take less time and have less power. Where there is no difference
# (dashed), each test rejects in about one case in twenty; ``make levels`` counts it over 2 000 repetitions and draws
# such curves for all tests.

sizes, runs, draw = [50, 150, 400], 30, np.random.default_rng(1)


def rejects(n, laplace, estimator):
    """Draw two samples and test them."""
    other = draw.laplace(scale=np.sqrt(0.5), size=(n, 1)) if laplace else draw.normal(size=(n, 1))
    return mmd_test(draw.normal(size=(n, 1)), other, Gaussian(0.5), 100, 0, estimator=estimator).p_value <= 0.05


figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, estimator in (("all pairs", "unbiased"), ("blocks", "block"), ("linear time", "linear")):
    power = [np.mean([rejects(n, True, estimator) for _ in range(runs)]) for n in sizes]
    level = [np.mean([rejects(n, False, estimator) for _ in range(runs)]) for n in sizes]
    curve = ax.plot(sizes, power, "o-", label=name)[0]
    ax.plot(sizes, level, "--", color=curve.get_color())
ax.axhline(0.05, color="0.6", linewidth=0.8)
ax.set(xlabel="samples of each", ylabel="share rejected", ylim=(-0.03, 1.03))
ax.legend()
plt.show()

# %%
# Dependence without correlation
# ------------------------------
# On a circle neither coordinate predicts the other linearly, yet they are far from independent. The independence
# criterion is the size of the covariance between *all* functions of one and all functions of the other. The gamma
# approximation needs no permutation: its two moments are those over all n! permutations, in closed form.

angle = rng.uniform(0.0, 2.0 * np.pi, 200)
x, y = np.cos(angle) + 0.25 * rng.normal(size=200), np.sin(angle) + 0.25 * rng.normal(size=200)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
axes[0].scatter(x, y, s=8)
axes[0].set(xlabel="x", ylabel="y", title=f"correlation {np.corrcoef(x, y)[0, 1]:.2f}", aspect="equal")
for ax, null in zip(axes[1:], ("permutation", "gamma"), strict=True):
    NullDistributionDisplay.from_result(hsic_test(x, y, estimator="biased", null=null, random_state=0), ax=ax)
    ax.set_title(f"HSIC, null by {null}")
plt.show()

# %%
# Three variables that are independent two by two
# -----------------------------------------------
# The product of two signs is independent of each of them, but not of both together.

a, b = rng.choice([-1.0, 1.0], size=(2, 80))
c = a * b
for name, p in (
    ("a and c", hsic_test(a, c, random_state=0).p_value),
    ("b and c", hsic_test(b, c, random_state=0).p_value),
    ("all three", dhsic_test((a, b, c), random_state=0).p_value),
):
    print(f"{name:10} p = {p:.3f}")

# %%
# Strings
# -------
# Two sources of letters with equal frequencies, the second with a memory of one letter. A kernel that counts letters
# sees nothing, one that counts pairs does.


def source(stay, count=60, length=30):
    words = []
    for _ in range(count):
        flips = np.cumsum(rng.random(length) > stay) + rng.integers(2)
        words.append("".join("ab"[flip % 2] for flip in flips))
    return words


first, second = source(0.5), source(0.62)
for length in (1, 2, 3):
    p = mmd_test(first, second, Spectrum(length), random_state=0).p_value
    print(f"Spectrum({length}): p = {p:.3f}")
