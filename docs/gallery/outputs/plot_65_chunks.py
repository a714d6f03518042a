r"""
Chunks of sentences, and how sure of them
=========================================

Which words belong together? Labels say of each word whether a chunk begins (B), goes on (I), or there is none (O). The
sentences are made by a small grammar; words are compared by their own letters and by those of their neighbours, so that
words never seen have labels too. Marginals say where the model hesitates.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelCRF, LabelSequences
from mercer.kernels import Spectrum

rng = np.random.default_rng(0)
NOUNS, VERBS = ["cat", "dogs", "house", "walks", "ships", "light"], ["walks", "ships", "sees", "likes", "lights"]
ADJECTIVES, PREPOSITIONS = ["old", "large", "light", "green"], ["in", "on", "near"]


def noun_phrase():
    words = [rng.choice(["the", "a", "my"]), *rng.choice(ADJECTIVES, size=rng.integers(0, 3)), rng.choice(NOUNS)]
    return words, ["B", *["I"] * (len(words) - 1)]


def sentence():
    words, labels = noun_phrase()
    words, labels = [*words, rng.choice(VERBS)], [*labels, "O"]
    for _ in range(rng.integers(0, 3)):
        more, kinds = noun_phrase()
        words, labels = [*words, rng.choice(PREPOSITIONS), *more], [*labels, "O", *kinds]
    return list(map(str, words)), labels


X, y = zip(*(sentence() for _ in range(60)), strict=True)
T, truth = zip(*(sentence() for _ in range(60)), strict=True)

# %%
# **The window.** With ``window=1`` the words to the left and to the right of a label count as well.

for window in (0, 1):
    model = KernelCRF(Spectrum(1) + Spectrum(3), C=1.0, outputs=LabelSequences(window), tol=1e-3).fit(X, y)
    print(f"window={window}: {model.score(T, truth):.3f} of the labels are right")

# %%
# **A sentence with words that were never seen.** *walks* may be a noun or a verb; its neighbours decide.

words = ["my", "brave", "walks", "ships", "the", "oldest", "light"]
marginals = model.marginals([words])[0]
labels = model.predict([words])[0]
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
below = np.zeros(len(words))
for label, column, color in zip(model.target_.classes, marginals.T, ("tab:blue", "tab:cyan", "0.85"), strict=True):
    ax.bar(range(len(words)), column, bottom=below, color=color, label=str(label))
    below += column
ax.set_xticks(range(len(words)), [f"{word}\n{label}" for word, label in zip(words, labels, strict=True)])
ax.set(ylabel="probability", title="Labels of each word")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()
