"""Write the pages of docs/reference: every public name of every public package, from their ``__all__``."""

import importlib
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import mercer
from docs.pages import write

FOLDER = Path(__file__).resolve().parent / "reference"
MODULES = (
    *(
        "mercer",
        "mercer.kernels",
        "mercer.gram",
        "mercer.domains",
        "mercer.losses",
        "mercer.mixtures",
        "mercer.solvers",
    ),
    *(
        "mercer.choosing",
        "mercer.selection",
        "mercer.theory",
        "mercer.preimages",
        "mercer.hilbert",
        "mercer.inference",
        "mercer.networks",
        "mercer.models",
        "mercer.problems",
        "mercer.constraints",
        "mercer.errors",
        "mercer.budget",
        "mercer.numerics",
    ),
    *(
        "mercer.testing",
        "mercer.io",
        "mercer.io.model_file",
        "mercer.io.interop",
        "mercer.plots",
        "mercer.reports",
        "mercer.catalogue",
    ),
)


# What a module is for, and its nearest neighbours: (another module, when to look there instead).
PURPOSES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "mercer": (
        "Estimators: everything that is fitted, and the verbs `automatic`, `search`, `report`, `save` and `load`.",
        (("mercer.kernels", "the question is what similar means"), ("mercer.inference", "nothing is to be predicted")),
    ),
    "mercer.kernels": (
        "Kernels for every kind of sample, and the operations that make kernels of kernels. They are arguments of "
        "estimators, and functions of two lists of samples.",
        (
            ("mercer.domains", "the question is how samples are written"),
            ("mercer.gram", "the matrix is too large"),
            ("mercer.hilbert", "the space of functions of a kernel is meant"),
        ),
    ),
    "mercer.gram": (
        "How the matrix of all comparisons is held: whole, in tiles, on landmarks, by features. Every estimator takes "
        "one as `gram=`; the default is right until memory or time runs out.",
        (("mercer.solvers", "the matrix fits, and the optimisation is what takes long"),),
    ),
    "mercer.domains": (
        "What a sample may be, and how lists of samples are packed. Kernels pack for themselves; pack yourself where "
        "the same samples are used often.",
        (("mercer.io", "samples are in a file"), ("mercer.kernels", "they are to be compared")),
    ),
    "mercer.losses": (
        "What an error costs, for the estimators that take a loss.",
        (("mercer.problems", "the whole objective is meant"), ("mercer.selection", "a score of models is meant")),
    ),
    "mercer.mixtures": (
        "What the weights of several kernels may be, for `MultipleKernelClassifier` and its relatives.",
        (
            ("mercer.kernels", "weights are known: add and scale kernels"),
            ("mercer.choosing", "one kernel is to be chosen"),
        ),
    ),
    "mercer.solvers": (
        "Algorithms, as options of estimators (`solver=`). The default is chosen by the problem and the Gram.",
        (("mercer.gram", "memory is the limit"), ("mercer.numerics", "there is a matrix and no model")),
    ),
    "mercer.choosing": (
        "The choice of kernels and parameters by any criterion, as `search` and `KernelSearchCV` make it.",
        (("mercer.selection", "one criterion is to be computed for one model"), ("mercer.theory", "a bound is wanted")),
    ),
    "mercer.selection": (
        "Single criteria, exact where there is a closed form: leave one out, evidence, spans, paths.",
        (("mercer.choosing", "they are to decide"), ("mercer.theory", "they are to hold with a probability")),
    ),
    "mercer.theory": (
        "Bounds as functions of what was observed, and certificates of fitted models made of them.",
        (
            ("mercer.selection", "an estimate is wanted and no guarantee"),
            ("mercer.inference", "a hypothesis is to be tested"),
        ),
    ),
    "mercer.preimages": (
        "From elements of feature space back to points, as in denoising.",
        (("mercer.hilbert", "elements themselves are enough"),),
    ),
    "mercer.hilbert": (
        "Functions in the space of a kernel as objects: norms, distances, representers, expansions, spectra.",
        (("mercer.kernels", "only values of the kernel are needed"), ("mercer.preimages", "points are needed")),
    ),
    "mercer.inference": (
        "Questions about samples, with a p-value or a number for an answer; any kernel on any data.",
        (
            ("mercer.theory", "a model was fitted, and its error is the question"),
            ("mercer.networks", "variables are many"),
        ),
    ),
    "mercer.networks": (
        "Distributions of many variables with few states each: marginals, most probable states, bounds.",
        (("mercer.models", "objects are sequences or vectors"), ("mercer.inference", "there is no model")),
    ),
    "mercer.models": (
        "Densities of objects, learned or given, for the kernels that are made of them.",
        (("mercer.networks", "the graph of dependences matters"), ("mercer.kernels", "a kernel needs no model")),
    ),
    "mercer.problems": (
        "What estimators hand to solvers, and what they get back. You meet it when you write either.",
        (("mercer.solvers", "a problem is to be solved"), ("mercer.losses", "one term of it is meant")),
    ),
    "mercer.constraints": (
        "What parameters may be. You meet it when you write a class with parameters.",
        (("mercer.errors", "a parameter was refused"), ("mercer.testing", "a class is to be checked whole")),
    ),
    "mercer.errors": (
        "Every error and warning, to be caught by name. All errors are also those of Python that users expect.",
        (("mercer.constraints", "the question is what would have been accepted"),),
    ),
    "mercer.budget": (
        "Plans of memory, and the budgets that estimators are given.",
        (("mercer.gram", "a plan is too large"),),
    ),
    "mercer.numerics": (
        "Linear algebra for matrices that are known by their products alone.",
        (("mercer.solvers", "the matrix is a Gram, and a model is wanted"),),
    ),
    "mercer.testing": (
        "The laws of kernels, Grams, losses, solvers and domains, to be called on classes of your own.",
        (("mercer.constraints", "only parameters are to be checked"),),
    ),
    "mercer.io": (
        "Reading files of all formats that the command line reads.",
        (
            ("mercer.io.model_file", "a fitted model is meant"),
            ("mercer.io.interop", "it was fitted by another library"),
        ),
    ),
    "mercer.io.model_file": (
        "Saving, loading and describing fitted models, without any code in the file.",
        (("mercer.io.interop", "the model is of LIBSVM or scikit-learn"), ("mercer.io", "data are meant")),
    ),
    "mercer.io.interop": (
        "Machines that were fitted elsewhere, to be used, explained and saved as those of mercer.",
        (("mercer.io.model_file", "the model is one of mercer"),),
    ),
    "mercer.plots": (
        "One display for each question that a picture answers. Each holds its numbers and draws on request.",
        (("mercer.reports", "a whole page about a model is wanted"),),
    ),
    "mercer.reports": (
        "One page about one fitted model: scores, what it relies on, where it fails.",
        (("mercer.plots", "a single picture is wanted"),),
    ),
    "mercer.catalogue": (
        "What there is, as tables to search: by domain, by name in the literature, by property.",
        (("mercer.choosing", "data are to decide what fits"),),
    ),
}


def exists(module: str) -> bool:
    """Whether there is such a module with a list of public names."""
    return importlib.util.find_spec(module) is not None and hasattr(importlib.import_module(module), "__all__")


def _is_at_the_top(module: ModuleType, member: str) -> bool:
    """Whether a class is described as one of the package itself: Sphinx wants each once."""
    return member in mercer.__all__ and isinstance(getattr(module, member), type)


def page(name: str) -> str:
    """Return the page of one module."""
    module = importlib.import_module(name)
    summary = (inspect.getdoc(module) or "").partition("\n\n")[0]
    here = [member for member in module.__all__ if name == "mercer" or not _is_at_the_top(module, member)]
    names = "\n".join(f"   {member}" for member in sorted(here, key=str.lower))
    purpose, others = PURPOSES[name]
    instead = "; ".join(f"[{other}]({other}.md) if {when}" for other, when in others)
    return f"""# {name}

{summary}

{purpose}

**Look instead** into {instead}.

```{{eval-rst}}
.. currentmodule:: {name}

.. autosummary::
   :toctree: ../generated/reference
   :nosignatures:

{names}
```
"""


def index(names: list[str]) -> str:
    """Return the page that lists the modules."""
    rows = "\n".join(names)
    return f"""# Reference

Every public name, from the docstrings. All examples in them are run by the tests.

```{{toctree}}
:maxdepth: 1

{rows}
```
"""


def pages() -> dict[Path, str]:
    """Return all pages by their place."""
    names = [name for name in MODULES if exists(name)]
    found = {FOLDER / f"{name}.md": page(name) for name in names}
    return {FOLDER / "index.md": index(names), **found}


if __name__ == "__main__":
    write(pages(), FOLDER)
