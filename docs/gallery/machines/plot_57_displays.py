"""
A classifier in five displays
=============================

Each question about a machine has a display that holds the numbers of the answer and draws them: which parameters, what
happens at other costs, where the boundary is, what a threshold gains, and whether probabilities can be believed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogisticRegression
from mercer.choosing import KernelSearchCV
from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.plots import (
    CalibrationDisplay,
    CostPathDisplay,
    MarginDisplay,
    RocDisplay,
    ValidationSurfaceDisplay,
)
from mercer.selection import svm_path

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data[:, [1, 8]]), data.target_names[data.target]  # two columns: not easy
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# **Which parameters?** The mean score of each candidate; a cross marks the best.

grid = {"C": [0.1, 1.0, 10.0, 100.0], "kernel__length_scale": [0.25, 0.5, 1.0, 2.0, 4.0]}
search = KernelSearchCV(SVC(Gaussian(1.0)), grid, cv=5).fit(X, y)
surface = ValidationSurfaceDisplay.from_search(search)
print(search.best_params_, f"{search.best_score_:.3f}")
plt.show()

# %%
# **What happens at other costs?** All of them at once, from the exact path.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
kernel = search.best_estimator_.kernel_
path = svm_path(Dense().build(kernel, Vectors.pack(X)), np.where(y == "benign", 1, -1), C_min=0.1, C_max=100.0)
CostPathDisplay.from_path(path, ax=left)

# %%
# **Where is the boundary?** Regions, margins, and the samples that decide, ringed.

machine = search.best_estimator_
MarginDisplay.from_estimator(machine, X, y, ax=right)
right.set(xlabel=data.feature_names[1], ylabel=data.feature_names[8])
plt.show()

# %%
# **What does a threshold gain?** The share of malignant cases that are found, against the share of benign ones mistaken
# for malignant, on samples not used so far. **Can probabilities be believed?** Of the cases with a predicted
# probability near 0.7, about 70 % should be malignant. An overfitted machine is overconfident: its points leave the
# diagonal.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
RocDisplay.from_estimator(machine, X_test, y_test, ax=axes[0])
smooth = KernelLogisticRegression(Gaussian(2.0), C=1.0).fit(X, y)
close = KernelLogisticRegression(Gaussian(0.3), C=1000.0).fit(X, y)
for ax, model, title in ((axes[1], smooth, "smooth"), (axes[2], close, "fitted too closely")):
    display = CalibrationDisplay.from_estimator(model, X_test, y_test, groups=6, ax=ax)
    ax.set_title(f"{title}: mean difference {display.error:.3f}")
    print(f"{title:20} accuracy {model.score(X_test, y_test):.3f}, mean difference {display.error:.3f}")
plt.show()
