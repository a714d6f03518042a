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
    return f"""# {name}

{summary}

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
