"""Each page of a class or function tells what else it is called, so that the search finds it, and its neighbours.

What to use instead of the most used classes, and when, is listed here by hand. The others get what is most like them,
in the same file or the same folder, each with its first sentence.
"""

import functools
import importlib
import inspect
import re
from typing import NamedTuple

from plain_docstrings import escaped
from sphinx.application import Sphinx

from docs.make_reference import MODULES, exists
from mercer import catalogue

MOST = 4  # neighbours of a page

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


class Page(NamedTuple):
    """A class or function that has a page: where it is documented and defined, and what it is for."""

    name: str
    home: str
    summary: str

    @property
    def link(self) -> str:
        """A reference to the page."""
        return f":py:obj:`~{self.name}`"

    @property
    def words(self) -> frozenset[str]:
        """Words of the name and of the first sentence, the frequent ones left out."""
        name = re.sub(r"([a-z])([A-Z])|_", r"\1 \2", self.name.rpartition(".")[2])
        return frozenset(re.findall(r"[a-z]{4,}", f"{name} {self.summary}".lower()))


@functools.cache
def documented() -> dict[int, Page]:
    """Return all pages by the identity of what they are about; what is exported twice has its first page."""
    found: dict[int, Page] = {}
    for module in filter(exists, MODULES):
        package = importlib.import_module(module)
        for name in package.__all__:
            member = getattr(package, name)
            if inspect.isclass(member) or inspect.isroutine(member):
                paragraph = " ".join((inspect.getdoc(member) or "").partition("\n\n")[0].split())
                sentence = re.split(r"(?<=[.])\s", paragraph)[0].rstrip(".:")
                found.setdefault(id(member), Page(f"{module}.{name}", member.__module__, sentence))
    return found


def link(name: str) -> str:
    """Return a reference to the page of a class."""
    row = catalogue.named(name)
    assert row is not None, f"{name} does not exist"
    return documented()[id(row.cls)].link


def nearest(page: Page) -> list[Page]:
    """Return what is most like a page: in the same file before the same folder, by common words."""
    folder = page.home.rpartition(".")[0]

    def distance(other: Page) -> tuple[bool, float, str]:
        shared = len(page.words & other.words) / max(1, len(page.words | other.words))
        return other.home != page.home, -shared, other.name

    others = [one for one in documented().values() if one.name != page.name]
    near = [one for one in others if one.home == page.home or one.home.rpartition(".")[0] == folder]
    package = page.name.rpartition(".")[0]  # of what another library defines
    return sorted(near or [one for one in others if one.name.startswith(f"{package}.")], key=distance)[:MOST]


def names_of(member: object) -> list[str]:
    """Return what a class is called in the literature besides its name."""
    row = next((row for row in catalogue._all() if row.cls is member), None)
    return [other for other, own in catalogue.synonyms().items() if row is not None and own == row.name]


def advice(member: object) -> list[str]:
    """Return the lines that are added to the page of a class or function: other names, and neighbours."""
    page = documented().get(id(member))
    if page is None:
        return []
    row = next((row for row in catalogue._all() if row.cls is member), None)
    others = names_of(member)
    lines = [f"Also called {', '.join(others)}.", ""] if others else []
    if row is not None and row.name in INSTEAD:
        listed = "; ".join(f"{link(name)} if {when}" for name, when in INSTEAD[row.name])
        return [*lines, f"**Use instead**: {listed}.", ""]
    if near := nearest(page):
        told = [f"* {one.link}: {escaped(one.summary)}" for one in near]
        lines += ["**Neighbours**, of which one may fit better:", "", *told, ""]
    return lines


def added(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put the advice after the first paragraph of the docstring."""
    if what in ("class", "function", "exception"):
        text = advice(obj)
        end = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
        lines[end:end] = ["", *text] if text else []


def indexed(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Enter the other names into the index, which the search shows before pages that only contain a word."""
    for other in names_of(obj) if what == "class" else ():
        lines[:0] = [f".. index:: {other.replace(';', ',').replace('!', '')}", ""]


def setup(app: Sphinx) -> dict:
    """Listen after prose was made plain, and before numpydoc reads it; numpydoc would read an index of its own."""
    app.connect("autodoc-process-docstring", added, priority=200)
    app.connect("autodoc-process-docstring", indexed, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
