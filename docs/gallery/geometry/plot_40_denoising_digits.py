"""
Denoising digits by kernel principal components
===============================================

Linear principal components describe a cloud of images by a flat subspace, kernel ones by a curved surface. To remove
noise from an image, we project it onto the leading components in feature space; the projection is an element of that
space which is not the image of any picture, so we look for the picture whose image is *nearest* to it, its *pre-image*.
The components are learned from clean digits; noisy ones were not among them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA
from mercer.kernels import Gaussian, Linear
from mercer.plots import ComponentsDisplay
from mercer.preimages import DistanceScaling, Gradient, RidgeMap

rng = np.random.default_rng(0)
digits = load_digits()
images, labels = digits.data / 16.0, digits.target
order = rng.permutation(len(images))
train, test = order[:500], order[500:]
clean = images[[test[labels[test] == kind][0] for kind in range(10)]]

# %%
# **Two kinds of noise.** At the top of each block are the noisy digits: Gaussian noise, and pixels set to black or
# white at random. Below them are linear PCA with 1, 4, 16, 64 components, then kernel PCA with 1, 4, 16, 64 and 256: it
# has as many as there are samples. With all its components linear PCA reproduces the noise; kernel PCA does not, since
# its pre-image is a mean of training digits.

gaussian = clean + 0.5 * rng.normal(size=clean.shape)
speckled = np.where(rng.uniform(size=clean.shape) < 0.4, rng.integers(0, 2, clean.shape), clean)
linear = {q: KernelPCA(Linear(), q).fit(images[train]) for q in (1, 4, 16, 64)}
curved = {q: KernelPCA(Gaussian(3.0), q).fit(images[train]) for q in (1, 4, 16, 64, 256)}


def rows_of(noisy):
    """Rows of pictures with their names."""
    yield "clean", clean
    yield "noisy", noisy
    for q, model in linear.items():
        yield f"PCA {q}", model.denoise(noisy)
    for q, model in curved.items():
        yield f"kernel PCA {q}", model.denoise(noisy)


def draw(ax, noisy, title):
    rows = list(rows_of(noisy))
    picture = np.vstack([np.hstack([np.pad(image.reshape(8, 8), 1) for image in block]) for _, block in rows])
    ax.imshow(picture, cmap="gray_r", vmin=0.0, vmax=1.0)
    errors = [np.mean((block - clean) ** 2) for _, block in rows]
    names = [f"{name} ({error:.3f})" for (name, _), error in zip(rows, errors, strict=True)]
    ax.set(title=title, xticks=[], yticks=4.5 + 10 * np.arange(len(rows)), yticklabels=names)
    ax.tick_params(length=0)


figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
draw(axes[0], gaussian, "Gaussian noise (mean squared error)")
draw(axes[1], speckled, "speckle noise (mean squared error)")
plt.show()

# %%
# **How many components?** Errors over a hundred digits that were held out. Linear PCA is best in the middle and
# ends at the noise itself.

held = images[test][:100]
noisy = held + 0.5 * rng.normal(size=held.shape)
counts = (1, 2, 4, 8, 16, 32, 64)
flat = [np.mean((KernelPCA(Linear(), q).fit(images[train]).denoise(noisy) - held) ** 2) for q in counts]
bent = [np.mean((KernelPCA(Gaussian(3.0), q).fit(images[train]).denoise(noisy) - held) ** 2) for q in (*counts, 128)]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.semilogx(counts, flat, "o-", color="C1", base=2, label="PCA")
ax.semilogx((*counts, 128), bent, "o-", color="C0", base=2, label="kernel PCA")
ax.axhline(np.mean((noisy - held) ** 2), color="0.6", linestyle="--", label="noise")
ax.set(xlabel="components", ylabel="mean squared error")
ax.legend()
plt.show()
print(f"best: PCA {min(flat):.4f}, kernel PCA {min(bent):.4f}, noise {np.mean((noisy - held) ** 2):.4f}")

# %%
# **Four ways to a pre-image.** The fixed point of a weighted mean, the derivative of the distance, distances to
# neighbours, and a map from scores to pictures learned by ridge regression.

some = slice(0, 30)
for name, how in (
    ("fixed point", None),
    ("derivative", Gradient()),
    ("distances", DistanceScaling(10)),
    ("learned map", RidgeMap(0.01)),
):
    model = KernelPCA(Gaussian(3.0), 64, preimage=how).fit(images[train])
    print(f"{name:12s} mean squared error {np.mean((model.denoise(noisy[some]) - held[some]) ** 2):.4f}")

# %%
# **What the components are.** Digits in the plane of the first two scores.

ComponentsDisplay.from_estimator(curved[4], images[test], labels[test])
plt.show()
