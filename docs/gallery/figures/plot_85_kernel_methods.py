r"""
Six figures of Signoretto and Suykens
=====================================

The six figures of :ref:`[SS] <source-ss>`, *Kernel methods*, from their captions. The first two are sketches there;
here both are computed for classes of functions that are simple enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, SVR
from mercer.kernels import Gaussian, Polynomial
from mercer.losses import EpsilonInsensitive
from mercer.plots import MarginDisplay
from mercer.theory import empirical_minimizer, vc_bound

rng = np.random.default_rng(0)

# %%
# **Figure 1**: "Consistency of ERM." Labels are 1 with probability 0.8 to the right of 0.4 and 0.2 to the left, and the
# functions are thresholds. The best of them errs with probability 0.2. The threshold with the fewest errors on N
# samples has an empirical risk below that, because it was chosen so, and an expected risk above; both go to 0.2.

thresholds = np.linspace(0, 1, 201)


def learned(n):
    """Return the empirical and the expected risk of the threshold with the fewest errors on n samples."""
    x = rng.random(n)
    label = rng.random(n) < np.where(x > 0.4, 0.8, 0.2)
    wrong = (x > thresholds[:, None]) != label
    best = empirical_minimizer(wrong)
    return wrong[best].mean(), 0.2 + 0.6 * abs(thresholds[best] - 0.4)


sizes = np.unique(np.geomspace(5, 1500, 16).astype(int))
risks = np.array([np.mean([learned(n) for _ in range(60)], axis=0) for n in sizes])
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.semilogx(sizes, risks[:, 1], label=r"expected risk $R(\hat\theta_N)$")
ax.semilogx(sizes, risks[:, 0], label=r"empirical risk $R_{emp}^N(\hat\theta_N)$")
ax.axhline(0.2, color="0.5", linestyle=":", label=r"$\min_\theta R(\theta)$")
ax.set(xlabel="N", ylabel="risk, mean of 60 samples")
ax.legend()
plt.show()

# %%
# **Figure 2**: "Illustration of the generalization bound depending on capacity factors." Signs of polynomials of degree
# h - 1 on the line have the VC dimension h. Richer sets have fewer errors on the sample and a larger confidence term;
# the bound is their sum. The true risk, which the bound should exceed, is measured on a large separate sample.

n = 3000


def waves(size):
    """Return points and labels that change four times, every tenth label wrong."""
    x = rng.uniform(-1, 1, size)
    return x, np.where((np.sin(7 * x) > 0) ^ (rng.random(size) < 0.1), 1.0, -1.0)


(x, label), (x_new, label_new) = waves(n), waves(100_000)
capacities = np.arange(1, 26)
within, beyond = [], []
for h in capacities:
    fit = np.polynomial.Legendre.fit(x, label, h - 1)
    within.append(np.mean(np.sign(fit(x)) != label))
    beyond.append(np.mean(np.sign(fit(x_new)) != label_new))
bound = np.array([vc_bound(risk, n, h, printed=True) for risk, h in zip(within, capacities, strict=True)])
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(capacities, bound, "k", label="bound on the risk")
ax.plot(capacities, bound - within, "--", label="confidence term")
ax.plot(capacities, within, label="empirical risk")
ax.plot(capacities, beyond, ":", label="risk on 100 000 others")
ax.plot(capacities[np.argmin(bound)], bound.min(), "ko", markersize=5)
ax.set(xlabel="VC dimension h", ylabel="risk", ylim=(0, None))
ax.legend(fontsize="small")
print(f"the bound is smallest at h = {capacities[np.argmin(bound)]}, the risk at h = {capacities[np.argmin(beyond)]}")
plt.show()

# %%
# **Figure 3**: "Several possible separating hyperplanes exist", and **Figure 4**: "SVC finds the solution that
# maximizes the margin." On the left are random lines, of which those that separate the classes are kept. On the right
# is the one with the widest margin.

X = np.vstack([rng.normal((-1.7, 0.3), 0.6, size=(18, 2)), rng.normal((1.7, -0.3), 0.6, size=(18, 2))])
y = np.repeat([-1, 1], 18)
machine = SVC("linear", C=np.inf).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.8), layout="constrained")
MarginDisplay.from_estimator(machine, X, y, ax=right)
directions = rng.normal(size=(4000, 2))
offsets = rng.uniform(-3, 3, size=4000)
margins = np.min(y * (directions @ X.T + offsets[:, None]), axis=1) / np.linalg.norm(directions, axis=1)
across = np.array(right.get_xlim())
for (a, b), c in zip(directions[margins > 0][:12], offsets[margins > 0][:12], strict=True):
    left.plot(across, -(c + a * across) / b, color="0.6", linewidth=0.8)
left.plot(*X[y < 0].T, "o", *X[y > 0].T, "o", markersize=4)
left.set(title="lines that separate", xlim=right.get_xlim(), ylim=right.get_ylim())
widest = 1 / np.linalg.norm(machine.coef_)
right.set_title("the widest margin")
print(f"distance to the nearest sample: {margins.max():.3f} for the best of the random lines, {widest:.3f} for the SVC")
plt.show()

# %%
# **Figure 5**: ":math:`\epsilon`-insensitive loss." Errors within the tube cost nothing; beyond it they cost their
# distance from it. On the left a regression with its tube, on the right the loss.

grid = np.linspace(0, 6, 200)[:, None]
u = np.sort(rng.uniform(0, 6, 45))[:, None]
v = np.sin(u[:, 0]) + 0.25 * rng.normal(size=45)
tube = SVR(Gaussian(1.2), C=3.0, epsilon=0.3).fit(u, v)
f = tube.predict(grid)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.2), layout="constrained")
left.fill_between(grid[:, 0], f - 0.3, f + 0.3, color="0.9", linewidth=0)
left.plot(grid, f, "k", u, v, ".")
left.scatter(*np.column_stack([u[:, 0], v])[tube.support_].T, s=40, facecolors="none", edgecolors="k", linewidths=0.7)
left.set_title(r"the tube, $\epsilon = 0.3$")
error = np.linspace(-1, 1, 201)
right.plot(error, EpsilonInsensitive(0.3).value(error, np.zeros(201)), "k")
right.set(xlabel="y - f(x)", title="the loss")
outside = np.abs(tube.predict(u) - v) > 0.3 + 1e-3
print(f"{outside.sum()} of 45 samples are outside of the tube, {len(tube.support_)} are support vectors")
plt.show()

# %%
# **Figure 6**: "Primal-dual network interpretations of SVMs. The number F of hidden units in the primal weight space
# corresponds to the dimensionality of the feature space. The number #SV of hidden units in the dual weight space
# corresponds to the number of non-zero :math:`\alpha`'s." One machine with the kernel :math:`\langle x, x' \rangle^2`
# seen both ways: three monomials with their weights w, or its support vectors with theirs.

ring = np.column_stack([np.cos(t := rng.uniform(0, 2 * np.pi, 60)), np.sin(t)]) * np.repeat([0.6, 1.3], 30)[:, None]
ring += 0.12 * rng.normal(size=ring.shape)
side = np.repeat([-1, 1], 30)
both = SVC(Polynomial(2, 0.0, 1.0), C=10.0).fit(ring, side)


def monomials(points):
    """Return the features of the squared dot product in the plane."""
    a, b = np.asarray(points).T
    return np.column_stack([a**2, np.sqrt(2) * a * b, b**2])


weights = both.dual_coef_[0] @ monomials(both.support_vectors_)


def network(ax, hidden, title):
    """Draw two inputs, hidden units with their weights, and the output."""
    heights = np.linspace(0, 1, len(hidden))
    largest = max(abs(weight) for _, weight in hidden)
    for y0 in (0.3, 0.7):
        ax.plot(0, y0, "ko", markersize=8)
        for y1 in heights:
            ax.plot([0, 1], [y0, y1], color="0.8", linewidth=0.6, zorder=0)
    for y1, (name, weight) in zip(heights, hidden, strict=True):
        colour = "C0" if weight > 0 else "C3"
        ax.plot([1, 2], [y1, 0.5], color=colour, linewidth=0.4 + 3 * abs(weight) / largest, zorder=0)
        ax.plot(1, y1, "o", color="w", markeredgecolor="k", markersize=13)
        ax.text(1, y1, name, ha="center", va="center", fontsize=6)
    ax.plot(2, 0.5, "ks", markersize=9)
    ax.text(2.08, 0.5, "f", va="center")
    for y0, name in ((0.3, "$x_2$"), (0.7, "$x_1$")):
        ax.text(-0.08, y0, name, ha="right", va="center")
    ax.set(title=title, xlim=(-0.3, 2.3), ylim=(-0.1, 1.1))
    ax.axis("off")


figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4), layout="constrained")
named = zip((r"$\phi_1$", r"$\phi_2$", r"$\phi_3$"), weights, strict=True)
network(left, list(named), "(a) primal: F = 3 hidden units, weights w")
support = [(str(place), weight) for place, weight in zip(both.support_, both.dual_coef_[0], strict=True)]
network(right, support, f"(b) dual: #SV = {len(support)} hidden units, weights " + r"$\alpha_i y_i$")
difference = np.abs(monomials(ring) @ weights + both.intercept_[0] - both.decision_function(ring)).max()
print(f"both networks compute the same function: largest difference {difference:.1e}")
plt.show()

assert margins.max() <= widest + 1e-6 and difference < 1e-8 and np.all(bound > beyond)
assert risks[-1, 0] < 0.2 < risks[-1, 1] and risks[-1, 1] - risks[-1, 0] < 0.05
