"""
Sets of words
=============

Which words does a text contain? Two sets are compared by what they share: as a share of what either has (`Jaccard`),
or of what the smaller one has (`OverlapCoefficient`); and `MinHash` estimates the former from a few random numbers per
text. The texts are the descriptions of scikit-learn's estimators.
"""

import inspect
import re
import warnings
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils import all_estimators

from mercer import SVC
from mercer.gram import Dense
from mercer.kernels import Jaccard, MinHash, OverlapCoefficient
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    classes = [cls for _, cls in all_estimators() if cls.__doc__]
words = [re.findall("[a-z]{2,}", (inspect.getdoc(cls) or "").lower()) for cls in classes]
sets, texts = [set(one) for one in words], [" ".join(one) for one in words]
sizes = [len(one) for one in sets]
print(f"{len(sets)} descriptions of {min(sizes)} to {max(sizes)} different words")

# %%
# **Which description does a passage come from?** Twenty consecutive words of each are given. The passage is a subset of
# the right description, so its overlap coefficient with that one is 1, however long the description is; Jaccard's
# similarity, which divides by everything that either has, prefers short descriptions and is far behind. The overlap
# finds most among the first ten, but cannot decide between descriptions that all contain the passage, as they do where
# they repeat each other; terms weighted by their rarity (`TfIdf`) decide, and are right at once a little more often.

rng = np.random.default_rng(0)
starts = [rng.integers(0, len(one) - 20) for one in words]
passages = [one[start : start + 20] for one, start in zip(words, starts, strict=True)]
asked, spoken = [set(one) for one in passages], [" ".join(one) for one in passages]
matrices = {
    "OverlapCoefficient": OverlapCoefficient()(asked, sets),
    "TfIdf": TfIdf().learn(texts)(spoken, texts),
    "BagOfWords": BagOfWords().normalized()(spoken, texts),
    "Jaccard": Jaccard()(asked, sets),
    "MinHash(256)": MinHash(256)(asked, sets),
}
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, K in matrices.items():
    own = np.diag(K)[:, None]
    rank = 1.0 + (own < K).sum(axis=1) + 0.5 * ((own == K).sum(axis=1) - 1)  # the middle of what is equal
    ax.plot(np.arange(1, 21), [np.mean(rank <= place) for place in range(1, 21)], label=name)
    print(f"{name:20} right one first {np.mean(rank == 1.0):.3f}, among ten {np.mean(rank <= 10.0):.3f}")
ax.set(xlabel="place", ylabel="share of passages", title="the right description comes up to place", ylim=(0, 1))
ax.legend(fontsize="small")
plt.show()

# %%
# **Which package is an estimator from?** The matrix of the overlap is indefinite, so its negative eigenvalues are set
# to zero. The counts of words (`BagOfWords`) are ahead, since descriptions within a package repeat each other; sets of
# words forget how often. The others differ by less than the spread of the folds.

packages = np.array([cls.__module__.split(".")[1] for cls in classes])
common = [i for i, package in enumerate(packages) if Counter(packages)[package] >= 10]
y, members = packages[common], [sets[i] for i in common]
spelled = [texts[i] for i in common]
folds = StratifiedKFold(5, shuffle=True, random_state=0)
grams = {
    "BagOfWords": BagOfWords().normalized()(spelled),
    "TfIdf": TfIdf().learn(spelled)(spelled),
    "Jaccard": Jaccard()(members),
    "MinHash(256)": MinHash(256)(members),
    "OverlapCoefficient": OverlapCoefficient()(members),
}
scores = {}
for name, K in grams.items():
    machine = SVC("precomputed", C=10.0, gram=Dense(indefinite="clip"))
    scores[name] = cross_val_score(machine, K, y, cv=folds)
    print(f"{name:20} {scores[name].mean():.3f} ± {scores[name].std():.3f} of {len(y)} in their package")
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.barh(list(scores), [s.mean() for s in scores.values()], xerr=[s.std() for s in scores.values()])
ax.axvline(max(Counter(y).values()) / len(y), color="0.5", ls=":", label="the largest package")
ax.invert_yaxis()
ax.set(title="estimators in their package", xlim=(0, 1))
ax.legend(loc="lower right", fontsize="small")
plt.show()

# %%
# **A few numbers for a text.** The error of `MinHash` falls with the square root of the number of hashes, until the
# bias is left: about 2 to the power of minus the bits. Its features are sparse and make linear machines out
# of kernel machines, which pays with many texts. With two hundred the exact kernel is the better choice.

exact = Jaccard()(sets)
apart = ~np.eye(len(sets), dtype=bool)
counts = [16, 32, 64, 128, 256, 512, 1024]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for bits in (1, 4, 8):
    errors = [np.sqrt(np.mean((MinHash(c, bits=bits)(sets) - exact)[apart] ** 2)) for c in counts]
    ax.loglog(counts, errors, "o-", label=f"{bits} bits")
ax.loglog(counts, 0.5 / np.sqrt(counts), "0.5", ls=":", label="bound without bias")
ax.set(xlabel="hashes", title="root mean squared error of MinHash")
ax.legend(fontsize="small")
plt.show()
