"""
A certificate beside the truth
==============================

How far can a fitted model be trusted? Theory answers with bounds that hold with high probability, whatever the
distribution is; samples answer with estimates. Here both are shown next to the truth, which is known because the data
are simulated, as the number of samples grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer import SVC, LPBoostClassifier, MultipleKernelClassifier
from mercer.kernels import Gaussian
from mercer.plots import CertificateDisplay

rng = np.random.default_rng(0)


def draw(n):
    """Two classes, one on each side of a wave, with some noise."""
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.where(X[:, 1] + 0.1 * rng.normal(size=n) > 0.7 * np.sin(2.0 * X[:, 0]), 1, 0)


kernel = Gaussian(1.0)  # fixed in advance: the bounds hold for one kernel that the data did not choose
X_new, y_new = draw(5000)

# %%
# **One model.** The certificate lists every bound with its terms, its assumptions, and the estimates from samples.

X, y = draw(500)
model = SVC(kernel, C=10.0).fit(X, y)
certificate = model.certificate(X, y, held_out=(X_new[:500], y_new[:500]))
print(certificate)

# %%
# The picture shows the bounds in parts, and errors with their intervals. In the shaded region a bound says nothing: an
# error probability is at most one anyway. The bound in pale colours is the one printed in the slides; it holds for a
# margin fixed before the data were seen, so it does not certify this model.

CertificateDisplay.from_certificate(certificate)
plt.show()

# %%
# **As samples grow.** The margin bound needs about a thousand samples to say anything, PAC-Bayes bounds hundreds, and
# one whose prior is learned on half of the samples is the smallest. All of them are above the truth, as they have to
# be.

SIZES = (100, 300, 1000)
NAMES = ("margin, learned", "PAC-Bayes, prior at zero", "PAC-Bayes, learned prior")
bounds, truth = {name: [] for name in NAMES}, []
for n in SIZES:
    X, y = draw(n)
    model = SVC(kernel, C=10.0).fit(X, y)
    found = model.certificate(X, y, cv=None)
    for bound in found.bounds:
        if bound.name in bounds:
            bounds[bound.name].append(float(bound))
    truth.append(np.mean(model.predict(X_new) != y_new))

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for name, values in bounds.items():
    ax.loglog(SIZES, values, "o-", label=name)
ax.loglog(SIZES, truth, "k^--", label="truth")
ax.axhspan(1.0, 3.0, color="0.85", linewidth=0)
ax.text(SIZES[0], 1.6, "vacuous")
ax.set(xlabel="training samples", ylabel="error probability", ylim=(None, 3.0))
ax.set_xticks(SIZES, [str(size) for size in SIZES])
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# **What is paid for.** If the kernel was chosen among several on the same samples, the certificate has to pay for the
# choice. Logarithms are cheap: a hundred candidates cost little.

for candidates in (1, 10, 100):
    print(candidates, model.certificate(X, y, cv=None, prior=None, candidates=candidates).best)

# %%
# A search counts its candidates itself, and the model that it fits pays for them.

grid = {"C": [1.0, 10.0], "kernel__length_scale": [0.5, 1.0, 2.0]}
chosen = mercer.search(SVC(kernel), X, y, grid, criterion=mercer.choosing.GACV()).best_estimator
print(chosen.certificate(X, y, cv=None, prior=None).assumptions[1])

# %%
# Several kernels, whose weights are learned, cost the logarithm of their number; boosted stumps cost what all stumps
# cost.

several = MultipleKernelClassifier([Gaussian(0.5), Gaussian(1.0), Gaussian(2.0)]).fit(X, y)
print(several.certificate(X, y, cv=None).verdict)
print(LPBoostClassifier(nu=0.3).fit(X, y).certificate(X, y, cv=None).verdict)

# %%
# A kernel whose width is learned from the samples by `fit` is another matter, and the certificate says so.

print(SVC().fit(X, y).certificate(X, y, cv=None, prior=None).verdict)
