"""
Biometrics: is it who it claims to be
=====================================

**The claim** (:ref:`[STS] <source-sts>` Section 8): kernel methods "have been successfully applied" to faces,
signatures and other traits of persons.

**The data** are generated, because no faces can be bundled: each of twelve persons is a smooth pattern, drawn from a
Gaussian process on a grid of 12 x 12, and each picture of a person has light from another side and noise. Light
changes a picture more than the person does, as with real faces.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mercer import SVC, KernelFisherDiscriminant, KernelMeanClassifier
from mercer.kernels import Gaussian, Linear

chance = np.random.default_rng(0)
side = np.arange(12.0)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
root = np.linalg.cholesky(Gaussian(2.0)(grid) + 1e-8 * np.eye(len(grid)))
persons = (root @ chance.normal(size=(144, 12))).T
slopes = (grid - grid.mean(axis=0)) / 12.0


def picture(person):
    """Return a picture: the person, light from a random side, and noise."""
    return persons[person] + 4.0 * slopes @ chance.normal(size=2) + 0.6 * chance.normal(size=144)


who = np.repeat(np.arange(12), 10)
faces = np.array([picture(person) for person in who])
figure, axes = plt.subplots(3, 6, figsize=(7, 3.6), layout="constrained")
for row, person in zip(axes, (0, 1, 2), strict=True):
    for ax, face in zip(row, faces[who == person], strict=False):
        ax.imshow(face.reshape(12, 12), cmap="bone")
        ax.axis("off")
    row[0].set_title(f"person {person}", fontsize=9, loc="left")
plt.show()

# %%
# Identification in five folds: nearest mean, which light misleads; a discriminant, which learns to ignore it; and a
# support vector machine.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
models = {
    "nearest mean": KernelMeanClassifier(Linear()),
    "Fisher discriminant": KernelFisherDiscriminant(Linear()),
    "support vectors": SVC(Gaussian(12.0), C=10.0),
}
right = {}
for name, model in models.items():
    right[name] = np.mean(cross_val_predict(model, faces, who, cv=folds) == who)
    print(f"{name:22} {right[name]:.2f}")

# %%
# **Comparison**: successful here as well; knowing which changes do not matter is worth more than the machine.

assert right["support vectors"] > right["nearest mean"]
