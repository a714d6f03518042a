"""Spec: an object whose constructor arguments are its whole state.

Kernels, Gram specifications, losses and solvers are Specs. Because nothing is hidden, such an object can be
printed, compared, cloned, changed by name and rebuilt from its text, and all of it is written once, here; so are its
free parameters, the numbers that a search may move, as one vector. theta are their unconstrained coordinates: any
vector of reals gives acceptable values.
"""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import numbers
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Floats
from mercer.errors import ParameterError

__all__ = [
    "Spec",
    "bounds",
    "chain",
    "checked_once",
    "constrained",
    "constraints_of",
    "derived",
    "free_names",
    "free_values",
    "unconstrain",
    "with_free",
    "written",
]

T = TypeVar("T")

_LONGEST_PRINTED_ARRAY = 100
_PLAIN = frozenset((float, int, str, bool, type(None)))  # what most parameters are
_CHECKED: ContextVar[dict[int, Spec] | None] = ContextVar("checked", default=None)  # by identity, and so held


class Spec:
    """An object described completely by its constructor arguments.

    A subclass writes a constructor that stores each argument under its own name, unchanged, and declares in
    ``constraints`` what each of its own may be; those of its bases are added (see `constraints_of`). Values are not
    checked before ``check``, which is called at the entry points (operators, ``fit``, ``parse``), so that any value may
    pass through a search over parameters.

    Attributes
    ----------
    constraints : mapping from parameter names to Constraint
        What each parameter of this class may be, beside those of its bases; a class attribute.

    Notes
    -----
    ``repr`` gives the first argument by its place, the others by name where they differ from their defaults,
    and ``mercer.parse(repr(s)) == s`` for arguments that are numbers, strings, tuples, lists, None, booleans
    and Specs. scikit-learn's ``clone`` copies nested Specs, those in tuples included. Specs are compared by
    value and so have no hash.

    Examples
    --------
    >>> class Tent(Spec):
    ...     def __init__(self, width, height=1.0):
    ...         self.width = width
    ...         self.height = height
    >>> Tent(2.0)
    Tent(2.0)
    >>> Tent(2.0).replace(height=3.0)
    Tent(2.0, height=3.0)
    >>> Tent(2.0) == Tent(2.0, height=1.0)
    True
    """

    constraints: ClassVar[Mapping[str, Any]] = {}  # name -> Constraint, of the module above this one
    synonyms: ClassVar[tuple[str, ...]] = ()  # other names in the literature, which the catalogue finds
    example: ClassVar[tuple[Any, ...] | None] = None  # arguments of some member, where constraints do not imply them

    def __init__(self) -> None:
        # Present so that a subclass without parameters does not inherit the constructor of a Protocol.
        pass

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Also the parameters of nested objects, as ``name__parameter``. The members of a tuple that holds
            Specs are called by their position alone: ``"0"``, ``"0__length_scale"``, ``"1"``, ...

        Returns
        -------
        params : dict
            The constructor's arguments in their order, then what is nested in them.
        """
        shallow = {name: getattr(self, name) for name in _parameters(type(self))}
        if not deep:
            return shallow
        out = dict(shallow)
        for key, value in self._parts():
            if _has_params(value):
                out[key] = value
                out.update((f"{key}__{inner}", held) for inner, held in value.get_params(deep=True).items())
        return out

    def set_params(self, **params: Any) -> Self:
        """Change parameters by the names that ``get_params`` uses; returns self.

        Nested objects are replaced by changed copies, never changed themselves: a kernel that is part of two
        others stays as it is in the second.
        """
        values = self.get_params(deep=False)
        values.update((key, value) for key, value in params.items() if key in values)
        members = _members(values)  # after the update: a whole tuple may just have been given
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, delimiter, rest = key.partition("__")
            if key in members:
                parent, place = members[key]
                values[parent] = _with_member(values[parent], place, value)
            elif delimiter and key not in values:
                nested.setdefault(name, {})[rest] = value
            elif key not in values:
                raise self._unknown(key, values, members)
        for name, inner in nested.items():
            if name in members:
                parent, place = members[name]
                values[parent] = _with_member(values[parent], place, _changed(values[parent][place], inner))
            elif name in values and _has_params(values[name]):
                values[name] = _changed(values[name], inner)
            else:
                raise self._unknown(f"{name}__{next(iter(inner))}", values, members)
        for name, value in values.items():
            setattr(self, name, value)
        if (checked := _CHECKED.get()) is not None:
            checked.pop(id(self), None)
        return self

    def replace(self, **params: Any) -> Self:
        """A copy with some parameters changed; the others are shared, not copied.

        Parameters
        ----------
        **params
            By the names that ``get_params`` uses, nested ones included.
        """
        return type(self)(**self.get_params(deep=False)).set_params(**params)

    def owned(self) -> Self:
        """A copy whose parameters nobody else can edit, arrays, lists and dicts at any depth; itself if it has none.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> lengths = np.array([1.0, 2.0])
        >>> kernel = Gaussian(lengths).owned()
        >>> lengths[:] = 7.0
        >>> kernel
        Gaussian((1.0, 2.0))
        """
        given = self.get_params(deep=False)
        own = {name: _owned(value) for name, value in given.items()}
        own = {name: value for name, value in own.items() if value is not given[name]}
        return self.replace(**own) if own else self

    def check(self) -> Self:
        """Raise ParameterError unless all parameters, nested ones included, are acceptable; return self."""
        checked = _CHECKED.get()
        if checked is not None and id(self) in checked:
            return self
        for name, constraint in constraints_of(type(self)).items():
            constraint.check(name, getattr(self, name), self)
        for name in _parameters(type(self)):
            value = getattr(self, name)
            if type(value) not in _PLAIN:
                for spec in _specs_in(value):
                    spec.check()
        if checked is not None:
            checked[id(self)] = self
        return self

    def __repr__(self) -> str:
        named = _parameters(type(self)).items()
        return written(self, always=[name for name, one in list(named)[:1] if one.kind is not one.KEYWORD_ONLY])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in _parameters(type(self)))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (compared by value, and mutable through set_params)

    def _parts(self) -> list[tuple[str, Any]]:
        """Parameters with their names in the constructor's order, a tuple that holds Specs as its members."""
        shallow = self.get_params(deep=False)
        members = _members(shallow)
        parents = {parent for parent, _ in members.values()}
        parts: list[tuple[str, Any]] = []
        for name, value in shallow.items():
            if name in parents:
                parts += [(key, value[place]) for key, (parent, place) in members.items() if parent == name]
            else:
                parts.append((name, value))
        return parts

    def _children(self) -> list[tuple[str, Spec]]:
        """Nested Specs with their names, in the constructor's order, tuples flattened."""
        if all(type(getattr(self, name)) in _PLAIN for name in _parameters(type(self))):
            return []
        return [(key, value) for key, value in self._parts() if isinstance(value, Spec)]

    def _unknown(self, key: str, values: Mapping[str, Any], members: Mapping[str, Any]) -> ParameterError:
        known = [*values, *members]
        near = difflib.get_close_matches(key, known, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "See get_params() for the nested names."
        accepted = ", ".join(known) if known else "none"
        return ParameterError(
            f"{type(self).__name__} was given a parameter {key!r}; its parameters are: {accepted}. {advice}"
        )


def derived(method: Callable[[Any], T]) -> T:
    """Return a property that takes the place of a constant of the class.

    Most classes state a fact about themselves (``order = 0``), a few derive it from their parameters. To a type checker
    both are a number; a plain property would be something other than the constant it replaces.

    Examples
    --------
    >>> class Stated:
    ...     order = 0
    >>> class Derived(Stated):
    ...     @derived
    ...     def order(self):
    ...         return 1
    >>> Stated().order, Derived().order
    (0, 1)
    """
    return cast(T, property(method))


@contextmanager
def checked_once() -> Iterator[None]:
    """Check each Spec once: inside, `Spec.check` knows those that it has accepted, and does not check them again.

    A fit has several entry points (its own, those of the Gram and of the solver), each of which checks what it is
    given. What is created on the way is checked, and so is what ``set_params`` has changed.

    Examples
    --------
    >>> with checked_once():
    ...     _ = Spec().check().check()
    """
    if _CHECKED.get() is not None:  # inside another
        yield
        return
    token = _CHECKED.set({})
    try:
        yield
    finally:
        _CHECKED.reset(token)


@functools.cache
def constraints_of(cls: type) -> Mapping[str, Any]:
    """Constraints of a class by parameter, in the constructor's order; those of its bases included.

    Each class declares in ``constraints`` what it adds to its bases, or what it changes in them. A parameter that
    the constructor does not take has none, whatever a base declares.

    Parameters
    ----------
    cls : type
        A Spec, or an estimator.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> constraints_of(Gaussian)["length_scale"].accepts(-1.0)
    False
    """
    merged: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        merged.update(vars(base).get("constraints", {}))
    return {name: merged[name] for name in inspect.signature(cls.__init__).parameters if name in merged}


def written(thing: Any, always: Collection[str] = (), shown: Mapping[str, str] | None = None) -> str:
    """Return a Spec or an estimator as text: the call of its class with the arguments that differ from their defaults.

    The first argument is written by its place, the others by name. ``mercer.parse`` reads the text.

    Parameters
    ----------
    thing : Spec or estimator
    always : collection of str
        Arguments that are written even if they have their default values.
    shown : mapping from str to str, optional
        What is written for some arguments instead of their values.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> written(KernelRidge(Gaussian(2.0), alpha=0.1))
    'KernelRidge(Gaussian(2.0), alpha=0.1)'
    >>> written(KernelRidge(Gaussian(2.0)), always=["alpha"], shown={"kernel": "kernel"})
    'KernelRidge(kernel, alpha=None)'
    """
    parts: list[str] = []
    for place, (name, parameter) in enumerate(_parameters(type(thing)).items()):
        value, required = getattr(thing, name), parameter.default is parameter.empty
        if not required and name not in always and _same(value, parameter.default):
            continue
        text = shown[name] if shown is not None and name in shown else _text(value)
        by_place = (place == 0 or required) and parameter.kind is not parameter.KEYWORD_ONLY
        parts.append(text if by_place else f"{name}={text}")
    return f"{type(thing).__name__}({', '.join(parts)})"


@functools.cache
def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Constructor parameters of a Spec class by name, in order."""
    parameters = dict(inspect.signature(cls.__init__).parameters)
    parameters.pop("self", None)
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            # The author of the class is at fault, not the user, hence no ParameterError.
            raise TypeError(
                f"{cls.__name__}.__init__ has the variable argument {name!r}; a Spec has named arguments "
                "only. Take a tuple instead."
            )
    return parameters


def _members(values: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Name of each Spec inside a tuple -> (parameter, place); the count runs on from tuple to tuple."""
    found: dict[str, tuple[str, int]] = {}
    before = 0
    for name, value in values.items():
        if type(value) in (tuple, list) and any(isinstance(member, Spec) for member in value):
            for place, member in enumerate(value):
                if isinstance(member, Spec):
                    found[str(before + place)] = (name, place)
            before += len(value)
    return found


def _has_params(value: object) -> bool:
    """Whether value is an object with parameters of its own: a Spec, or a scikit-learn transformer."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def _with_member(sequence: tuple[Any, ...] | list[Any], place: int, value: Any) -> tuple[Any, ...] | list[Any]:
    return type(sequence)([*sequence[:place], value, *sequence[place + 1 :]])


def _changed(value: Any, params: dict[str, Any]) -> Any:
    return value.replace(**params) if isinstance(value, Spec) else copy.copy(value).set_params(**params)


def _owned(value: Any) -> Any:
    """What can be edited in place, copied with all that it holds; anything else as it is."""
    if isinstance(value, Spec):
        return value.owned()
    if isinstance(value, np.ndarray) or hasattr(value, "nnz"):
        return value.copy()
    if isinstance(value, dict):
        return {key: _owned(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_owned(member) for member in value]
    if type(value) is tuple:
        own = tuple(map(_owned, value))
        return value if all(a is b for a, b in zip(own, value, strict=True)) else own
    return value


def _specs_in(value: Any) -> Iterator[Spec]:
    """Specs that are value or are in it, however deep the tuples."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, (tuple, list)):
        for member in value:
            yield from _specs_in(member)


def _same(a: Any, b: Any) -> bool:
    """Equality of parameters: by value; a tuple may equal an array; True is not 1."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not all(isinstance(value, (np.ndarray, tuple, list)) for value in (a, b)):
            return False
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, (bool, np.bool_)) != isinstance(b, (bool, np.bool_)):
        return False
    if hasattr(a, "nnz") or hasattr(b, "nnz"):  # sparse matrices
        return type(a) is type(b) and a.shape == b.shape and (a != b).nnz == 0
    equal = a == b
    if isinstance(equal, (bool, np.bool_)):
        return bool(equal)
    # Tables compare entry by entry and answer with a table.
    return type(a) is type(b) and a.shape == b.shape and bool(np.all(np.asarray(equal)))


def _text(value: Any) -> str:
    """A parameter as mercer.parse reads it, wherever it can be read at all."""
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, np.generic):
        return repr(float(value) if isinstance(value, np.floating) else value.item())
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.size <= _LONGEST_PRINTED_ARRAY:
            return _text(tuple(value))
        return f"<array of shape {value.shape}, {value.dtype}>"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if type(value) is list:
        return f"[{', '.join(map(_text, value))}]"
    if inspect.isroutine(value) or isinstance(value, type):
        return f"<{value.__qualname__}>"
    return repr(value)


# free parameters: the real numbers of a Spec that a search may move, as one vector -----------------------

S = TypeVar("S", bound="Spec")


class _Free(NamedTuple):
    """A free parameter somewhere in a tree of Specs: its name from the root, its value, where it may move."""

    name: str
    value: Any
    interval: Any  # of `mercer.constraints`

    @property
    def entries(self) -> Floats:
        return np.asarray(self.value, dtype=np.float64).reshape(-1)

    def holding(self, entries: Floats) -> Any:
        """Entries in the same container as the present value."""
        if isinstance(self.value, np.ndarray):
            return entries.copy().reshape(self.value.shape)
        if isinstance(self.value, (tuple, list)):
            first = self.value[0]
            if isinstance(first, (tuple, list)):
                return type(self.value)(type(first)(row) for row in entries.reshape(len(self.value), -1).tolist())
            return type(self.value)(entries.tolist())
        return float(entries[0])


def free_names(spec: Spec) -> tuple[str, ...]:
    """Names of the p free parameters as in ``get_params``; entries of a vector are ``length_scale[2]``."""
    names: list[str] = []
    for free in _walk(spec):
        one = isinstance(free.value, numbers.Real)
        names += [free.name] if one else [f"{free.name}[{i}]" for i in range(len(free.entries))]
    return tuple(names)


def free_values(spec: Spec) -> Floats:
    """Raw values of the free parameters, (p,)."""
    return _joined([free.entries for free in _walk(spec)])


def with_free(spec: S, values: ArrayLike) -> S:
    """A new Spec with these raw values, (p,), of the free parameters."""
    return _rebuilt(spec, _pieces(spec, values))


def unconstrain(spec: Spec) -> Floats:
    """Unconstrained coordinates theta of the free parameters, (p,)."""
    return _joined([free.interval.unconstrain(free.entries) for free in _walk(spec)])


def constrained(spec: S, theta: ArrayLike) -> S:
    """A new Spec with these unconstrained coordinates, (p,); it is acceptable whatever theta is."""
    return _rebuilt(spec, [(free, free.interval.constrain(part)) for free, part in _pieces(spec, theta)])


def chain(spec: Spec, gradient: ArrayLike) -> Floats:
    """Derivative in theta, (p,), from the derivative in the raw values, (p,), at the values of this Spec."""
    return _joined([part * free.interval.slope(free.entries) for free, part in _pieces(spec, gradient)])


def bounds(spec: Spec) -> list[tuple[float, float]]:
    """The p pairs of ends of the raw values as declared; an end that is open is not itself acceptable."""
    return [(free.interval.low, free.interval.high) for free in _walk(spec) for _ in free.entries]


def _walk(spec: Spec, prefix: str = "") -> Iterator[_Free]:
    declared = constraints_of(type(spec))
    for key, value in spec._parts():
        constraint = declared.get(key)
        interval = constraint.mover(value) if constraint is not None else None
        if interval is not None:
            yield _Free(prefix + key, value, interval)
        elif isinstance(value, Spec):
            yield from _walk(value, f"{prefix}{key}__")


def _pieces(spec: Spec, vector: ArrayLike) -> list[tuple[_Free, Floats]]:
    """The free parameters, each with its part of a vector."""
    frees = list(_walk(spec))
    ends = np.cumsum([free.entries.size for free in frees], dtype=np.intp)
    whole = np.asarray(vector, dtype=np.float64)
    if whole.shape != ((ends[-1],) if frees else (0,)):
        raise ParameterError(
            f"An array of shape {whole.shape} was given for the free parameters of {type(spec).__name__}; "
            f"they are {len(free_names(spec))}. Give one number for each of free_names(spec)."
        )
    return list(zip(frees, np.split(whole, ends[:-1]), strict=True)) if frees else []


def _rebuilt(spec: S, pieces: list[tuple[_Free, Floats]]) -> S:
    return spec.replace(**{free.name: free.holding(part) for free, part in pieces})


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0)
