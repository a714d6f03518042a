"""
All common substrings
=====================

Two strings are alike if they have many substrings in common. ``Substrings`` adds up all of them, with a weight for
each length, in time linear in the strings. What does it see, and what can be learned with it?
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Polygon
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels.strings.spectrum import BlendedSpectrum, Spectrum
from mercer.kernels.strings.substrings import Substrings

# %%
# **What matches.** Each band joins two passages with the same letters, as far as they agree. A band of m letters holds
# one common substring of m letters, two of m - 1, and so on down to m single ones: the kernel is a sum over bands.


def matches(s, t, least=1):
    """All pairs of places with a match that cannot be extended, and its length."""
    found = []
    for i in range(len(s)):
        for j in range(len(t)):
            if i and j and s[i - 1] == t[j - 1]:
                continue
            m = 0
            while i + m < len(s) and j + m < len(t) and s[i + m] == t[j + m]:
                m += 1
            if m >= least:
                found.append((i, j, m))
    return found


def draw(ax, s, t, least):
    colours = plt.get_cmap("viridis_r")
    longest = max(m for _, _, m in matches(s, t))
    for i, j, m in sorted(matches(s, t, least), key=lambda match: -match[2]):
        corners = [(i - 0.4, 0.9), (i + m - 0.6, 0.9), (j + m - 0.6, 0.1), (j - 0.4, 0.1)]
        ax.add_patch(Polygon(corners, color=colours(m / longest), alpha=0.6, lw=0))
    for text, height in ((s, 1.0), (t, 0.0)):
        for place, letter in enumerate(text):
            ax.text(place, height, letter, ha="center", va="center", family="monospace", size=13)
    ax.set(xlim=(-1, max(len(s), len(t))), ylim=(-0.15, 1.15))
    ax.axis("off")
    bar = plt.cm.ScalarMappable(plt.Normalize(0, longest), colours)
    ax.figure.colorbar(bar, ax=ax, label="letters matched", fraction=0.03)


s, t = "statisticians computed", "computation of statistics"
figure, axes = plt.subplots(2, 1, figsize=(10, 5), layout="constrained")
draw(axes[0], s, t, 2)
axes[0].set_title("matches of two letters and more")
draw(axes[1], s, t, 4)
axes[1].set_title("of four and more")
plt.show()

by_bands = sum(m * (m + 1) / 2 for _, _, m in matches(s, t))
print(f"sum over bands {by_bands:g}, Substrings() {Substrings()([s], [t]).item():g}")

# %%
# **Weights.** How much of the value comes from which length? Without decay, single letters, which any two texts share,
# contribute most. A decay above one, or ``shortest``, favours the long matches.

lengths = np.arange(1, 11)
common = np.array([Spectrum(int(p))([s], [t]).item() for p in lengths])
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, decay in enumerate((0.5, 1.0, 2.0)):
    parts = decay**lengths * common
    ax.bar(lengths + 0.25 * (place - 1), parts / parts.sum(), 0.25, label=f"decay = {decay:g}")
ax.set(xlabel="length of substring", ylabel="share of k(s, t)", xticks=lengths)
ax.legend()
plt.show()

# %%
# **Learning.** Promoters are sites on DNA where the transcription of a gene begins. In bacteria they have two motifs,
# around TTGACA and TATAAT, about 17 letters apart, and rarely without mismatches. Here are 400 made-up sequences, half
# of them promoters. The position of the motifs differs from sequence to sequence; a substring kernel does not mind.

rng = np.random.default_rng(0)


def sequence(promoter):
    letters = rng.choice(list("ACGT"), 57)
    box, gap = int(rng.integers(4, 22)), int(rng.integers(15, 20))
    if promoter:
        for start, motif in ((box, "TTGACA"), (box + 6 + gap, "TATAAT")):
            for place, letter in enumerate(motif):
                if rng.random() < 0.88:
                    letters[start + place] = letter
    return "".join(letters), (box, box + 6 + gap)


y = np.arange(400) % 2
made = [sequence(label) for label in y]
X = np.array([text for text, _ in made])

kernels = {
    "Spectrum(1)": Spectrum(1),
    "Spectrum(3)": Spectrum(3),
    "Spectrum(5)": Spectrum(5),
    "BlendedSpectrum(5, decay=2)": BlendedSpectrum(5, decay=2.0),
    "Substrings(decay=2)": Substrings(decay=2.0),
    "Substrings(shortest=3)": Substrings(shortest=3),
}
for name, kernel in kernels.items():
    scores = cross_val_score(SVC(kernel.normalized(), C=10.0), X, y, cv=5)
    print(f"{name:28} {scores.mean():.3f} +- {scores.std():.3f}")

# %%
# **Where it looks.** Six letters at a time are replaced by letters that match nothing; the darker, the more the
# decision depends on them. The frames mark the motifs.

model = SVC(Substrings(shortest=3).normalized(), C=10.0).fit(X[:300], y[:300])
shown = [i for i in range(300, 400) if y[i] == 1][:8]
figure, axes = plt.subplots(len(shown), 1, figsize=(10, 4), layout="constrained", sharex=True)
for ax, i in zip(axes, shown, strict=True):
    text, motifs = made[i]
    masked = [text[:j] + "." * 6 + text[j + 6 :] for j in range(len(text) - 5)]
    loss = model.decision_function([text]) - model.decision_function(masked)
    blame = [loss[max(0, j - 5) : j + 1].mean() for j in range(len(text))]
    ax.imshow([blame], aspect="auto", cmap="Oranges", vmin=0, extent=(-0.5, len(text) - 0.5, 0, 1))
    for place, letter in enumerate(text):
        ax.text(place, 0.5, letter, ha="center", va="center", size=8, family="monospace")
    for motif in motifs:
        ax.add_patch(plt.Rectangle((motif - 0.5, 0.0), 6, 1.0, fill=False, ec="#2050a0", lw=2))
    ax.axis("off")
plt.show()
