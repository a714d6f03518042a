"""
The distribution of the test error
==================================

Train on a random part of the data, test on the rest, and do it again: the error is a random variable. How it is spread
depends on the learner and on the size of the training set, and its mean does not tell the whole story. The table is
scikit-learn's breast-cancer data, 569 samples of 30 columns; sizes and learners are those of a classic series of
slides, which used another and smaller table of breast-cancer data (9 columns).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelMeanClassifier
from mercer.kernels import Gaussian, Linear

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)  # once for all, as if the units were known; no label is used

SIZES = (342, 273, 205, 137, 68, 34, 27, 20, 14, 7)
LEARNERS = {
    "class means": KernelMeanClassifier(Linear()),
    "linear SVM": SVC(Linear(), C=1.0),
    "Gaussian SVM": SVC(Gaussian(np.sqrt(30.0)), C=10.0),
}

# %%
# Each learner sees the same random training sets. Sets without samples of both classes are drawn again. To build the
# page in seconds, there are 100 repetitions up to 68 samples and only 25 beyond, where errors vary little.
# Nothing is tuned.

rng = np.random.default_rng(0)


def draw(size):
    """Return a training set of both classes and the rest, as places in the table."""
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:size]])) == 2:
            return order[:size], order[size:]


errors = {}
for size in SIZES:
    splits = [draw(size) for _ in range(100 if size <= 68 else 25)]
    for name, model in LEARNERS.items():
        errors[name, size] = [np.mean(model.fit(X[a], y[a]).predict(X[b]) != y[b]) for a, b in splits]

# %%
# From many samples to few, on one scale of errors and counts as shares. With hundreds of samples the errors of the
# support vector machines are small and all alike. With a handful the right tail grows: most training sets still do
# well, some go badly wrong. From 34 samples on the class means hardly gain: on average the same two means are found at
# every size, only less precisely.

bins = np.linspace(0, 0.4, 41)
figure, axes = plt.subplots(5, 2, figsize=(9, 10), sharex=True, layout="constrained")
for ax, size in zip(axes.T.ravel(), SIZES, strict=True):
    for place, name in enumerate(LEARNERS):
        sample = np.minimum(errors[name, size], 0.399)  # the last bin holds all that is larger
        share = np.full(len(sample), 1 / len(sample))
        ax.hist(sample, bins, weights=share, histtype="stepfilled", color=f"C{place}", alpha=0.3)
        ax.hist(sample, bins, weights=share, histtype="step", color=f"C{place}")
        ax.axvline(np.mean(errors[name, size]), color=f"C{place}", linestyle="--", label=name)
    ax.set_title(f"{size} training samples", fontsize=9)
axes[0, 0].legend()
for ax in axes[-1]:
    ax.set_xlabel("test error; dashed: its mean")
plt.show()

# %%
# **Expected and confident.** The mean answers "what error on average?". A user with one training set wants to know
# what error will not be exceeded: the 95 % quantile. Bounds of the first kind say little about the second when samples
# are few: at 7 samples the quantile is about twice the mean for each learner.

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for place, name in enumerate(LEARNERS):
    mean = [np.mean(errors[name, size]) for size in SIZES]
    confident = [np.quantile(errors[name, size], 0.95) for size in SIZES]
    ax.loglog(SIZES, mean, "o-", color=f"C{place}", label=name)
    ax.loglog(SIZES, confident, "^:", color=f"C{place}")
ax.plot([], [], "ko-", label="mean")
ax.plot([], [], "k^:", label="95 % quantile")
ax.set(xlabel="training samples", ylabel="test error")
ax.set_xticks(SIZES, [str(size) for size in SIZES], minor=False, fontsize=8)
ax.set_yticks([0.02, 0.05, 0.1, 0.2, 0.4], ["2 %", "5 %", "10 %", "20 %", "40 %"])
ax.minorticks_off()
ax.legend()

print(f"{'samples':>8}" + "".join(f"{name:>22}" for name in LEARNERS) + "     (mean, 95 % quantile)")
for size in SIZES:
    row = (errors[name, size] for name in LEARNERS)
    print(f"{size:8}" + "".join(f"{np.mean(e):14.3f}{np.quantile(e, 0.95):8.3f}" for e in row))
plt.show()

# %%
# A wide margin lets the support vector machines gain where there are samples to gain from; with 20 and fewer they have
# no advantage over the plain means. Trained and tested on the whole table, which shows only how well the functions can
# follow it:

for name, model in LEARNERS.items():
    print(f"{name:14} {np.mean(model.fit(X, y).predict(X) != y):.3f}")
