"""A short tour of mercer: three sets of real data, three kernels, one figure.

Run it with ``make demo``, or with ``python examples/demo.py`` where mercer is installed.
"""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Column, Table
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score, train_test_split
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelMeanClassifier, KernelRidge
from mercer.kernels import Gaussian, Laplacian, Linear, Spectrum

FIGURE = Path("demo.png")
ENGLISH = "house water friend morning window father bread winter bridge garden street shadow kitchen thunder"
FINNISH = "talo vesi ystävä aamu ikkuna isä leipä talvi silta puutarha katu varjo keittiö ukkonen"


def diabetes():
    """Progression of a disease in 442 patients: a composed kernel, and alpha chosen by leaving one out."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test, mean = scaler.transform(X_train), scaler.transform(X_test), y_train.mean()

    # A straight line in all ten columns, and a smooth bend in age, body mass, blood pressure and s5.
    kernel = 0.1 * Linear() + Gaussian("median").on([0, 2, 3, 8])
    model = KernelRidge(kernel, leave_one_out=True)
    alphas, errors = np.logspace(-1, 2, 31), []
    for alpha in alphas:
        # One fit gives the errors of as many models as there are patients, each without one of them.
        model.set_params(alpha=alpha).fit(X_train, y_train - mean)
        errors.append(mean_absolute_error(y_train - mean, model.loo_predictions_))
    model.set_params(alpha=alphas[np.argmin(errors)]).set_callbacks(ProgressBar())
    model.fit(X_train, y_train - mean)

    scores = {
        "the mean": DummyRegressor().fit(X_train, y_train).score(X_test, y_test),
        "a straight line": RidgeCV(alphas).fit(X_train, y_train).score(X_test, y_test),
        f"KernelRidge({kernel!r}, alpha={model.alpha:.2g})": model.score(X_test, y_test - mean),
    }
    return scores, {"alphas": alphas, "errors": errors}


def tumours():
    """569 tumours, benign or not, by the nearest class mean in feature space; a grid over kernels."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    model = make_pipeline(StandardScaler(), KernelMeanClassifier(Gaussian(1.0)))
    widths = [1.0, 3.0, 10.0, 30.0, 100.0]
    kernels = [Linear(), *(family(width) for family in (Gaussian, Laplacian) for width in widths)]
    search = GridSearchCV(model, {"kernelmeanclassifier__kernel": kernels}, cv=5)
    search.set_callbacks(ProgressBar(max_propagation_depth=0)).fit(X_train, y_train)

    centroid = make_pipeline(StandardScaler(), NearestCentroid()).fit(X_train, y_train)
    scores = {
        "the larger class": DummyClassifier().fit(X_train, y_train).score(X_test, y_test),
        "nearest centroid": centroid.score(X_test, y_test),
        f"{search.best_estimator_[-1]!r}": search.score(X_test, y_test),
    }
    return scores, {"values": search.decision_function(X_test), "benign": y_test == 1}


def languages():
    """Which language is a word? Strings are compared by the pairs of letters they share."""
    words = ENGLISH.split() + FINNISH.split()
    language = ["English"] * len(ENGLISH.split()) + ["Finnish"] * len(FINNISH.split())
    kernel = (Spectrum(1) + Spectrum(2)).normalized()
    model = KernelMeanClassifier(kernel)
    hits = cross_val_score(model, np.array(words), language, cv=LeaveOneOut())
    scores = {"guessing": 0.5, f"KernelMeanClassifier({kernel!r})": hits.mean()}
    return scores, {"words": words, "similarity": kernel(words)}


def draw(ridge, means, strings):
    """Draw one panel per example into `FIGURE`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    best = int(np.argmin(ridge["errors"]))
    left.semilogx(ridge["alphas"], ridge["errors"])
    left.plot(ridge["alphas"][best], ridge["errors"][best], "o", label=f"alpha = {ridge['alphas'][best]:.2g}")
    left.set(title="Ridge: leave-one-out error", xlabel="alpha", ylabel="mean absolute error")
    left.legend()
    bins = np.histogram_bin_edges(means["values"], 40)
    middle.hist(means["values"][means["benign"]], bins, alpha=0.6, label="benign")
    middle.hist(means["values"][~means["benign"]], bins, alpha=0.6, label="malignant")
    middle.axvline(0.0, color="black", linewidth=1)
    middle.set(title="Nearest class mean, unseen tumours", xlabel="decision value", ylabel="count")
    middle.legend()
    image = right.imshow(strings["similarity"], cmap="viridis")
    ticks = range(len(strings["words"]))
    right.set_xticks(ticks, strings["words"], rotation=90, fontsize=6)
    right.set_yticks(ticks, strings["words"], fontsize=6)
    right.set(title="Similarity of English and Finnish words")
    figure.colorbar(image, ax=right, shrink=0.85)
    figure.savefig(FIGURE, dpi=120)


def main():
    console = Console()
    table = Table("data", Column("model", overflow="fold"), "score", title="Scores on unseen samples")
    pictures = []
    for title, example in {
        "diabetes (R²)": diabetes,
        "tumours (accuracy)": tumours,
        "words (accuracy)": languages,
    }.items():
        console.print(f"[bold]{title}[/] {example.__doc__}")
        scores, picture = example()
        pictures.append(picture)
        for i, (model, score) in enumerate(scores.items()):
            table.add_row("" if i else title, model, f"{round(score, 3) + 0.0:.3f}", end_section=i == len(scores) - 1)
    console.print(table)
    try:
        draw(*pictures)
    except ModuleNotFoundError:
        print('The figure needs matplotlib: pip install "mercer[plot]"')
    else:
        print(f"The figure is in {FIGURE.resolve()}")


if __name__ == "__main__":
    main()
