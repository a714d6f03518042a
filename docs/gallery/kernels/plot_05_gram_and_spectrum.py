"""
The Gram matrix and its spectrum
================================

What a kernel makes of the data can be seen before any model is fitted. With a short length scale every sample resembles
only itself; with a long one all are alike. The eigenvalues show how many directions matter.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from mercer.kernels import Gaussian
from mercer.plots import GramDisplay, SpectrumDisplay

X, species = load_iris(return_X_y=True)

# %%
# Samples are ordered by species, and by similarity within each.

scales = (0.1, 1.0, 10.0)
figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
for column, scale in zip(axes.T, scales, strict=True):
    kernel = Gaussian(scale)
    GramDisplay.from_kernel(kernel, X, species, ax=column[0])
    column[0].set_title(repr(kernel))
    display = SpectrumDisplay.from_kernel(kernel, X, alpha=0.1, ax=column[1])
    print(
        f"{kernel!r:15} effective rank {display.effective_rank:6.1f}  degrees of freedom at alpha = 0.1: "
        f"{display.degrees_of_freedom:6.1f}"
    )
plt.show()
