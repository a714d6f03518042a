"""
Five sources, one decision
==========================

For each patient we know numbers, a category, a note, a sequence and a graph. Each source has a kernel of its own, and
``MultipleKernelClassifier`` learns what they are worth together, from rows as they come.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer import MultipleKernelClassifier
from mercer.kernels import Spectrum, WeisfeilerLehman
from mercer.plots import KernelWeightsDisplay

rng = np.random.default_rng(0)
n = 120
risk = rng.normal(size=n)


def ring(size, chord):
    """A ring of atoms, with or without a bond across."""
    edges = [(i, (i + 1) % size) for i in range(size)] + ([(0, size // 2)] if chord else [])
    return {"edges": edges, "labels": ["C"] * size}


table = {
    "age": 50.0 + 10.0 * rng.normal(size=n),
    "pressure": 130.0 + 8.0 * risk + 8.0 * rng.normal(size=n),
    "town": rng.choice(["Bonn", "Kiel", "Ulm"], size=n),
    "note": [
        " ".join(rng.choice(["tired", "dizzy", "fine", "sleeps", "walks"], size=4, p=p))
        for p in ([0.35, 0.35, 0.1, 0.1, 0.1] if r > 0 else [0.1, 0.1, 0.3, 0.25, 0.25] for r in risk)
    ],
    "gene": ["".join(rng.choice(list("acgt"), size=20)) + ("acca" if r > 0.5 else "gttg") for r in risk],
    "molecule": [ring(6, chord=bool(rng.random() < 0.5)) for _ in range(n)],
}
ill = risk + 0.3 * rng.normal(size=n) > 0

# %%
# **From the table to the model.** Columns of numbers, categories and texts get their kernels automatically; for
# sequences and graphs we name them. All kernels are brought to one scale, learned from the training rows.

plain = {name: column for name, column in table.items() if name not in ("gene", "molecule")}
kernels = mercer.source_kernels(plain) | {
    "gene": Spectrum(4).normalized().on("gene"),
    "molecule": WeisfeilerLehman(2).normalized().on("molecule"),
}
train = {name: column[:80] for name, column in table.items()}
test = {name: column[80:] for name, column in table.items()}
model = MultipleKernelClassifier(kernels, normalization="trace").fit(train, ill[:80])
print(f"accuracy on new patients {model.score(test, ill[80:]):.2f}")
KernelWeightsDisplay.from_estimator(model)
plt.show()

# %%
# **Which source carried the decision?** For each new patient, the parts of the decision value, one per source. The
# molecule, which has nothing to do with the illness, hardly moves it.

parts = model.contributions(test)[:12]
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
for t, name in enumerate(model.kernel_names_):
    if model.weights_[t] > 0.0:
        width = 0.8 / len(model.support_kernels_)
        place = model.support_kernels_.index(name)
        ax.bar(np.arange(12) + place * width, parts[:, t], width, label=name)
ax.set(xlabel="patient", ylabel="part of the decision value", xticks=np.arange(12))
ax.legend()
plt.show()
