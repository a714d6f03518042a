r"""
Letters read as words
=====================

Letters of five by four pixels, each wrong with probability 0.2, are hard to read one by one. Words say more: after a
*q* comes a *u*. A conditional random field scores each letter by a Gaussian kernel on its pixels, and each pair of
neighbours by a weight; sums over all readings of a word take one pass forward and one backward.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelCRF, LabelSequences
from mercer.kernels import Gaussian

GLYPHS = {
    "a": ".##.#..######..##..#", "c": ".####...#...#....###", "d": "###.#..##..##..####.", "e": "#####...###.#...####",
    "i": "####.##..##..##.####", "n": "#..###.##.###..##..#", "o": ".##.#..##..##..#.##.", "q": ".##.#..##..##.##.###",
    "s": ".####....##....####.", "t": "####.##..##..##..##.", "u": "#..##..##..##..#.##.",
}  # fmt: skip
WORDS = [
    "quiet",
    "queen",
    "quit",
    "unite",
    "ocean",
    "acid",
    "sound",
    "dance",
    "stone",
    "noise",
    "antique",
    "once",
    "equine",
    "tonic",
    "audio",
    "quota",
]
pixels = {letter: np.array([mark == "#" for mark in glyph], dtype=float) for letter, glyph in GLYPHS.items()}
rng = np.random.default_rng(0)


def written(word, wrong=0.2):
    """The pixels of a word, some of them flipped."""
    clean = np.array([pixels[letter] for letter in word])
    return np.abs(clean - (rng.random(clean.shape) < wrong))


train = [word for word in WORDS for _ in range(4)]
test = [word for word in WORDS for _ in range(4)]
X, T = [written(word) for word in train], [written(word) for word in test]
y, truth = [list(word) for word in train], [list(word) for word in test]

# %%
# **With pairs of letters, and without.** `transition_scale=0` reads every letter on its own.

models = {}
for name, scale in (("words", 1.0), ("letters alone", 0.0)):
    space = LabelSequences(transition_scale=scale)
    models[name] = KernelCRF(Gaussian(2.0), C=10.0, outputs=space, tol=1e-3).fit(X, y)
    print(f"{name:14s}{models[name].score(T, truth):.3f} of the letters are right")

# %%
# **One word.** Below the pixels, the probability of each letter at each position, under both models.

read = {name: ["".join(letters) for letters in model.predict(T)] for name, model in models.items()}
i = next(i for i, word in enumerate(test) if read["words"][i] == word != read["letters alone"][i])
figure, axes = plt.subplots(3, 1, figsize=(7, 6), layout="constrained", height_ratios=[1, 2, 2])
axes[0].imshow(np.hstack([np.pad(glyph.reshape(5, 4), 1) for glyph in T[i]]), cmap="Greys")
axes[0].set(title=f"written: {test[i]}")
axes[0].axis("off")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    ax.imshow(model.marginals([T[i]])[0].T, cmap="Blues", aspect="auto", vmin=0.0, vmax=1.0)
    ax.set(yticks=range(len(GLYPHS)), yticklabels=sorted(GLYPHS))
    ax.set(xticks=range(len(test[i])), xticklabels=list(read[name][i]), title=f"{name}: {read[name][i]}")
plt.show()

# %%
# The next best readings, with their probabilities.

for reading, value in models["words"].k_best([T[i]], 3)[0]:
    print("".join(reading), f"{np.exp(value):.3f}")
