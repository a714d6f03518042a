"""Packages that import a name from the module which defines it, when the name is first used (PEP 562).

What a package exports is listed in `mercer.export_map`, which is made from the modules: a module names in
``__public__`` what its package exports.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mercer.export_map import EXPORTS

__all__ = ["LazyPackage", "export", "homes"]


def export(package: str) -> list[str]:
    """Have a package import the names that it exports on their first use, and return these names: its ``__all__``.

    Parameters
    ----------
    package : str
        Its ``__name__``, as in ``__all__ = export(__name__)``.

    Examples
    --------
    >>> import mercer.kernels
    >>> mercer.kernels.Gaussian.__module__
    'mercer.kernels.vectors.pointwise'
    """
    sys.modules[package].__class__ = LazyPackage
    return sorted(homes(package))


@functools.cache
def homes(package: str) -> Mapping[str, str]:
    """Return the modules that define the names which a package exports, by name.

    Examples
    --------
    >>> homes("mercer.losses")["Huber"]
    'mercer.losses.regression'
    """
    return {name: home for home, names in EXPORTS[package].items() for name in names}


class LazyPackage(ModuleType):
    """A package some of whose attributes are imported on first use.

    It is a class, since a function ``__getattr__`` is not called for names that are taken: where a function has the
    name of the module that defines it, importing the module would take that name.
    """

    def __getattr__(self, name: str) -> Any:
        home = homes(self.__name__).get(name)
        if home is not None:
            value = getattr(importlib.import_module(home), name)
            vars(self)[name] = value
            return value
        if f"{self.__name__}.{name}" in EXPORTS:
            return importlib.import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in homes(self.__name__)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        inside = (name.removeprefix(f"{self.__name__}.") for name in EXPORTS if name.startswith(f"{self.__name__}."))
        return sorted({*super().__dir__(), *homes(self.__name__), *inside} - {"export"})

    def __reduce__(self) -> tuple[Any, ...]:  # functions that refer to the package travel to other processes
        return importlib.import_module, (self.__name__,)
