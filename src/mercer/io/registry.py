"""The classes that a model file may name, each by a short id: a closed list.

An id is a kind and a class name, as ``kernel:Gaussian``. It is looked up in a table made of the public
classes of mercer; it is never a path to import, so a file cannot choose what code is run. A class of a user
has the id ``user:Name``, and is found among the classes that the reader of the file gives.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator

from mercer.domains import Samples
from mercer.errors import ModelError, ParameterError
from mercer.export_map import EXPORTS, SAVED
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.solvers import Solver
from mercer.spec import Spec
from mercer.targets import Target

__all__ = ["find_class", "id_of", "registry", "user_classes"]

# Whose public classes a model may be made of. Besides these it holds records (small dataclasses, such as the features
# of a string kernel) and others that are not public: those beside public names, and what ``__saved__`` names.
PACKAGES = (
    "domains",
    "estimators",
    "gram",
    "inference",
    "kernels",
    "losses",
    "mixtures",
    "models",
    "preimages",
    "selection",
    "solvers",
    "targets",
)
_KINDS: tuple[tuple[type, str], ...] = (
    (Kernel, "kernel"),
    (GramSpec, "gram"),
    (Solver, "solver"),
    (Loss, "loss"),
    (Spec, "spec"),
    (Target, "target"),
    (Samples, "samples"),
    (BaseEstimator, "estimator"),
    (Enum, "choice"),
)


@functools.cache
def registry() -> Mapping[str, type]:
    """The classes of mercer that a model file may name, by id.

    Examples
    --------
    >>> registry()["kernel:Gaussian"]
    <class 'mercer.kernels.vectors.pointwise.Gaussian'>
    """
    found: dict[str, type] = {}
    for name in _homes():
        for member in _called(name):
            own = f"{kind_of(member)}:{name}"
            if found.setdefault(own, member) is not member:
                raise TypeError(f"two classes have the id {own}: {found[own]} and {member}")  # the author's doing
    return MappingProxyType(found)


@functools.cache
def _homes() -> Mapping[str, list[str]]:
    """The modules that define classes of a name, by name; none is imported to find out."""
    found: dict[str, list[str]] = {}
    for table in (*(EXPORTS[f"mercer.{package}"] for package in PACKAGES), SAVED):
        for home, names in table.items():
            for name in names:
                if home not in found.setdefault(name, []):
                    found[name].append(home)
    return found


def _called(name: str) -> Iterator[type]:
    """The classes of a name that a model file may hold."""
    for home in _homes().get(name, ()):
        member = getattr(importlib.import_module(home), name)
        if isinstance(member, type) and kind_of(member) is not None:
            yield member


def _known(name: str) -> type | None:
    """The class of mercer with an id; no module is imported but those that define a class of that name."""
    kind, _, own = name.partition(":")
    return next((member for member in _called(own) if kind_of(member) == kind), None)


def kind_of(member: type) -> str | None:
    """What kind of thing a class makes; None if a model file cannot hold it.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> kind_of(Gaussian), kind_of(int)
    ('kernel', None)
    """
    if inspect.isabstract(member) or issubclass(member, Gram):
        return None
    for base, kind in _KINDS:
        if issubclass(member, base):
            return kind if member is not base else None
    if not dataclasses.is_dataclass(member) or {field.name for field in dataclasses.fields(member)} & {
        "gram",
        "problem",
    }:
        return None  # what has a Gram is a problem, not what was found
    return "record"


def id_of(member: type) -> str | None:
    """The id of a class: of mercer, of a user, or None for one that a model file cannot hold."""
    if member.__module__ in _homes().get(member.__name__, ()) and member in _called(member.__name__):
        return f"{kind_of(member)}:{member.__name__}"
    return f"user:{member.__name__}" if _is_users(member) else None


def _is_users(member: type) -> bool:
    """Whether this is a class of a user whose parameters, or fields, are its whole state."""
    home = member.__module__.partition(".")[0]
    return home not in ("mercer", "sklearn") and kind_of(member) not in (None, "choice")


def user_classes(classes: Iterable[type]) -> dict[str, type]:
    """Classes of a user by id, checked.

    Parameters
    ----------
    classes : iterable of classes
        Kernels and other Specs, estimators, samples and dataclasses.
    """
    found: dict[str, type] = {}
    for member in classes:
        if not isinstance(member, type) or not _is_users(member):
            raise ParameterError(
                f"classes has the member {member!r}; classes of your own are accepted that are Specs (such as "
                "kernels), estimators, samples or dataclasses. Give the class itself, as classes=[MyKernel]."
            )
        name = f"user:{member.__name__}"
        if found.setdefault(name, member) is not member:
            raise ParameterError(
                f"classes has two members called {member.__name__}; a file tells them apart by name alone. "
                "Give only the one that the model was saved with."
            )
    return found


def find_class(name: Any, own: Mapping[str, type], writer: str) -> type:
    """The class of an id.

    Parameters
    ----------
    name : str
        As found in a file.
    own : mapping from ids to classes
        Those of the user.
    writer : str
        The version of mercer that wrote the file.
    """
    member = _known(name) or own.get(name) if isinstance(name, str) else None
    if member is not None:
        return member
    shown = str(name)[:80]
    if shown.startswith("user:"):
        own_name = shown.removeprefix("user:")
        raise ModelError(
            f"The model uses the class {own_name}, which is not part of mercer; classes of your own have to be given. "
            f"Write load(path, classes=[{own_name}])."
        )
    raise ModelError(
        f"The model uses {shown!r}, which this version of mercer does not know; it was written by mercer {writer}. "
        "Read it with that version, or a newer one."
    )
