"""
The distribution of the test error
==================================

Train on a random part of the data, test on the rest, and do it again: the error is a random variable. How it is spread
depends on the learner and on the size of the training set, and its mean does not tell the whole story. The table is
scikit-learn's breast-cancer data, 569 samples of 30 columns; sizes and learners are those of a classic series of
slides, which used another and smaller table of breast-cancer data (9 columns).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelMeanClassifier
from mercer.kernels import Gaussian, Linear
from mercer.plots import ErrorDistributionDisplay
from mercer.theory import error_distribution

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)  # once for all, as if the units were known; no label is used

LEARNERS = {
    "class means": KernelMeanClassifier(Linear()),
    "linear SVM": SVC(Linear(), C=1.0),
    "Gaussian SVM": SVC(Gaussian(np.sqrt(30.0)), C=10.0),
}

# %%
# Each learner sees the same random training sets, of the ten sizes of the slides: 342, 273, 205, 137, 68, 34, 27, 20,
# 14 and 7. Sets without samples of both classes are drawn again. Nothing is tuned. To build the page in seconds there
# are only 40 repetitions.

found = error_distribution(LEARNERS, X, y, repeats=40)
print(found.table())

# %%
# From many samples to few, on one scale of errors and counts as shares. With hundreds of samples the errors of the
# support vector machines are small and all alike. With a handful the right tail grows: most training sets still do
# well, some go badly wrong. From 34 samples on the class means hardly improve: on average the same two means are found
# at every size, only less precisely.

figure, axes = plt.subplots(5, 2, figsize=(9, 11), sharex=True, layout="constrained")
display = ErrorDistributionDisplay(found)
for ax, size in zip(axes.T.ravel(), found.sizes, strict=True):
    display.histogram(size, ax)
    if size != found.sizes[0]:
        ax.get_legend().remove()
    if ax not in axes[-1]:
        ax.set_xlabel("")
plt.show()

# %%
# **Expected and confident.** The mean answers "what error on average?". A user with one training set wants to know
# what error will not be exceeded: the 95 % quantile. Bounds of the first kind say little about the second when samples
# are few: at 7 samples the quantile is about twice the mean for each learner.

display.plot()
plt.show()

# %%
# A wide margin lets the support vector machines gain where there are samples to gain from; with 20 or fewer they have
# no advantage over the plain means. The last row is for learners trained and tested on the whole data set, which shows
# only how well the functions can fit it.
