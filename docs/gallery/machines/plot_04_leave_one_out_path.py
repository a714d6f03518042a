"""
Choosing the ridge by leave-one-out
===================================

The predictions of all n models that leave one sample out follow from a single eigendecomposition, for as many ridges
as one likes. scikit-learn's diabetes data: 442 patients, ten columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.selection import ridge_path

X, y = load_diabetes(return_X_y=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# For three kernels: the leave-one-out error against the ridge, and the error on held-out patients (dotted), for which
# every ridge needs its own fit.

alphas = np.logspace(-2, 3, 41)
kernels = {"a straight line": Linear(), "a bend": Gaussian(6.0), "both": 0.1 * Linear() + Gaussian(6.0)}


def error(predictions, truth):
    """Root mean square of the errors, along the last axis."""
    return np.sqrt(np.mean((predictions - truth) ** 2, axis=-1))


figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for place, (name, kernel) in enumerate(kernels.items()):
    path = error(ridge_path(kernel(X_train), y_train, alphas, intercept=True), y_train)
    model = KernelRidge(kernel, fit_intercept=True)
    truth = [error(model.set_params(alpha=a).fit(X_train, y_train).predict(X_test), y_test) for a in alphas]
    ax.semilogx(alphas, path, color=f"C{place}", label=f"{name}: {kernel!r}")
    ax.semilogx(alphas, truth, color=f"C{place}", linestyle=":")
    best = path.argmin()
    ax.plot(alphas[best], path[best], "o", color=f"C{place}")
    print(f"{name:16} alpha {alphas[best]:7.3g}  left out {path[best]:.1f}  set aside {truth[best]:.1f}")
ax.set(xlabel="alpha", ylabel="root mean square error")
ax.legend()
plt.show()
