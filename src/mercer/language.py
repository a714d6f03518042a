"""The language of mercer: what ``repr`` prints, ``parse`` reads.

A grammar of its own over a list of allowed names; nothing is evaluated by Python. Precedence is Python's::

    sum       = product { "+" product }
    product   = factor { "*" factor }
    factor    = ( "-" | "+" ) factor | power
    power     = postfix [ "**" factor ]
    postfix   = atom { "." method "(" arguments ")" }
    atom      = number | string | "None" | "True" | "False" | "inf" | class "(" arguments ")"
              | "(" sum ")" | "(" [ sum "," { sum "," } [ sum ] ] ")" | "[" { sum "," } [ sum ] "]"
    arguments = { sum "," } { name "=" sum "," }          (the last comma may be left out)

A text goes through three steps: words, a tree, objects. Its length is checked before the first, the number of nodes and
the depth of the tree in the second; no object is made before the whole text is understood.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import operator
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

from mercer.errors import ParameterError
from mercer.export_map import EXPORTS
from mercer.spec import Spec

__all__ = ["parse"]

LONGEST_TEXT = 4096
MOST_NODES = 200
DEEPEST = 50
PACKAGES = (
    "kernels",
    "models",
    "gram",
    "losses",
    "mixtures",
    "solvers",
    "hilbert.regularizers",
    "hilbert.spectral_penalties",
    "preimages",
    "estimators",
)
METHODS = ("normalized", "on", "tensor", "direct_sum", "exp")

_CONSTANTS = {"None": None, "True": True, "False": False, "inf": float("inf")}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "*": operator.mul, "**": operator.pow}


def parse(text: str, names: Mapping[str, type] | None = None) -> Any:
    """The kernel, Gram specification, loss, solver or estimator that a text describes.

    Parameters
    ----------
    text : str
        A Python-like expression: classes of mercer with their arguments (numbers, strings, tuples, lists,
        None, True, False and other such objects), the operators ``+ * **`` and the methods ``.normalized()
        .on(columns) .tensor(kernel) .direct_sum(kernel) .exp()``. At most 4096 characters, 200 nodes and a
        depth of 50.
    names : mapping from str to class, optional
        Your own classes, by the names they have in the text.

    Returns
    -------
    described : Spec or estimator
        Its parameters have been checked.

    Raises
    ------
    ParameterError
        If the text is not understood or a parameter is not acceptable, with the place.

    Notes
    -----
    ``parse(repr(k)) == k``. Only listed classes are called, with what the text says: an untrusted text reaches
    no other function, attribute, module or file.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> parse("0.5 * Gaussian(2.0) + Linear()") == 0.5 * Gaussian(2.0) + Linear()
    True
    """
    return _parse(text, ChainMap(dict(_own_names(names or {})), cast(Any, _registry())))


def _parse(text: str, registry: Mapping[str, type]) -> Any:
    if not isinstance(text, str):
        raise ParameterError(f"parse was given {text!r:.40}; it reads a string. Write parse('Gaussian(2.0)').")
    if len(text) > LONGEST_TEXT:
        raise ParameterError(
            f"A text of {len(text)} characters was given; at most {LONGEST_TEXT} are read. "
            "Give long lists of numbers as arrays, in Python or in a model file."
        )
    tree = _Reader(text).read()
    if isinstance(tree, (_Value, _Row)):
        raise _error(text, tree.at, "A plain value", "a kernel or another object", "Name a class: Gaussian(2.0).")
    return _Builder(text, registry).build(tree)


def _error(text: str, at: int, found: str, accepted: str, remedy: str) -> ParameterError:
    return ParameterError(f"{found} was found; accepted here: {accepted}. {remedy}{_mark(text, at)}")


def _mark(text: str, at: int) -> str:
    """The surroundings of a place in a text, and a caret below it."""
    start = max(0, at - 60)
    line = "".join(c if c.isprintable() else " " for c in text[start : at + 40])
    return f"\n    {line}\n    {' ' * (at - start)}^"


def _nearest(name: str, known: Collection[str], otherwise: str) -> str:
    maps = known.maps if isinstance(known, ChainMap) else [known]
    # a registry knows the names of its classes; none has to be imported to compare them
    names = [other for part in maps for other in (part.homes if isinstance(part, _Registry) else part)]
    near = [other for other in difflib.get_close_matches(name, names, n=3, cutoff=0.5) if other in known]
    return f"Did you mean {near[0]}?" if near else otherwise


# names ------------------------------------------------------------------------------------------------


class _Registry(Mapping[str, type]):
    """Public classes of mercer that their parameters describe, by name; one is imported when it is used."""

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}
        for place in PACKAGES:
            for home, names in EXPORTS[f"mercer.{place.partition('.')[0]}"].items():
                if f"{home}.".startswith(f"mercer.{place}."):
                    self.homes |= dict.fromkeys(names, home)

    def __getitem__(self, name: str) -> type:
        member = getattr(importlib.import_module(self.homes[name]), name)
        if isinstance(member, type) and hasattr(member, "get_params") and not inspect.isabstract(member):
            return member
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.homes if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@functools.cache
def _registry() -> Mapping[str, type]:
    return _Registry()


def _own_names(names: Mapping[str, type]) -> Mapping[str, type]:
    for name, member in names.items():
        if not isinstance(member, type):
            raise ParameterError(
                f"names[{name!r}] is a {type(member).__name__}; names maps to classes. Give the class itself."
            )
    return names


# words ------------------------------------------------------------------------------------------------


class _Word(NamedTuple):
    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "The end of the text" if self.kind == "end" else repr(self.text)


_WORDS = re.compile(
    r"""
    (?P<space>  [ \t\r\n]+ )
  | (?P<number> (?: [0-9]+(?:_[0-9]+)* (?: \. (?: [0-9]+(?:_[0-9]+)* )? )? | \. [0-9]+(?:_[0-9]+)* )
                (?: [eE] [+-]? [0-9]+ )? (?! \w ) )
  | (?P<name>   [^\W\d]\w* )
  | (?P<string> ' (?: [^'\\\n] | \\. )* ' | " (?: [^"\\\n] | \\. )* " )
  | (?P<sign>   \*\* | [-+*()\[\],=.] )
    """,
    re.VERBOSE,
)
_ESCAPES = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_LETTERS = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r"}


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    at = 0
    while at < len(text):
        match = _WORDS.match(text, at)
        if match is None:
            raise _unreadable(text, at)
        if match.lastgroup != "space":
            words.append(_Word(str(match.lastgroup), match.group(), at))
        at = match.end()
    return [*words, _Word("end", "", len(text))]


def _unreadable(text: str, at: int) -> ParameterError:
    character = text[at]
    if character in "'\"":
        return _error(text, at, "A string without an end", "a string on one line", "Close the quotes.")
    if character.isdigit():
        return _error(text, at, "A number that is not one", "3, 0.5 or 1e-3", "Write it in one of these ways.")
    if character == "/":
        return _error(text, at, "'/'", "+, * or **", "Multiply by the inverse: 0.5 * k.")
    return _error(text, at, repr(character), "a name, a number, a string or an operator", "Leave it out.")


def _number(word: _Word, text: str) -> float | int:
    digits = word.text.replace("_", "")
    # Python may be set to refuse long integers; beyond 300 digits they are infinite or nearly so anyway.
    value = int(digits) if digits.isdigit() and len(digits) <= 300 else float(digits)
    if value == float("inf"):
        raise _error(text, word.at, "A number beyond the largest", "a finite one", "Write inf if it is meant.")
    return value


def _string(word: _Word, text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code is not None and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if code is None and match[4] in _LETTERS:
            return _LETTERS[match[4]]
        at = word.at + 1 + match.start()
        accepted = r"\\, \', \", \n, \t, \r, \xhh, \uhhhh or \Uhhhhhhhh"
        raise _error(text, at, match[0], accepted, "Write a backslash as two.")

    return _ESCAPES.sub(plain, word.text[1:-1])


# tree -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    at: int
    value: Any


@dataclass(frozen=True)
class _Row:
    at: int
    kind: Callable[[Iterable[Any]], Any]  # tuple or list
    items: list[_Node]


@dataclass(frozen=True)
class _Call:
    at: int
    name: str
    subject: _Node | None = None  # what a method is called on; None for a class
    positional: list[_Node] = field(default_factory=list)
    keywords: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True)
class _Operation:
    at: int
    sign: str
    left: _Node
    right: _Node


_Node: TypeAlias = _Value | _Row | _Call | _Operation


class _Reader:
    """Words into a tree, by recursive descent: one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _words(text)
        self.place = 0
        self.nodes = 0

    @property
    def word(self) -> _Word:
        return self.words[self.place]

    def read(self) -> _Node:
        tree = self.sum(0)
        if self.word.kind != "end":
            raise self.unexpected("+, *, ** or the end of the text")
        return tree

    def sum(self, depth: int) -> _Node:
        node = self.product(depth)
        while at := self.sign("+"):
            node = self.counted(_Operation(at.at, "+", node, self.product(depth)))
        return node

    def product(self, depth: int) -> _Node:
        node = self.factor(depth)
        while at := self.sign("*"):
            node = self.counted(_Operation(at.at, "*", node, self.factor(depth)))
        return node

    def factor(self, depth: int) -> _Node:
        if not (sign := self.sign("-", "+")):
            return self.power(depth)
        inner = self.factor(self.deeper(depth))
        if not isinstance(inner, _Value) or not _is_number(inner.value):
            raise _error(self.text, sign.at, f"A sign {sign}", "a sign before a number only", "Leave it out.")
        return _Value(sign.at, -inner.value if sign.text == "-" else inner.value)

    def power(self, depth: int) -> _Node:
        base = self.postfix(depth)
        if not (sign := self.sign("**")):
            return base
        return self.counted(_Operation(sign.at, "**", base, self.factor(self.deeper(depth))))

    def postfix(self, depth: int) -> _Node:
        node = self.atom(depth)
        while self.sign("."):
            name = self.word
            if name.kind != "name" or name.text not in METHODS:
                accepted = ", ".join(f".{method}()" for method in METHODS)
                raise _error(self.text, name.at, str(name), accepted, _nearest(name.text, METHODS, "Use one of these."))
            self.place += 1
            depth = self.deeper(depth)
            node = self.arguments(_Call(name.at, name.text, node), depth)
        return node

    def atom(self, depth: int) -> _Node:
        word = self.word
        if opening := self.sign("(", "["):
            return self.bracket(opening, self.deeper(depth))
        if word.kind not in ("number", "string", "name"):
            raise self.unexpected("a number, a string, a class with its arguments, '(' or '['")
        self.place += 1
        if word.kind == "number":
            return self.counted(_Value(word.at, _number(word, self.text)))
        if word.kind == "string":
            return self.counted(_Value(word.at, _string(word, self.text)))
        if word.text in _CONSTANTS:
            return self.counted(_Value(word.at, _CONSTANTS[word.text]))
        return self.arguments(_Call(word.at, word.text), self.deeper(depth))

    def bracket(self, opening: _Word, depth: int) -> _Node:
        """A list, a tuple, or what is in parentheses."""
        closing = ")" if opening.text == "(" else "]"
        items: list[_Node] = []
        comma = None
        while not self.sign(closing):
            items.append(self.sum(depth))
            comma = self.sign(",")
            if not comma and self.word.text != closing:
                raise self.unexpected(f"',' or {closing!r}")
        if closing == ")" and len(items) == 1 and not comma:
            return items[0]
        return self.counted(_Row(opening.at, tuple if closing == ")" else list, items))

    def arguments(self, call: _Call, depth: int) -> _Node:
        """A call with its arguments filled in."""
        if not self.sign("("):
            remedy = f"Write {call.name}(...), or {call.name!r} with quotes if a string is meant."
            raise _error(self.text, self.word.at, str(self.word), f"'(' after {call.name}", remedy)
        while not self.sign(")"):
            name = self.word
            if name.kind == "name" and self.words[self.place + 1].text == "=":
                self.place += 2
                if name.text in call.keywords:
                    raise _error(self.text, name.at, f"A second {name.text}=", "another name", "Leave one out.")
                call.keywords[name.text] = self.sum(depth)
            elif call.keywords:
                raise _error(self.text, name.at, str(name), "name=value or ')'", "Give unnamed arguments first.")
            else:
                call.positional.append(self.sum(depth))
            if not self.sign(",") and self.word.text != ")":
                raise self.unexpected("',' or ')'")
        return self.counted(call)

    def sign(self, *signs: str) -> _Word | None:
        """Step over one of these signs and return it; None, and no step, if another word is here."""
        word = self.word
        if word.kind != "sign" or word.text not in signs:
            return None
        self.place += 1
        return word

    def counted(self, node: _Node) -> _Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise _error(
                self.text,
                node.at,
                f"Node {MOST_NODES + 1}",
                f"at most {MOST_NODES}",
                "Give long lists as arrays.",
            )
        return node

    def deeper(self, depth: int) -> int:
        if depth >= DEEPEST:
            raise _error(self.text, self.word.at, f"Depth {depth + 1}", f"at most {DEEPEST}", "Use fewer brackets.")
        return depth + 1

    def unexpected(self, accepted: str) -> ParameterError:
        remedy = "Correct the text at the mark."
        if self.word.text == "-":
            remedy = "Kernels are not subtracted: a difference need not be positive definite. Write a sum."
        return _error(self.text, self.word.at, str(self.word), accepted, remedy)


# objects ----------------------------------------------------------------------------------------------


class _Builder:
    """A tree into objects: listed classes, listed methods, three operators."""

    def __init__(self, text: str, registry: Mapping[str, type]) -> None:
        self.text = text
        self.registry = registry

    def build(self, node: _Node) -> Any:
        match node:
            case _Value():
                return node.value
            case _Row():
                return node.kind([self.build(item) for item in node.items])
            case _Operation():
                return self.operation(node, self.build(node.left), self.build(node.right))
            case _Call():
                made_by = self.maker(node)
                positional = [self.build(item) for item in node.positional]
                keywords = {name: self.build(item) for name, item in node.keywords.items()}
                self.check_arguments(node, made_by, positional, keywords)
                return self.checked(node.at, lambda: made_by(*positional, **keywords))

    def maker(self, node: _Call) -> Callable[..., Any]:
        """The class or the method that a call names."""
        if node.subject is not None:
            subject = self.build(node.subject)
            if not isinstance(subject, Spec) or not hasattr(type(subject), node.name):
                found = f".{node.name}() of a {type(subject).__name__}"
                raise _error(self.text, node.at, found, "a method of a kernel", "Put it after a kernel.")
            return getattr(subject, node.name)
        if node.name not in self.registry:
            remedy = _nearest(node.name, self.registry, "Give classes of your own by names={...}.")
            accepted = f"the classes of mercer.{', '.join(PACKAGES)}"
            raise _error(self.text, node.at, repr(node.name), accepted, remedy)
        return self.registry[node.name]

    def operation(self, node: _Operation, left: Any, right: Any) -> Any:
        both = (left, right)
        fit = all(isinstance(side, Spec) or _is_number(side) for side in both)
        if not fit or not any(isinstance(side, Spec) for side in both):
            found = f"{type(left).__name__} {node.sign} {type(right).__name__}"
            accepted = "kernel + kernel, kernel * kernel, number * kernel or kernel ** integer"
            raise _error(self.text, node.at, found, accepted, "Write one of these.")
        return self.checked(node.at, lambda: _OPERATORS[node.sign](left, right))

    def check_arguments(
        self, node: _Call, made_by: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]
    ) -> None:
        signature = self.checked(node.at, lambda: inspect.signature(made_by))
        try:
            signature.bind(*positional, **keywords)
        except TypeError as error:
            known = list(signature.parameters)
            unknown = [name for name in keywords if name not in known]
            wrong = f"an argument {unknown[0]!r}" if unknown else f"the wrong arguments ({error})"
            otherwise = f"Write {node.name}({', '.join(known)})."
            raise ParameterError(
                f"{node.name} was given {wrong}; its arguments are: {', '.join(known) or 'none'}. "
                + (_nearest(unknown[0], known, otherwise) if unknown else otherwise)
                + _mark(self.text, node.at)
            ) from None

    def checked(self, at: int, make: Callable[[], Any]) -> Any:
        """What make returns, with its parameters checked; errors give the place in the text."""
        try:
            made = make()
            check = getattr(made, "check", None)
            if callable(check):
                check()
        except Exception as error:  # whatever a constructor or operator refuses, it is the text that is wrong
            raise ParameterError(f"{error}{_mark(self.text, at)}") from error
        return made


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
