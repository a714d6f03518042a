"""
Gaps, errors and alignments
===========================

Words are misspelt, genes mutate: letters are changed, lost and inserted. Kernels that count exact substrings lose sight
of what two strings have in common after a few such changes; these kernels do not. What do they see?
"""

from collections import defaultdict
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels.strings.alignment import LocalAlignment
from mercer.kernels.strings.mismatch import Mismatch, Wildcard
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequence import GappySpectrum, Subsequence

# %%
# **Subsequences.** The letters a, s, d occur in "Nasdaq" one after another, and in "lass das" twice with letters
# between them. A subsequence that spans a piece of l letters has the weight decay^l: below, the common subsequences
# of three letters, each where it occurs, and what each adds to the kernel. The thicker the line, the larger the weight.

s, t, decay = "Nasdaq", "lass das", 0.7


def occurrences(text, length):
    """All positions of all subsequences."""
    found = defaultdict(list)
    for places in combinations(range(len(text)), length):
        found["".join(text[i] for i in places)].append(places)
    return found


def weight(places):
    return decay ** (places[-1] - places[0] + 1)


ours, theirs = occurrences(s, 3), occurrences(t, 3)
parts = {u: sum(map(weight, ours[u])) * sum(map(weight, theirs[u])) for u in ours.keys() & theirs.keys()}
shown = sorted(parts, key=lambda u: (-parts[u], u))
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(3, 2))
for ax, text, found in ((axes[0], s, ours), (axes[1], t, theirs)):
    for row, u in enumerate(shown):
        for k, places in enumerate(found[u]):
            height = -row + 0.18 * (k - (len(found[u]) - 1) / 2)
            ax.plot(places, [height] * 3, "o-", color=f"C{row}", lw=12 * weight(places), ms=5)
    for place, letter in enumerate(text):
        ax.text(place, 0.9, letter, ha="center", va="center", family="monospace", size=15)
    ax.set(xlim=(-0.7, len(text) - 0.3), ylim=(-len(shown) + 0.3, 1.3), xticks=[])
    ax.set_yticks(-np.arange(len(shown)), [f"{u}  {parts[u]:.3f}" for u in shown], family="monospace")
    ax.spines[:].set_visible(False)
plt.show()
value = Subsequence(3, decay)([s], [t]).item()
print(f"sum over all {len(parts)} common subsequences {sum(parts.values()):.6f}, Subsequence(3, 0.7) {value:.6f}")

# %%
# **What counts as common.** A word and what may become of it. Two letters have changed places, one is wrong, one is
# missing, one is doubled; the last word is unrelated. Exact substrings of three letters, one wrong letter allowed, one
# letter left out, any letters left out, and alignments:

words = ["kernel", "kenrel", "karnel", "kernl", "kerrnel", "marble"]
kernels = {
    "Spectrum(3)": Spectrum(3),
    "Wildcard(3, 1)": Wildcard(3, 1),
    "GappySpectrum(3, 1)": GappySpectrum(3, 1),
    "Subsequence(3, 0.7)": Subsequence(3, 0.7),
    "LocalAlignment(beta=0.5)": LocalAlignment(beta=0.5),
}
figure, axes = plt.subplots(1, len(kernels), figsize=(13, 3.2), layout="constrained", sharey=True)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    K = kernel.normalized()(words)
    ax.imshow(K, vmin=0, vmax=1, cmap="Blues")
    for (i, j), entry in np.ndenumerate(K):
        ax.text(j, i, f"{entry:.2f}"[1:] if entry < 0.995 else "1", ha="center", va="center", size=8,
                color="w" if entry > 0.6 else "k")  # fmt: skip
    ax.set_xticks(range(len(words)), words, rotation=60, ha="right")
    ax.set_yticks(range(len(words)), words)
    ax.set_title(name, size=10)
plt.show()

# %%
# **An alignment.** Letters are matched in their order; gaps have a cost. The kernel adds up the exponentials of the
# scores of all alignments; the best alignment is available too. In the table, dark squares mark equal letters, and the
# line goes through the matched letters.

a, b = "GATTACAGGCATCTT", "CGATACAGCATTCTG"
score, places = LocalAlignment().best(a, b)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1, 1.5))
equal = np.array([[x == y for y in b] for x in a])
axes[0].imshow(equal, cmap="Greys", vmax=3)
axes[0].plot(places[:, 1], places[:, 0], "o-", color="C3")
axes[0].set_xticks(range(len(b)), b)
axes[0].set_yticks(range(len(a)), a)
axes[0].set_title(f"score {score:g}")
for text, height in ((a, 1.0), (b, 0.0)):
    for place, letter in enumerate(text):
        axes[1].text(place, height, letter, ha="center", va="center", family="monospace", size=15)
for i, j in places:
    axes[1].plot((i, j), (0.86, 0.14), color="C3" if a[i] == b[j] else "0.7", lw=2)
axes[1].set(xlim=(-1, max(len(a), len(b))), ylim=(-0.3, 1.3))
axes[1].axis("off")
plt.show()

# %%
# **Learning with errors.** Two families of sequences, each grown from a stem of 12 letters that is hidden at a random
# place among 40 others. The more often letters of the stem are changed, lost or doubled, the more it matters what a
# kernel tolerates. Alignments need a small beta: with a large one every sequence resembles only itself.

rng = np.random.default_rng(0)
stems = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(2)]


def sequence(stem, rate):
    piece = []
    for letter in stem:
        fate = rng.random() / rate
        changed = letter if fate > 0.5 else str(rng.choice(list("ACGT")))
        piece += [] if 0.5 < fate < 0.75 else [changed] * (2 if 0.75 < fate < 1.0 else 1)
    rest = rng.choice(list("ACGT"), 40).tolist()
    place = int(rng.integers(0, 40))
    return "".join([*rest[:place], *piece, *rest[place:]])


rates = (0.1, 0.3, 0.5)
contenders = {
    "Spectrum(4)": Spectrum(4),
    "Mismatch(5, 1)": Mismatch(5, 1),
    "GappySpectrum(4, 1)": GappySpectrum(4, 1),
    "Subsequence(5, 0.5)": Subsequence(5, 0.5),
    "LocalAlignment(...)": LocalAlignment((2.0, -3.0), gap_open=5.0),
}
y = np.arange(160) % 2
accuracy = {name: [] for name in contenders}
for rate in rates:
    X = np.array([sequence(stems[label], rate) for label in y])
    for name, kernel in contenders.items():
        K = kernel.normalized()(X)
        accuracy[name].append(cross_val_score(SVC("precomputed", C=10.0), K, y, cv=5).mean())
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, scores in accuracy.items():
    ax.plot(rates, scores, "o-", label=name)
    print(f"{name:22}", "  ".join(f"{score:.3f}" for score in scores))
ax.set(xlabel="share of letters that change", ylabel="accuracy", xticks=rates)
ax.legend()
plt.show()
