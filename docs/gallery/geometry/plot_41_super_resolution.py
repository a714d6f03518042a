"""
Sharper than what was seen
==========================

The components of sharp images describe which images there are. A coarse image, enlarged, is not one of them: its
projection onto the components is an element of feature space near sharp images, and the pre-image of that is a picture
with details that the coarse one does not have. Other features of a kernel's space follow on the same page: those of
single samples, those that are not normal, and those that a disturbance leaves alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from mercer import InvariantComponents, KernelFeatureAnalysis, KernelPCA
from mercer.kernels import Gaussian
from mercer.preimages import DistanceScaling

rng = np.random.default_rng(0)
digits = load_digits()
images, labels = digits.data / 16.0, digits.target
order = rng.permutation(len(images))
train, test = order[:1000], order[1000:]


def coarse(flat):
    """Images of 4 x 4 pixels, each the mean of four."""
    return flat.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))


def enlarged(small):
    """The same by splines, as 8 x 8 pixels."""
    return np.clip(zoom(small, (1, 2, 2), order=1, mode="nearest", grid_mode=True), 0.0, 1.0).reshape(len(small), 64)


# %%
# **Super-resolution.** From top to bottom: the original, the coarse image, its enlargement by interpolation, and the
# pre-image of the projection onto 100 components of sharp digits, found from its distances to five of these.

model = KernelPCA(Gaussian(2.0), 100, preimage=DistanceScaling(5)).fit(images[train])
blurred = enlarged(coarse(images[test]))
sharp = model.denoise(blurred)
shown = [test[labels[test] == kind][0] for kind in range(10)]
place = {index: where for where, index in enumerate(test)}
rows = [images[shown], np.array([np.kron(one, np.ones((2, 2))).ravel() for one in coarse(images[shown])])]
rows += [blurred[[place[i] for i in shown]], sharp[[place[i] for i in shown]]]
picture = np.vstack([np.hstack([np.pad(image.reshape(8, 8), 1) for image in block]) for block in rows])
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.imshow(picture, cmap="gray_r", vmin=0.0, vmax=1.0)
ax.set(xticks=[], yticks=4.5 + 10 * np.arange(4), yticklabels=["sharp", "seen", "interpolated", "pre-image"])
ax.tick_params(length=0)
plt.show()
print(f"mean squared error: interpolated {np.mean((blurred - images[test]) ** 2):.4f}, "
      f"pre-image {np.mean((sharp - images[test]) ** 2):.4f}")  # fmt: skip

# %%
# **Features of single samples.** Sparse kernel feature analysis takes the kernel of one digit as a feature, the one of
# largest variance, then one that is orthogonal to it, and so on. Ten kernels say nearly as much about the digits as ten
# principal components, each of which is a sum of 1000.

sparse = KernelFeatureAnalysis(Gaussian(3.0), 10).fit(images[train])
figure, axes = plt.subplots(1, 10, figsize=(9, 1.2), layout="constrained")
for ax, index in zip(axes, sparse.support_, strict=True):
    ax.imshow(images[train][index].reshape(8, 8), cmap="gray_r")
    ax.axis("off")
plt.show()
for name, features in (("principal components", KernelPCA(Gaussian(3.0), 10).fit(images[train])), ("samples", sparse)):
    near = KNeighborsClassifier(5).fit(features.transform(images[train]), labels[train])
    print(f"10 {name}: {near.score(features.transform(images[test]), labels[test]):.3f} of the digits known")

# %%
# **Features that a shift leaves alone.** Digits moved by a pixel are different points in feature space. Directions in
# which digits vary, and their moved copies do not, are found by diagonalising both covariances together.


def moved(flat, by):
    return np.roll(flat.reshape(-1, 8, 8), by, axis=(1, 2)).reshape(len(flat), 64)


some = train[:300]
variants = np.vstack([moved(images[some], by) for by in ((0, 1), (0, -1))])
plain = KernelPCA(Gaussian(3.0), 15).fit(images[some])
steady = InvariantComponents(Gaussian(3.0), 15, alpha=0.003).fit(images[some], variants=variants)
shifted = moved(images[test], (0, 1))
for name, features in (("principal", plain), ("invariant", steady)):
    Z = features.transform(images[some])
    scale = Z.std(axis=0)
    near = KNeighborsClassifier(5).fit(Z / scale, labels[some])
    print(f"{name}: {near.score(features.transform(images[test]) / scale, labels[test]):.3f} of the digits known, "
          f"{near.score(features.transform(shifted) / scale, labels[test]):.3f} of those moved")  # fmt: skip
