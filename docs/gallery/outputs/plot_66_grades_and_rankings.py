r"""
Grades, and rankings within groups
==================================

Grades have an order but no distances: the step from *poor* to *fair* need not equal that from *good* to *excellent*.
`OrdinalSVC` learns one function and the thresholds that cut it. Where judges use the grades differently, only the order
among the items of one judge is meaningful, and `RankSVM` compares within groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OrdinalSVC, RankSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(150, 1))
quality = np.exp(0.6 * X[:, 0]) + 0.3 * rng.normal(size=150)
grades = np.digitize(quality, [0.5, 1.0, 3.0])
line = np.linspace(-3.0, 3.0, 200)[:, None]

# %%
# **One function, three thresholds.** Their distances are learned.

model = OrdinalSVC(Gaussian(1.5), C=10.0).fit(X, grades)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(line, model.expansion_(line), "black")
for threshold in model.thresholds_:
    left.axhline(threshold, color="0.6", linestyle=":")
for grade in range(4):
    chosen = X[grades == grade]
    left.scatter(chosen, model.expansion_(chosen), s=12, label=f"grade {grade}")
left.set(xlabel="x", ylabel="function", title=f"OrdinalSVC: {model.score(X, grades):.2f} right")
left.legend()

# %%
# **Six judges, each with their own scale.** Their grades disagree, their orders do not: ranked within the judges, the
# function follows the quality; ranked as if all had one scale, it does not.

judge = rng.integers(0, 6, size=150)
severity, stretch = rng.normal(scale=4.0, size=6), rng.uniform(0.5, 3.0, size=6)
marks = np.round(stretch[judge] * quality + severity[judge])
for name, groups, color in (("within judges", judge, "tab:blue"), ("all together", None, "tab:red")):
    ranked = RankSVM(Gaussian(1.5), C=0.1, tol=1e-4).fit(X, marks, groups=groups)
    values = ranked.predict(line)
    right.plot(line, (values - values.min()) / np.ptp(values), color, label=name)
    order = ranked.predict(X)
    agreement = np.corrcoef(np.argsort(np.argsort(order)), np.argsort(np.argsort(quality)))[0, 1]
    print(f"{name:14s} rank correlation with the quality {agreement:.3f}")
truth = np.exp(0.6 * line[:, 0])
right.plot(line, (truth - truth.min()) / np.ptp(truth), "0.6", linestyle=":", label="quality")
right.set(xlabel="x", ylabel="function, scaled", title="RankSVM")
right.legend()
plt.show()
