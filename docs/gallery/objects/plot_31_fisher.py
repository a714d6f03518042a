r"""
Similar objects ask for the same change of a model
==================================================

A generative model :math:`p(x \mid \theta)` can be turned into a similarity between any objects that it can generate.
The *score* of an object, :math:`g(x) = \partial_\theta \log p(x \mid \theta)`, says in which direction it would move
the parameters. The Fisher kernel multiplies scores: objects are alike if they ask for the same change. Vectors, strings
of any length and series with missing values are compared this way, each by a model of their own kind.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.gram import Features
from mercer.kernels.models.fisher_kernel import Fisher
from mercer.models import HiddenMarkovModel, MarkovChain, Normal

# %%
# A number becomes a point of a parabola
# --------------------------------------
# The normal density has two parameters, and so every number has two scores. At :math:`\mu = 0` and :math:`\sigma = 1`
# they are :math:`x` (should the mean move?) and :math:`x^2 - 1` (should the density be wider?). Numbers far from the
# mean are long vectors; those on opposite sides pull the mean apart, but agree about the width.

standard = Normal(0.0, 1.0)
kernel = Fisher(standard, kind="practical")
x = np.linspace(-2.0, 2.0, 81)[:, None]
scores, _ = kernel.features(kernel.pack(x))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(*scores.T, color="0.7", zorder=0)
points = left.scatter(*scores[::5].T, c=x[::5, 0], cmap="coolwarm", s=50)
for place in (0, 40, 60, 80):
    left.annotate(f"x = {x[place, 0]:g}", scores[place], xytext=(8, 4), textcoords="offset points")
left.axhline(0, color="0.9", zorder=-1)
left.axvline(0, color="0.9", zorder=-1)
left.set(xlabel="derivative in the mean", ylabel="derivative in the deviation", title="scores of numbers")
left.margins(0.15)
image = right.imshow(kernel(x), origin="lower", extent=(-2, 2, -2, 2), cmap="RdBu_r", vmin=-13, vmax=13)
right.set(xlabel="x", ylabel="z", title="the practical Fisher kernel")
figure.colorbar(image, ax=right)
plt.show()

# %%
# The parameters do not matter, if the information is divided out
# ---------------------------------------------------------------
# Had we taken the variance instead of the deviation, the second score would have a different unit. The *invariant*
# kernel :math:`g(x)^\top I^{-1} g(z)` with the Fisher information :math:`I = E[g g^\top]` does not notice. A model may
# be any object with ``scores``.


class ByVariance:
    """The normal density with mean mu and variance v: dsigma / dv = 1 / (2 sigma)."""

    def __init__(self, mean, variance):
        self.normal, self.slope = Normal(mean, np.sqrt(variance)), np.array([1.0, 0.5 / np.sqrt(variance)])

    def scores(self, X):
        return self.normal.scores(self.normal.pack(X)) * self.slope

    def information(self):
        return self.normal.information() * np.outer(self.slope, self.slope)


pair = np.array([[0.5], [4.0]])
for kind in ("practical", "invariant"):
    values = [Fisher(model, kind=kind)(pair)[0, 1] for model in (Normal(1.0, 2.0), ByVariance(1.0, 4.0))]
    print(f"{kind:10} k(0.5, 4) = {values[0]:.6f} by the deviation, {values[1]:.6f} by the variance")

# %%
# Two families of strings
# -----------------------
# Two hidden Markov chains with two states emit the same letters equally often. In one family the states last long, in
# the other they change at every step or two. Lengths differ from string to string, and one letter in ten was not read
# ("?").

rng = np.random.default_rng(0)
emissions = ((0.6, 0.3, 0.05, 0.05), (0.05, 0.05, 0.3, 0.6))
families = [
    HiddenMarkovModel(
        2, alphabet="ACGT", start=(0.5, 0.5), transitions=((stay, 1 - stay), (1 - stay, stay)), emissions=emissions
    )
    for stay in (0.9, 0.35)
]
lengths = Fisher(MarkovChain()).pack(["A" * n for n in range(40, 81)])
X = []
for family in families:
    drawn = family.sample(rng, 60, lengths)
    for i in range(len(drawn)):
        letters = np.array(drawn.symbols(i))
        letters[rng.random(len(letters)) < 0.1] = "?"
        X.append("".join(letters))
y = np.repeat([0, 1], 60)
print(X[0])
print(X[60])

# %%
# One model is learned from all strings, without their families: it has to be a compromise, and the scores say for each
# string how it disagrees. The directions of the scores with the most variance separate the families; letter counts
# alone, which a chain of order 0 sees, do not.

contenders = {
    "MarkovChain(0): letters alone": Fisher(MarkovChain(0, missing="?")),
    "MarkovChain(1)": Fisher(MarkovChain(missing="?")),
    "HiddenMarkovModel(2)": Fisher(HiddenMarkovModel(2, missing="?")),
}
train = np.arange(len(y)) % 2 == 0
texts = np.array(X, dtype=object)
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, kernel) in zip(axes, contenders.items(), strict=True):
    machine = SVC(kernel.normalized(), C=10.0, gram=Features()).fit(texts[train], y[train])
    accuracy = machine.score(texts[~train], y[~train])
    learned = kernel.learn(kernel.pack(X))
    F, _ = learned.features(learned.pack(X))
    directions = np.linalg.svd(F - F.mean(axis=0), full_matrices=False)[2][:2]
    plane = F @ directions.T
    for label, colour in ((0, "tab:blue"), (1, "tab:orange")):
        ax.scatter(*plane[y == label].T, s=14, color=colour, label=("lasting states", "quick changes")[label])
    ax.set(
        title=f"{name}\n{accuracy:.0%} of new strings are right", xlabel="first direction", ylabel="second direction"
    )
axes[0].legend()
plt.show()
