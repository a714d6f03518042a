"""
What two texts have in common
=============================

A kernel on texts compares documents by their words: all of them, mainly the rare ones, or by what the words mean in a
corpus. Thirty sentences about cooking, astronomy and football show what each of these sees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf
from mercer.kernels.texts.semantics import LatentSemantic, Semantic
from mercer.kernels.texts.word_pairs import WordPairs

COOKING = [
    "Stir the sauce until the butter melts in the pan",
    "Bake the bread in a hot oven for half an hour",
    "Chop the onions and fry them in butter",
    "Add salt and pepper to the soup before you serve it",
    "Knead the dough and let the bread rise near the oven",
    "Boil the potatoes in water with a little salt",
    "The cook pours the soup into warm bowls",
    "Fry the fish in a pan with butter and lemon",
    "Roast the onions with the potatoes in the oven",
    "Taste the sauce and add more pepper",
]
STARS = [
    "The telescope saw a faint galaxy near the moon",
    "A comet passes the sun once in a hundred years",
    "The planet turns around its star in ten days",
    "Astronomers measure the light of a distant star",
    "The moon hides the sun during an eclipse",
    "A galaxy holds billions of stars and much dust",
    "The telescope follows the comet through the night",
    "Dust around the young star may form a planet",
    "Light from the galaxy took a million years to reach us",
    "In the night sky the planet is brighter than any star",
]
FOOTBALL = [
    "The goalkeeper saved the penalty in the last minute",
    "The striker scored a goal from a free kick",
    "The referee gave a penalty after a foul",
    "The team won the match with a late goal",
    "A defender blocked the shot of the striker",
    "The coach changed the team before the second half",
    "The match ended without a goal after extra time",
    "The goalkeeper kicked the ball to the defender",
    "Fans cheered when the striker hit the ball",
    "The referee stopped the match in the second half",
]
documents = COOKING + STARS + FOOTBALL
topic = np.repeat([0, 1, 2], 10)
NAMES, COLOURS = ("cooking", "astronomy", "football"), ("#c8553d", "#2d5d8b", "#588157")

# %%
# **Words in common.** A kernel is a sum over words. The figure shows, for two sentences, what each word adds to the
# cosine of their vectors. Counts give most of it to "the"; tf-idf, whose weights ln(m / df) were learned from the
# thirty sentences, gives nothing to words that occur everywhere, and much to those that are rare.

s, t = "The moon hides the sun behind the edge of the earth", "In the night the moon rises over the sun and the earth"


def contributions(kernel):
    """Words that two sentences share, and what each adds to the normalised kernel."""
    S = kernel.prepare(kernel.pack([s, t]))
    F, words = kernel.features(S)
    shares = (F[[0]] * F[[1]]).toarray()[0] / np.sqrt(np.prod(kernel.diag(S)))
    return {words[i]: shares[i] for i in np.flatnonzero(shares)}


counts = BagOfWords()
corpus = [*documents, s, t]
tfidf = TfIdf().learn(TfIdf().pack(corpus))
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
words = sorted(contributions(counts), key=contributions(counts).get)
for ax, kernel, name in zip(axes, (counts, tfidf), ("BagOfWords()", "TfIdf()"), strict=True):
    found = contributions(kernel)
    ax.barh(words, [found.get(word, 0.0) for word in words], color="#2d5d8b")
    ax.set(title=f"{name}: cosine {sum(found.values()):.2f}", xlabel="contribution")
plt.show()

# %%
# **Similarities.** Among all thirty sentences, the blocks of the three topics stand out once frequent words have no
# weight, but sentences of one topic that share no word are still unlike. In the space of the three strongest directions
# of the corpus, latent semantics, words that occur with the same words come close to each other, and the blocks largely
# fill up.

latent = LatentSemantic(3, TfIdf(frequency="log").normalized())
latent = latent.learn(latent.pack(documents))
matrices = {
    "BagOfWords()": counts.normalized()(documents),
    "TfIdf()": TfIdf().learn(TfIdf().pack(documents)).normalized()(documents),
    "LatentSemantic(3, TfIdf())": latent.normalized()(documents),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, (name, K) in zip(axes, matrices.items(), strict=True):
    image = ax.imshow(K, vmin=0, vmax=1, cmap="Blues")
    ax.set(title=name, xticks=[4.5, 14.5, 24.5], xticklabels=NAMES, yticks=[])
figure.colorbar(image, ax=axes, fraction=0.02, label="normalised kernel")
plt.show()

# %%
# **The latent plane.** Documents (dots) and words (where a document of that word alone would be) in two of these
# directions. The origin is where nothing is known: a word that is not in the corpus falls there.

F, _ = latent.features(latent.prepare(latent.pack(documents)))
shown = [
    "butter",
    "oven",
    "onions",
    "salt",
    "telescope",
    "galaxy",
    "star",
    "planet",
    "moon",
    "night",
    "goalkeeper",
    "striker",
    "penalty",
    "match",
    "referee",
]
W, _ = latent.features(latent.prepare(latent.pack(shown)))
variance = np.array([F[topic == c].mean(axis=0) for c in range(3)]).var(axis=0)
i, j = np.sort(np.argsort(variance)[-2:])
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for c in range(3):
    ax.scatter(F[topic == c, i], F[topic == c, j], color=COLOURS[c], label=NAMES[c], s=40)
for word, place in zip(shown, W, strict=True):
    ax.annotate(word, place[[i, j]], color="0.35", size=9, ha="center")
ax.axhline(0, color="0.85", lw=1, zorder=0)
ax.axvline(0, color="0.85", lw=1, zorder=0)
ax.set(xlabel=f"direction {i + 1}", ylabel=f"direction {j + 1}", title="documents and words")
ax.legend(title="topic")
plt.show()

# %%
# **Learning the topic.** What a kernel learns from the corpus is learned anew in every fold, from the training
# documents alone. A semantic map adds what the corpus cannot show: here, which words are forms of one word.

forms = {"stars": "star", "kicked": "kick", "fans": "fan", "astronomers": "astronomy", "ended": "end", "years": "year"}
kernels = {
    "BagOfWords()": BagOfWords(),
    "TfIdf()": TfIdf(),
    "WordPairs(3)": WordPairs(3),
    "Semantic(forms, TfIdf())": Semantic(forms, TfIdf()),
    "LatentSemantic(5, TfIdf())": LatentSemantic(5, TfIdf(frequency="log")),
    "TfIdf() + LatentSemantic(5)": TfIdf().normalized() + LatentSemantic(5).normalized(),
}
for name, kernel in kernels.items():
    scores = cross_val_score(SVC(kernel.normalized(), C=10.0), documents, topic, cv=5)
    print(f"{name:28} {scores.mean():.2f} +- {scores.std():.2f}")
