"""
Objects in pictures
===================

**The claim** (:ref:`[SS] <source-ss>` Section 7.1, :ref:`[HSS] <source-hss>` Section 3.1.5): support vector machines
recognise objects, and kernels on images that use neighbouring pixels, such as the pyramidal one, help.

**The data** are generated: squares, discs, crosses and rings of random size and position, with noise, on 16 x 16
pixels. They stand in for photographs; ``python -m benchmarks.experiments objects`` runs articles of clothing
(Fashion-MNIST).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC
from mercer.kernels import Gaussian, Linear, Pyramidal

chance = np.random.default_rng(0)
rows, columns = np.mgrid[:16, :16].astype(float)
SHAPES = ("square", "disc", "cross", "ring")


def image(shape):
    """Return a shape of random size at a random position, with noise."""
    size = chance.uniform(2.8, 4.2)
    u, v = rows - chance.uniform(6, 9), columns - chance.uniform(6, 9)
    far = np.hypot(u, v)
    drawn = {
        "square": np.maximum(np.abs(u), np.abs(v)) < size * 0.9,
        "disc": far < size,
        "cross": (np.minimum(np.abs(u), np.abs(v)) < 0.9) & (np.maximum(np.abs(u), np.abs(v)) < size),
        "ring": np.abs(far - size) < 1.0,
    }[shape]
    return (drawn + 0.25 * chance.normal(size=(16, 16))).ravel()


kind = np.repeat(SHAPES, 30)
images = np.array([image(shape) for shape in kind])
figure, axes = plt.subplots(1, 8, figsize=(9, 1.4), layout="constrained")
for ax, i in zip(axes, range(0, 120, 15), strict=True):
    ax.imshow(images[i].reshape(16, 16), cmap="gray_r")
    ax.set_title(kind[i], fontsize=8)
    ax.axis("off")
plt.show()

# %%
# Kernels of all pixels, and of products of neighbouring pixels summed over places.

kernels = {
    "linear": Linear(),
    "Gaussian": Gaussian(6.0),
    "pyramidal": Pyramidal((16, 16), patch=3, p1=2, p2=1).normalized(),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
accuracy = {
    name: cross_val_score(SVC(kernel, C=10.0), images, kind, cv=folds).mean() for name, kernel in kernels.items()
}
for name, value in accuracy.items():
    print(f"{name:12} {value:.2f}")

# %%
# **Comparison**: kernels recognise more shapes than a linear machine on pixels. On Fashion-MNIST, with 6000 training
# pictures: class means 33.5 %, linear 15.9 %, polynomial 15.7 %, Gaussian 13.2 % errors.

assert accuracy["Gaussian"] > accuracy["linear"]
