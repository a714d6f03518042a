"""
Gene expression: few patients, thousands of genes
=================================================

**The claim** (:ref:`[SS] <source-ss>` Section 7.3, :ref:`[HSS] <source-hss>` Section 3.1.5): support vector machines
excel on microarrays, where there are many more columns than samples.

**The data** are generated, since no microarray can be bundled: 60 patients, 2000 genes, of which 40 differ between two
kinds of tumour, in groups that are regulated together. The right comparison is with what the number of columns does to
a machine without a margin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from mercer import SVC
from mercer.kernels import Gaussian, Linear

chance = np.random.default_rng(0)
kind = np.repeat([0, 1], 30)


def expression(genes, informative=40):
    """Return patients by genes: factors that several genes share, noise, and a shift of some genes for one kind."""
    factors = chance.normal(size=(60, 8)) @ chance.normal(size=(8, genes)) / np.sqrt(8)
    X = 0.7 * factors + chance.normal(size=(60, genes))
    X[kind == 1, :informative] += 1.2
    return X


folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
sizes = (40, 200, 1000, 2000)
names = ("linear machine", "Gaussian machine", "discriminant without margin")
accuracy = {name: [] for name in names}
for genes in sizes:
    X = expression(genes)
    machines = (SVC(Linear(), C=1.0), SVC(Gaussian(np.sqrt(genes)), C=10.0), LinearDiscriminantAnalysis())
    for name, machine in zip(names, machines, strict=True):
        accuracy[name].append(cross_val_score(machine, X, kind, cv=folds).mean())
for name, values in accuracy.items():
    print(f"{name:28}", "  ".join(f"{value:.2f}" for value in values))

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, values in accuracy.items():
    ax.semilogx(sizes, values, "o-", label=name)
ax.axhline(0.5, color="0.5", linestyle=":")
ax.set(
    xlabel="genes, 40 of which matter", ylabel="accuracy in folds", xticks=sizes, xticklabels=sizes, ylim=(0.4, 1.02)
)
ax.legend(fontsize="small")
plt.show()

# %%
# **Comparison**: the machines excel as the sources say: with a margin, uninformative columns cost less than without
# one.

assert accuracy["linear machine"][0] > accuracy["discriminant without margin"][0]
assert accuracy["linear machine"][-1] > max(0.65, accuracy["discriminant without margin"][-1])
