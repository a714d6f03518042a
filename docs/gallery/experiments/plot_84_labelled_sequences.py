"""
Labelled sequences: where genes are
===================================

**The claim** (:ref:`[HSS] <source-hss>` Section 4.2.2): conditional Markov chains have found widespread
applications, in tagging and shallow parsing, in the extraction of information, and in the prediction of genes.

**The data** are generated: DNA letters with coding stretches, which have different frequencies of letters and pairs.
Real sentences are in ``python -m benchmarks.chunking`` (CoNLL-2000, F1 0.936, equal to sklearn-crfsuite with the same
attributes) and real letters in ``python -m benchmarks.real_structures letters``.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelCRF, LabelSequences, LinearSVC, StructuredSVC
from mercer.gram import Features
from mercer.kernels import Linear

chance = np.random.default_rng(0)
SHARES = {"gene": np.array([0.15, 0.35, 0.35, 0.15]), "other": np.array([0.3, 0.2, 0.2, 0.3])}


def strand(n=120):
    """Return letters 0 to 3 and labels: stretches of about thirty letters; in genes a G often follows a C."""
    labels, letters = [], []
    label = chance.choice(["gene", "other"])
    for _ in range(n):
        label = label if chance.random() > 1 / 30 else ("other" if label == "gene" else "gene")
        follows = label == "gene" and letters and letters[-1] == 1 and chance.random() < 0.5
        letters.append(2 if follows else chance.choice(4, p=SHARES[label]))
        labels.append(str(label))
    return np.array(letters), labels


def vectors(letters):
    """Return, for each position, its letter, the pair with the one before, and letter frequencies around it."""
    one, two = np.eye(4)[letters], np.eye(16)[4 * np.roll(letters, 1) + letters]
    around = np.stack([np.convolve(column, np.ones(9) / 9.0, mode="same") for column in one.T], axis=1)
    return np.hstack([one, two, 3.0 * around])


train, test = [strand() for _ in range(20)], [strand() for _ in range(20)]
X, y = [vectors(letters) for letters, _ in train], [labels for _, labels in train]
T, truth = [vectors(letters) for letters, _ in test], [labels for _, labels in test]

# %%
# The same features, position by position, as a chain with probabilities, and as a chain with a margin, which is known
# as the hidden Markov support vector machine.

alone = LinearSVC(C=0.1).fit(np.vstack(X), np.concatenate(y))
found = {"each position by itself": np.mean(alone.predict(np.vstack(T)) == np.concatenate(truth))}
field = KernelCRF(Linear(), C=0.1, outputs=LabelSequences(), gram=Features()).fit(X, y)
found["conditional field"] = field.score(T, truth)
margin = StructuredSVC(Linear(), C=0.1, outputs=LabelSequences(), gram=Features(), tol=1e-2).fit(X, y)
found["margin (hidden Markov SVM)"] = margin.score(T, truth)
for name, value in found.items():
    print(f"{name:28} {value:.3f} of the positions are right")

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
place = int(np.searchsorted(field.target_.classes, "gene"))
ax.fill_between(range(len(truth[0])), [label == "gene" for label in truth[0]], step="mid", color="0.85", label="gene")
ax.plot(field.marginals(T[:1])[0][:, place], color="tab:blue", label="probability, field")
ax.set(xlabel="position", ylabel="probability of a gene", ylim=(0.0, 1.05))
ax.legend(loc="upper right")
plt.show()

# %%
# **Comparison**: chains are the right model here, as the source says: neighbours show what letters alone do not.

assert min(found["conditional field"], found["margin (hidden Markov SVM)"]) > found["each position by itself"] + 0.02
