"""
Shares, and answers that have an order
======================================

Two kinds of numbers that are not quite numbers. Of the amounts in a solution only the ratios count, since anyone may
add water; and of an answer such as *low*, *middle* or *high* only the order is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.kernels import Aitchison, Gaussian, Linear, Match, OrdinalMatch

rng = np.random.default_rng(0)

# %%
# **Wines, and the same wines with water.** Ten of the thirteen measurements of these wines are amounts of something. A
# machine learns from one half of the wines to tell three growers apart. The other half is given as it is, and mixed
# with up to as much water as wine. `Aitchison` sees the ratios alone; the Gaussian kernel sees standardised amounts, or
# their logarithms. Widths and C are chosen within the training half, drawn five times.

everything, growers = load_wine(return_X_y=True)
amounts = np.delete(everything, [3, 10, 11], axis=1)  # without alcalinity, hue, and a ratio of optical densities
watered = amounts * rng.uniform(0.5, 1.0, size=(len(amounts), 1))
halves = list(ShuffleSplit(5, test_size=0.5, random_state=0).split(amounts))


def chosen(kernels):
    return GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0], "kernel": kernels}, cv=3)


wide = make_pipeline(StandardScaler(), chosen([Gaussian(l) for l in (1.0, 3.0, 10.0)]))
machines = {
    "Gaussian of amounts": (wide, lambda X: X),
    "Gaussian of logarithms": (wide, np.log),
    "Aitchison, Gaussian": (chosen([Aitchison(l) for l in (0.3, 1.0, 3.0)]), lambda X: X),
    "Aitchison, linear": (chosen([Aitchison()]), lambda X: X),
}
print(f"{'growers right':26}as they are     with water")
found = {}
for name, (machine, told) in machines.items():
    rates = []
    for train, test in halves:
        machine.fit(told(amounts[train]), growers[train])
        rates.append([machine.score(told(X[test]), growers[test]) for X in (amounts, watered)])
    found[name] = np.mean(rates, axis=0)
    spread = np.std(rates, axis=0)
    print(f"{name:24}" + "".join(f"{m:8.3f} ± {s:.3f}" for m, s in zip(found[name], spread, strict=True)))

# %%
# Where nobody adds water, the total amount is worth something, and whoever leaves it out is a little worse. With water,
# the Gaussian machine is lost, and the other one does not notice: all its values are the same as before.

figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
places = np.arange(len(found))
for shift, (part, color) in enumerate((("as they are", "tab:blue"), ("with water", "tab:cyan"))):
    ax.barh(places + 0.4 * shift, [pair[shift] for pair in found.values()], 0.4, color=color, label=part)
ax.set_yticks(places + 0.2, found)
ax.invert_yaxis()
ax.set(title="growers right", xlim=(0, 1))
ax.legend(loc="lower left", fontsize="small")
plt.show()

# %%
# **A questionnaire.** Nine measurements of diabetes patients, each told as one of five answers, *very low* to *very
# high*; how the disease went on a year later is to be predicted. `Match` knows the answers as names, `OrdinalMatch` in
# their order; beside them ranks taken for numbers, and the measurements themselves. The borders of the answers, the
# width and the ridge come from the training half. Kernels of the nine answers are added. The order is worth something,
# as names do worse in every half; but ranks taken for numbers do about as well, since here the steps are nearly even.
# What the answers leave out of the measurements is worth more than any of this.

X, y = load_diabetes(return_X_y=True, scaled=False)
X = np.delete(X, 1, axis=1)  # without the sex
ANSWERS = ("very low", "low", "middle", "high", "very high")
ordered, named = OrdinalMatch(ANSWERS), Match()


def added(kernel, rows, columns):
    pairs = zip(rows.T, columns.T, strict=True)
    return sum(kernel([ANSWERS[i] for i in a], [ANSWERS[i] for i in b]) for a, b in pairs)


def explained(K, others, train, test):
    ridge = GridSearchCV(KernelRidge("precomputed"), {"alpha": [0.3, 1.0, 3.0, 10.0, 30.0]}, cv=3)
    ridge.fit(K, y[train] - y[train].mean())
    return ridge.best_score_, 1.0 - np.mean((ridge.predict(others) + y[train].mean() - y[test]) ** 2) / y[test].var()


def best(kernels, Z, train, test):
    return max(explained(k(Z[train]), k(Z[test], Z[train]), train, test) for k in kernels)[1]


shares = {"the order": [], "names": [], "ranks as numbers": [], "ranks, linear": [], "measurements": []}
gaussians = [Gaussian(l) for l in (3.0, 10.0, 30.0)]
for train, test in ShuffleSplit(5, test_size=0.5, random_state=0).split(X):
    borders = np.quantile(X[train], (0.2, 0.4, 0.6, 0.8), axis=0)
    ranks = np.column_stack([np.searchsorted(b, x, side="right") for b, x in zip(borders.T, X.T, strict=True)])
    for name, kernel in (("the order", ordered), ("names", named)):
        K, others = (added(kernel, ranks[rows], ranks[train]) for rows in (train, test))
        shares[name].append(explained(K, others, train, test)[1])
    shares["ranks as numbers"].append(best(gaussians, StandardScaler().fit(ranks[train]).transform(ranks), train, test))
    shares["ranks, linear"].append(best([Linear()], StandardScaler().fit(ranks[train]).transform(ranks), train, test))
    shares["measurements"].append(best(gaussians, StandardScaler().fit(X[train]).transform(X), train, test))
for name, values in shares.items():
    print(f"{name:18} explain {np.mean(values):.3f} ± {np.std(values):.3f} of the variance")
order, numbers = np.array(shares["the order"]), np.array(shares["ranks as numbers"])
print(f"the order beats names in {np.sum(order > shares['names'])} of 5 halves, numbers in {np.sum(order > numbers)}")
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].imshow(ordered(list(ANSWERS)), cmap="magma_r", vmin=0.0, vmax=1.0)
axes[0].set_xticks(range(5), ANSWERS, rotation=30)
axes[0].set_yticks(range(5), ANSWERS)
axes[0].set_title("OrdinalMatch")
axes[1].boxplot(list(shares.values()), orientation="horizontal", tick_labels=list(shares))
axes[1].invert_yaxis()
axes[1].set_title("share of variance explained")
plt.show()
