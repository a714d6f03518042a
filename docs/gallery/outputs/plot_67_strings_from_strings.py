r"""
Strings predicted from strings
==============================

How is a gene copied to its transcript? `KernelDependencyEstimation` learns this from pairs of strings alone. Outputs
are mapped to the feature space of a string kernel, their principal components are predicted from the inputs by ridge
regression, and a string is sought whose image is close to the prediction. It is built letter by letter with a beam
search, so it may be a string that was never seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyEstimation
from mercer.kernels import Spectrum
from mercer.preimages import BeamSearch

rng = np.random.default_rng(0)
COPY = str.maketrans("ACGT", "UGCA")
genes = ["".join(rng.choice(list("ACGT"), size=7)) for _ in range(160)]
transcripts = [gene.translate(COPY) for gene in genes]
kernel = Spectrum(1) + Spectrum(2) + Spectrum(3)  # letters, and strings of two and three
inputs, outputs = [f"^{gene}$" for gene in genes], [f"^{text}$" for text in transcripts]  # beginnings and ends are seen

# %%
# **How much is learned.** With more pairs, more of the variance of the outputs in their feature space is predicted, and
# more of the held-out strings are found exactly, in every letter.

counts, shares, right = (10, 20, 40, 80, 140), [], []
for count in counts:
    search = BeamSearch(20, max_length=9)
    model = KernelDependencyEstimation(kernel, 1e-2, output_kernel=kernel, n_components=None, preimage=search)
    model.fit(inputs[:count], outputs[:count])
    shares.append(model.score(inputs[140:], outputs[140:]))
    guesses = model.predict(inputs[140:])
    right.append(np.mean([a == b for a, b in zip(guesses, outputs[140:], strict=True)]))
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(counts, shares, "o-", label="share of the variance")
ax.plot(counts, right, "s-", label="share of the strings that are right")
ax.set(xlabel="pairs", ylim=(-0.05, 1.05))
ax.legend()
plt.show()

# %%
# **Some of them.**

for gene, guess, text in list(zip(genes[140:], guesses, transcripts[140:], strict=True))[:6]:
    print(gene, "->", guess.strip("^$"), "" if guess.strip("^$") == text else f"(not {text})")

# %%
# **From candidates.** Where all possible outputs are known, choosing among them is exact.

places = model.nearest(inputs[140:142], outputs[140:], 2)
print(places)
