"""The catalogue: what mercer offers, read from the classes themselves.

A row of it is made from a class: its name, the first sentence of its docstring, its formula, its constructor
and what it declares. Nothing is registered, so a new class is listed as soon as its package exports it. The
command line and the documentation print these rows.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mercer.errors import ParameterError
from mercer.spec import constraints_of

__all__ = [
    "Entry",
    "KernelEntry",
    "Parameter",
    "all_estimators",
    "all_kernels",
    "estimators",
    "grams",
    "kernels",
    "losses",
    "named",
    "solvers",
    "synonyms",
]

PROPERTIES = ("strict", "universal", "stationary", "normalised", "bounded")
CAPABILITIES = ("features", "frequencies", "pullback", "pullback_inputs")


@dataclass(frozen=True)
class Parameter:
    """One argument of a constructor.

    Attributes
    ----------
    name : str
    default : str or None
        As it is written; None if the argument must be given.
    accepts : str
        The acceptable values in words; empty if none are declared.
    """

    name: str
    default: str | None
    accepts: str

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class Entry:
    """One row of the catalogue.

    Attributes
    ----------
    name, family : str
        The class, and the module that holds it.
    summary : str
        First sentence of the docstring.
    formula : str
        LaTeX; may be empty.
    seed : str
        Where it comes from; may be empty.
    parameters : tuple of Parameter
    cls : type
        The class itself.
    offers : mapping from str to bool or None
        What the class can do; None where it depends on its parameters.
    """

    name: str
    family: str
    summary: str
    formula: str
    seed: str
    parameters: tuple[Parameter, ...]
    cls: type
    offers: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """How it is written: its name and its arguments with their defaults."""
        return f"{self.name}({', '.join(map(str, self.parameters))})"


@dataclass(frozen=True)
class KernelEntry(Entry):
    """A row of a kernel.

    Attributes
    ----------
    domain : str
        What it compares; "any" where this follows from its parameters.
    validity : str
        Positive definite, conditionally so, indefinite, or dependent on its parameters.
    properties : mapping from str to bool or None
        strict, universal, stationary, normalised, bounded; None where it depends on the parameters.
    cost : str
        Of a block of m times n values.
    """

    domain: str = ""
    validity: str = ""
    properties: Mapping[str, bool | None] = field(default_factory=dict)
    cost: str = ""


@cache
def kernels() -> tuple[KernelEntry, ...]:
    """Return one row per public kernel, by name.

    Examples
    --------
    >>> [row.domain for row in kernels() if row.name == "Spectrum"]
    ['Strings']
    """
    return tuple(_kernel(cls) for cls in _public("kernels"))


@cache
def losses() -> tuple[Entry, ...]:
    """Return one row per public loss."""
    names = {"derivative": "gradient", "curvature": "curvature", "box dual": "box_dual"}
    return tuple(
        _entry(cls, {word: hasattr(cls, method) for word, method in names.items()}) for cls in _public("losses")
    )


@cache
def grams() -> tuple[Entry, ...]:
    """Return one row per public way to hold K, with what its operator offers.

    Examples
    --------
    >>> {row.name: row.offers["factor"] for row in grams()}["Features"]
    True
    """
    base = importlib.import_module("mercer.gram")
    asked = {"products": "__matmul__", "rows": "rows", "factor": "factor", "eigenvalues": "eigh"}
    rows = []
    for cls in _public("gram", base.GramSpec):
        rows.append(_entry(cls, {word: _offered(cls, [name], base.Gram) for word, name in asked.items()}))
    return tuple(rows)


@cache
def solvers() -> tuple[Entry, ...]:
    """Return one row per public solver; `offers` says with which ways to hold K it works."""
    base = importlib.import_module("mercer.gram")
    specs = _public("gram", base.GramSpec)
    rows = []
    for cls in _public("solvers"):
        wanted = [name for protocol in cls.needs for name in _methods(protocol)]
        rows.append(_entry(cls, {spec.__name__: _offered(spec, wanted, base.Gram) for spec in specs}))
    return tuple(rows)


@cache
def estimators() -> tuple[Entry, ...]:
    """Return one row per public estimator; `offers` names the methods that users call after fit."""
    verbs = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
    found = [cls for cls in _public("estimators") if hasattr(cls, "fit")]
    return tuple(_entry(cls, {verb: hasattr(cls, verb) for verb in verbs}) for cls in found)


def all_estimators() -> list[tuple[str, type]]:
    """Return the name and the class of every estimator, by name, as scikit-learn's function of this name does.

    Examples
    --------
    >>> dict(all_estimators())["SVC"].__module__
    'mercer.estimators.svm.svc'
    """
    return [(row.name, row.cls) for row in estimators()]


def all_kernels(domain: str | None = None) -> list[tuple[str, type]]:
    """Return the name and the class of every kernel, by name.

    Parameters
    ----------
    domain : str, optional
        Only kernels on such objects: "Vectors", "Strings", "Graphs", ... ; the letter case does not matter.

    Examples
    --------
    >>> [name for name, _ in all_kernels("texts")][:2]
    ['BagOfWords', 'Semantic']
    """
    known = sorted({row.domain for row in kernels()})
    if domain is not None and domain.lower() not in {name.lower() for name in known}:
        raise ParameterError(
            f"domain={domain!r} was given, and no kernel is on such objects; accepted are {', '.join(known)}. "
            "Use one of these, or None for all."
        )
    return [(row.name, row.cls) for row in kernels() if domain is None or row.domain.lower() == domain.lower()]


def named(name: str) -> Entry | None:
    """Return the row of a class by its name or by a synonym, ignoring case; None if there is none.

    Examples
    --------
    >>> named("rbf").name
    'Gaussian'
    """
    others = {other.lower(): own for other, own in synonyms().items()}
    wanted = others.get(name.lower(), name).lower()
    return next((row for row in _all() if row.name.lower() == wanted), None)


def synonyms() -> dict[str, str]:
    """Return other names in the literature, and the class of mercer that each stands for, by name.

    A class lists them in ``synonyms``; mercer has one name for each concept.

    Examples
    --------
    >>> synonyms()["RBF"]
    'Gaussian'
    """
    pairs = ((other, row.name) for row in _all() for other in vars(row.cls).get("synonyms", ()))
    return dict(sorted(pairs, key=lambda pair: pair[0].lower()))


def _all() -> tuple[Entry, ...]:
    return (*kernels(), *losses(), *grams(), *solvers(), *estimators())


# from a class to its row ------------------------------------------------------------------------------


def _public(package: str, base: type = object) -> list[type]:
    """Return the concrete public classes of a package, by name; none if there is no such package."""
    if importlib.util.find_spec(f"mercer.{package}") is None:
        return []
    module = importlib.import_module(f"mercer.{package}")
    found = (getattr(module, name) for name in module.__all__)
    kept = [
        cls
        for cls in found
        if isinstance(cls, type)
        and issubclass(cls, base)
        and hasattr(cls, "get_params")
        and not inspect.isabstract(cls)
    ]
    return sorted(kept, key=lambda cls: cls.__name__)


def _kernel(cls: Any) -> KernelEntry:
    domain = inspect.getattr_static(cls, "domain", None)
    open_ended = _varies(cls, "capabilities", own=True)
    written = {name: hasattr(cls, name) for name in CAPABILITIES}
    offers = {name: None if has and open_ended else has for name, has in written.items()}
    row = _entry(cls, offers)
    return KernelEntry(
        **{name: getattr(row, name) for name in Entry.__dataclass_fields__},
        domain=domain.__name__ if isinstance(domain, type) else "any",
        validity=_validity(cls),
        properties={name: None if _varies(cls, name) else bool(getattr(cls, name)) for name in PROPERTIES},
        cost=cls.cost,
    )


def _validity(cls: Any) -> str:
    if _varies(cls, "order"):
        return "depends on its parameters"
    if cls.order is None:
        return "indefinite"
    return "positive definite" if cls.order == 0 else f"conditionally positive definite of order {cls.order}"


def _varies(cls: type, name: str, own: bool = False) -> bool:
    """Whether an attribute is known of an instance only: a property, or an argument of the constructor."""
    if own:  # a property of the base class too, but one that depends on the class alone
        base = importlib.import_module("mercer.kernels").Kernel
        return inspect.getattr_static(cls, name) is not inspect.getattr_static(base, name)
    return isinstance(inspect.getattr_static(cls, name), property) or name in _arguments(cls)


def _entry(cls: type, offers: Mapping[str, bool | None]) -> Entry:
    text = inspect.getdoc(cls) or ""
    return Entry(
        name=cls.__name__,
        family=cls.__module__.rpartition(".")[2],
        summary=" ".join(text.partition("\n\n")[0].split()),
        formula=getattr(cls, "formula", "") or _formula(text),
        seed=seed_of(text),
        parameters=tuple(_parameters(cls)),
        cls=cls,
        offers=dict(offers),
    )


def seed_of(text: str) -> str:
    r"""Return the Seed paragraph of a docstring without its last part, which names the row of a list.

    Examples
    --------
    >>> seed_of("Kernel.\n\nSeed: [HSS] Eq. (30).")
    '[HSS] Eq. (30).'
    """
    found = re.search(r"^\s*Seed:(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _formula(text: str) -> str:
    """Return what follows the first ``.. math::`` of a docstring."""
    found = re.search(r"\.\. math::(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _arguments(cls: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls).parameters


def _parameters(cls: Any) -> Iterator[Parameter]:
    declared = constraints_of(cls)
    for name, argument in _arguments(cls).items():
        default = None if argument.default is inspect.Parameter.empty else repr(argument.default)
        yield Parameter(name, default, declared[name].accepted if name in declared else "")


def _offered(spec: Any, names: list[str], unknown: type) -> bool | None:
    """Return whether all that a Gram specification builds, as its `build` says, has these methods; None if some has.

    An operator known only by its base class is chosen later, and may offer more.
    """
    built = typing.get_type_hints(spec.build)["return"]
    found = {
        all(hasattr(operator, name) for name in names) or (None if operator is unknown else False)
        for operator in typing.get_args(built) or (built,)
    }
    return found.pop() if len(found) == 1 else None


def _methods(protocol: type) -> list[str]:
    """Return the methods that a protocol asks for."""
    own = vars(protocol)
    return [name for name, member in own.items() if inspect.isfunction(member) and name not in _OF_EVERY_PROTOCOL]


_OF_EVERY_PROTOCOL = ("__init__", "_no_init_or_replace_init", "__subclasshook__", "_proto_hook")
