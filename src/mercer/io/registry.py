"""The classes that a model file may name, each by a short id: a closed list.

An id is a kind and a class name, as ``kernel:Gaussian``. It is looked up in a table made of the public
classes of mercer; it is never a path to import, so a file cannot choose what code is run. A class of a user
has the id ``user:Name``, and is found among the classes that the reader of the file gives.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator

from mercer.domains import Samples
from mercer.errors import ModelError, ParameterError
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.solvers import Solver
from mercer.spec import Spec
from mercer.targets import Target

__all__ = ["find_class", "id_of", "registry", "user_classes"]

PACKAGES = (
    *(
        "domains",
        "kernels",
        "losses",
        "targets",
        "problems",
        "models",
        "gram",
        "solvers",
        "selection",
        "hilbert.regularizers",
    ),
    *(
        "inference",
        "estimators",
        "estimators.imported",
        "estimators.reduction",
        "estimators.processes.posterior",
        "kernels.kmers",
        "gram.low_rank.feature_maps",
        "gram.low_rank.hadamard",
        "numerics.ragged",
        "numerics.sketches",
    ),
)
# A record (a small dataclass that a fitted model keeps, such as the features of a string kernel) need not be
# exported: in these packages it is found in the module of a public class.
_RECORDS = ("kernels", "models", "gram", "inference", "estimators")
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
    <class 'mercer.kernels.vectors.radial.Gaussian'>
    """
    found: dict[str, type] = {}
    for package in PACKAGES:
        for member in _members(package):
            if (kind := kind_of(member)) is None:
                continue
            name = f"{kind}:{member.__name__}"
            if found.setdefault(name, member) is not member:
                raise TypeError(f"two classes have the id {name}: {found[name]} and {member}")  # the author's doing
    return MappingProxyType(found)


@functools.cache
def _ids() -> Mapping[type, str]:
    return {member: name for name, member in registry().items()}


def _members(package: str) -> Iterator[type]:
    """Public classes of a package, then public records of the modules that they come from."""
    module = importlib.import_module(f"mercer.{package}")
    public = [getattr(module, member) for member in getattr(module, "__all__", ())]
    classes = [member for member in public if isinstance(member, type)]
    yield from classes
    if package not in _RECORDS:
        return
    for home in dict.fromkeys(member.__module__ for member in classes):
        if home.startswith("mercer."):
            for member in vars(sys.modules[home]).values():
                own = isinstance(member, type) and member.__module__ == home and member.__name__[0] != "_"
                if own and kind_of(member) == "record":
                    yield member


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
    if member in _ids():
        return _ids()[member]
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
    member = registry().get(name) or own.get(name) if isinstance(name, str) else None
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
