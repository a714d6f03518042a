"""Each page of a class tells what else it is called, so that the search finds it, and what to use instead, and when.

Other names are those of the catalogue. Neighbours of the most used classes are listed here by hand; the others get the
classes of the same file, with their first sentences.
"""

import inspect

from sphinx.application import Sphinx

from mercer import catalogue

# class -> (another, when to use that instead)
INSTEAD = {
    "SVC": (
        ("LinearSVC", "there are many samples or sparse columns, and a straight boundary will do"),
        ("NuSVC", "a share of errors is easier to name than a price"),
        ("KernelLogisticRegression", "probabilities matter more than few support vectors"),
    ),
    "LinearSVC": (("SVC", "the boundary is curved, or samples are no vectors"),),
    "NuSVC": (("SVC", "errors have a price, or classes are very unequal in size"),),
    "SVR": (
        ("KernelRidgeCV", "errors are Gaussian: it is faster and chooses its parameters"),
        ("QuantileSVR", "bands or quantiles are wanted"),
        ("GaussianProcessRegressor", "the uncertainty of each prediction is wanted"),
    ),
    "NuSVR": (("SVR", "the width of the tube is known"),),
    "KernelRidge": (
        ("KernelRidgeCV", "ridge and kernel parameters are to be found by leaving one out"),
        ("GaussianProcessRegressor", "the uncertainty of each prediction is wanted"),
        ("SVR", "there are outliers in the target"),
    ),
    "KernelRidgeCV": (("KernelRidge", "the ridge is known"),),
    "LSSVR": (("KernelRidge", "no bias, robust weights or pruning are needed"),),
    "LSSVC": (("SVC", "few support vectors are wanted"),),
    "GaussianProcessRegressor": (
        ("SparseGaussianProcessRegressor", "there are more than about 10 000 samples"),
        ("GaussianProcessMixture", "there are several functions, or noise that changes"),
        ("KernelRidgeCV", "no uncertainty is wanted"),
    ),
    "SparseGaussianProcessRegressor": (("GaussianProcessRegressor", "there are some thousand samples or fewer"),),
    "GaussianProcessClassifier": (("KernelLogisticRegression", "no uncertainty of the latent function is wanted"),),
    "OneClassSVM": (
        ("SVDD", "the set is a ball in feature space, or some outliers are known"),
        ("ParzenDensity", "a density is wanted and not a set"),
    ),
    "KernelPCA": (
        ("DiffusionMap", "samples lie on a curved surface"),
        ("KernelCCA", "there are two views, and what they share is wanted"),
        ("KernelFeatures", "features are to approximate the kernel, and not to be looked at"),
    ),
    "KernelKMeans": (("SpectralClustering", "groups are connected rather than round"),),
    "SpectralClustering": (("KernelKMeans", "groups are round in feature space, and new samples are to be assigned"),),
    "KernelCCA": (("CCA", "both views are vectors of few columns, and relations are straight"),),
    "StructuredSVC": (
        ("KernelCRF", "probabilities of outputs are wanted"),
        ("StructuredPerceptron", "a first result is wanted quickly"),
    ),
    "KernelCRF": (("StructuredSVC", "the cost of confusing outputs is what counts"),),
    "RankSVM": (("OrdinalSVC", "there are few grades, and they are to be predicted"),),
    "MultipleKernelClassifier": (("SVC", "the sum of all kernels does as well, which is often so"),),
    "Gaussian": (
        ("Matern", "the function is less smooth"),
        ("Laplacian", "columns are sparse or have outliers"),
        ("Linear", "there are more columns than samples"),
    ),
    "Matern": (("Gaussian", "the function is smooth"),),
    "Linear": (("Gaussian", "relations are curved"),),
    "Polynomial": (("Anova", "only products of different columns matter"),),
    "Spectrum": (
        ("BlendedSpectrum", "substrings of several lengths matter"),
        ("Mismatch", "symbols may be wrong"),
        ("Subsequence", "symbols may be missing in between"),
    ),
    "Subsequence": (("Spectrum", "strings are long, and substrings without gaps suffice"),),
    "TfIdf": (("BagOfWords", "rare words are not to count more"), ("LatentSemantic", "synonyms are to be alike")),
    "WeisfeilerLehman": (
        ("ShortestPath", "distances within a graph matter"),
        ("RandomWalk", "nodes have no labels"),
    ),
    "PartialTree": (("SubsetTree", "rules of a grammar are not to be split"),),
    "Nystrom": (
        ("IncompleteCholesky", "the error is given rather than the rank"),
        ("RandomFeatures", "the kernel is stationary and columns are many"),
        ("Tiles", "the result is to be exact"),
    ),
    "Tiles": (("Nystrom", "an approximation will do"), ("Dense", "the matrix fits into memory")),
    "Dense": (("Tiles", "the matrix does not fit into memory"),),
}


def link(name: str) -> str:
    """Return a reference to the page of a class."""
    row = catalogue.named(name)
    assert row is not None, f"{name} does not exist"
    package = row.cls.__module__.split(".")[1]
    return f":py:class:`~mercer.{row.name}`" if package == "estimators" else f":py:class:`~mercer.{package}.{row.name}`"


def advice(cls: type) -> list[str]:
    """Return the lines that are added to the page of a class: other names, and neighbours."""
    row = next((row for row in catalogue._all() if row.cls is cls), None)
    if row is None:
        return []
    others = [other for other, own in catalogue.synonyms().items() if own == row.name]
    lines = [f"Also called {', '.join(others)}.", ""] if others else []
    if row.name in INSTEAD:
        listed = "; ".join(f"{link(name)} if {when}" for name, when in INSTEAD[row.name])
        return [*lines, f"**Use instead**: {listed}.", ""]
    siblings = [one for one in catalogue._all() if one.cls.__module__ == cls.__module__ and one.cls is not cls]
    if siblings:
        lines += [f"**Neighbours**: {', '.join(link(one.name) for one in siblings[:6])}.", ""]
    return lines


def added(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put the advice after the first paragraph of the docstring of a class."""
    if what == "class" and inspect.isclass(obj):
        text = advice(obj)
        end = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
        lines[end:end] = ["", *text] if text else []


def setup(app: Sphinx) -> dict:
    """Listen after prose was made plain, and before numpydoc reads it."""
    app.connect("autodoc-process-docstring", added, priority=200)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
