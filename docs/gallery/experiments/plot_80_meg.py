"""
Recordings of many channels, by their cumulants
===============================================

**The claim** (:ref:`[SS] <source-ss>` Section 7.2): classifiers for "labelled multivariate time series", with brain
decoding from magnetoencephalography as the application, compare series by how their channels move together.

**The data** are generated: two states in which three sources drive six channels, with the same power in each channel
but different statistics of third and fourth order. The ``Cumulant`` kernel compares the subspaces that the cumulants of
two recordings span. ``python -m benchmarks.real_series`` runs six channels of motion from a smart watch.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC
from mercer.kernels import Cumulant, Gaussian

chance = np.random.default_rng(0)
maps = [np.linalg.qr(chance.normal(size=(6, 3)))[0] for _ in range(2)]
state = np.repeat([0, 1], 30)


def recording(which):
    """Return time by channels: skewed sources through the map of a state, and noise; variance 1."""
    sources = chance.exponential(size=(120, 3)) - 1.0
    x = sources @ maps[which].T + 0.7 * chance.normal(size=(120, 6))
    return (x - x.mean(axis=0)) / x.std(axis=0)


recordings = [recording(which) for which in state]
powers = np.array([np.abs(np.fft.rfft(x, axis=0))[1:].mean(axis=0) for x in recordings])
folds = StratifiedKFold(5, shuffle=True, random_state=0)
accuracy = {
    "powers of channels": cross_val_score(SVC(Gaussian("median"), C=10.0), powers, state, cv=folds).mean(),
    "cumulants": cross_val_score(SVC(Cumulant(1.0), C=10.0), recordings, state, cv=folds).mean(),
}
for name, value in accuracy.items():
    print(f"{name:20} {value:.2f}")

K = Cumulant(1.0)(recordings)
figure, ax = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
picture = ax.imshow(K, cmap="magma")
ax.set(
    xticks=[14.5, 44.5],
    xticklabels=["first state", "second state"],
    yticks=[],
    title="cumulant kernel of 60 recordings",
)
figure.colorbar(picture, ax=ax)
plt.show()

# %%
# **Comparison**: states that no single channel shows are distinguished, which is the point of the cited work.

assert accuracy["cumulants"] > accuracy["powers of channels"] + 0.15
