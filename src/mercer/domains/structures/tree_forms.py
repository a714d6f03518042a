"""The forms in which trees come: brackets, nested tuples, XML, JSON, Python source.

Each form is one function that opens and closes the nodes of a `Planting`. None recurses, so that depth costs no more
than length.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any
from xml.parsers import expat

from mercer.domains.samples import kind_of

__all__ = [
    "Malformed",
    "Planting",
    "parse_json",
    "plant_ast",
    "plant_json",
    "plant_nested",
    "plant_penn",
    "plant_xml",
]


class Malformed(Exception):
    """A tree does not have the form it should have.

    Parameters
    ----------
    problem, fix : str
        A sentence each.
    character : int, optional
        Where, counted from 0.
    """

    def __init__(self, problem: str, fix: str, character: int | None = None) -> None:
        self.problem, self.fix, self.character = problem, fix, character
        super().__init__(f"{problem} {fix}")


class Planting:
    """Trees as they grow: labels and numbers of children in post-order, and how many nodes each tree has.

    Examples
    --------
    >>> planting = Planting()
    >>> planting.open("S"), planting.leaf("a"), planting.leaf("b"), planting.close(), planting.end()
    (None, None, None, None, None)
    >>> planting.labels, planting.degrees, planting.sizes
    (['a', 'b', 'S'], [0, 0, 2], [3])
    """

    def __init__(self) -> None:
        self.labels: list[Hashable] = []
        self.degrees: list[int] = []
        self.sizes: list[int] = []
        self._opened: list[Hashable] = []
        self._children: list[int] = [0]
        self._begin = 0

    @property
    def depth(self) -> int:
        """How many nodes are open."""
        return len(self._opened)

    @property
    def opened(self) -> list[Hashable]:
        """Labels of the open nodes, the innermost last; to be read only."""
        return self._opened

    def open(self, label: Hashable) -> None:
        """Begin a node; nodes until `close` are below it."""
        self._opened.append(label)
        self._children.append(0)

    def close(self) -> None:
        """End the innermost node."""
        self.labels.append(self._opened.pop())
        self.degrees.append(self._children.pop())
        self._children[-1] += 1

    def leaf(self, label: Hashable) -> None:
        """Add a node without children."""
        self.labels.append(label)
        self.degrees.append(0)
        self._children[-1] += 1

    def end(self) -> None:
        """End a tree."""
        self.sizes.append(len(self.labels) - self._begin)
        self._begin, self._children = len(self.labels), [0]

    def abandon(self) -> None:
        """Forget the tree that is growing."""
        del self.labels[self._begin :], self.degrees[self._begin :]
        self._opened, self._children = [], [0]


# ---------------------------------------------------------------------------------------- brackets

_PIECES = re.compile(r"(\()\s*([^\s()]*)|(\))|([^\s()]+)")


def plant_penn(planting: Planting, text: str) -> None:
    """Add one tree in brackets, ``(S (NP (D the) (N cat)) (VP (V sat)))``.

    The label follows the bracket. Brackets without a label around one tree, as treebanks have them, are left out;
    ``()`` and blank text are the empty tree.

    Examples
    --------
    >>> planting = Planting()
    >>> plant_penn(planting, "( (S (NP we) (VP go)) )")
    >>> planting.labels
    ['we', 'NP', 'go', 'VP', 'S']
    """
    labels, degrees = planting.labels, planting.degrees
    opened: list[str] = []
    children: list[int] = []
    done = False
    for begin, label, _, word in _PIECES.findall(text):  # for long treebanks, with as little work as possible for each
        if done or not (begin or opened):
            raise _misplaced(text)
        if begin:
            opened.append(label)
            children.append(0)
        elif word:
            labels.append(word)
            degrees.append(0)
            children[-1] += 1
        else:
            label, degree = opened.pop(), children.pop()
            if children:
                children[-1] += 1
            else:
                done = True
                if not label and degree < 2:
                    continue
            labels.append(label)
            degrees.append(degree)
    if opened:
        raise Malformed(f"{len(opened)} brackets are not closed.", "Close every bracket.", len(text))
    planting.end()


def _misplaced(text: str) -> Malformed:
    """Return the error of a text that is not one tree in brackets, with the place."""
    depth, done = 0, False
    for match in _PIECES.finditer(text):
        begin, _, end, _ = match.groups()
        if done:
            return Malformed("Something follows the end of the tree.", "Give one tree a sample.", match.start())
        if not begin and not depth:
            what = "A bracket closes that was not opened." if end else "The text does not begin with a bracket."
            return Malformed(what, "Write a tree as (S (NP we) (VP go)).", match.start())
        depth += bool(begin) - bool(end)
        done = depth == 0
    raise AssertionError("the text is one tree")


# ---------------------------------------------------------------------------------------- objects


def plant_nested(planting: Planting, thing: Any) -> None:
    """Add a tree of objects: nested tuples or lists, an ``nltk.Tree``, an ElementTree element, a node of `ast`.

    ``("S", ("NP", "we"), ("VP", "go"))`` is a label and its children; what is no tuple or list is a leaf. ``()`` is the
    empty tree.
    """
    is_plain = isinstance(thing, (tuple, list)) and not callable(getattr(thing, "label", None))
    if is_plain and not thing:
        planting.end()
        return
    if not is_plain and _members(thing)[1] is None:
        raise Malformed(
            f"It is {_described(thing)}.",
            'Give ("S", child, ...), a text in brackets, an ElementTree element or a node of ast.',
        )
    _walk(planting, thing, _members)


Members = tuple[Any, "Iterable[Any] | None"]  # a label and children; None instead of them of a leaf


def _walk(planting: Planting, root: Any, members: Callable[[Any], Members]) -> None:
    """Add a tree, given the function that returns the label and children of an object."""
    stack: list[tuple[Any, Iterator[Any]]] = [(None, iter((root,)))]
    path: set[int] = set()
    while stack:
        owner, rest = stack[-1]
        for child in rest:
            label, below = members(child)
            if below is None:
                planting.leaf(label)
                continue
            if id(child) in path:
                raise Malformed("A node is below itself.", "Give a tree without cycles.")
            path.add(id(child))
            planting.open(label)
            stack.append((child, iter(below)))  # holding the child keeps its id its own
            break
        else:
            stack.pop()
            if stack:
                planting.close()
                path.discard(id(owner))
    planting.end()


def _described(thing: Any) -> str:
    return "None" if thing is None else f"of type {kind_of(thing)}"  # what it holds may be too deep to print


def _members(thing: Any) -> Members:
    """Label and children of an object; what is none of the forms is a leaf."""
    if isinstance(thing, (tuple, list)):
        if callable(getattr(thing, "label", None)):  # as nltk has them
            return thing.label(), thing  # pyright: ignore[reportAttributeAccessIssue]
        if not thing:
            raise Malformed("A node is empty.", "Give it a label, as in (label,); only a whole tree may be ().")
        if isinstance(thing[0], (tuple, list)):
            raise Malformed(
                f"The label of a node is a {kind_of(thing[0])}.", 'Begin each node with its label: ("S", child, ...).'
            )
        return thing[0], thing[1:]
    if isinstance(thing, ast.AST):
        return _syntax(thing, True)
    if isinstance(thing, _Entry):
        return thing.key, thing.value
    if hasattr(thing, "tag") and hasattr(thing, "attrib"):
        return _element(thing)
    if isinstance(thing, (dict, set)):
        raise Malformed(
            f"A node is {_described(thing)}.", "Nodes are tuples, leaves are words; for JSON use Trees.from_json."
        )
    return thing, None


def _element(thing: Any) -> Members:
    """Attributes, words and elements in the order of the document."""
    children: list[Any] = [(f"@{name}", value) for name, value in sorted(thing.attrib.items())]
    children += (thing.text or "").split()
    for child in thing:
        if isinstance(child.tag, str):  # comments and instructions have functions for tags
            children.append(child)
        children += (child.tail or "").split()
    return thing.tag, children


# ---------------------------------------------------------------------------------------- XML


def plant_xml(planting: Planting, text: str | bytes, attributes: bool = True, words: bool = True) -> None:
    """Add the elements of an XML document.

    Parameters
    ----------
    planting : Planting
    text : str or bytes
    attributes : bool, default True
        Whether attributes are children, ``@name`` with the value below it, in the order of their names.
    words : bool, default True
        Whether the words of the text are leaves.

    Raises
    ------
    Malformed
        Not XML; or it declares entities, which can expand a short text to any length.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def begin(tag: str, given: dict[str, str]) -> None:
        planting.open(tag)
        if attributes:
            for name in sorted(given):
                planting.open(f"@{name}")
                planting.leaf(given[name])
                planting.close()

    def data(piece: str) -> None:
        for word in piece.split():
            planting.leaf(word)

    def refuse(*_: Any) -> None:
        where = f"line {parser.CurrentLineNumber}"
        raise Malformed(
            f"The document declares entities ({where}).", "Write them out; they are never expanded, for safety."
        )

    parser.StartElementHandler, parser.EndElementHandler = begin, lambda tag: planting.close()
    parser.EntityDeclHandler = refuse
    if words:
        parser.CharacterDataHandler = data
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        raise Malformed(f"This is not XML: {expat.ErrorString(error.code)} ({where}).", "Mend the document.") from None
    except (LookupError, ValueError) as error:  # the encoding that the first line declares
        raise Malformed(f"The encoding cannot be read: {str(error)[:60]}.", "Save the document as UTF-8.", 0) from None
    planting.end()


# ---------------------------------------------------------------------------------------- JSON

_TOKEN = re.compile(r'[ \t\r\n]*(?:([{}\[\],:])|("(?:[^"\\\x00-\x1f]|\\.)*")|([^\s{}\[\],:"]+))')
_BLANK = re.compile(r"[ \t\r\n]*")
_KINDS = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def plant_json(planting: Planting, value: Any, values: bool = True) -> None:
    """Add a JSON value, as a text (str or bytes) or as Python objects.

    An object is a node ``{}`` with a node for each key, in the order of the keys, and the value below it; a list is a
    node ``[]``; a number, a text, true, false or null is a leaf, as JSON writes it: ``"1"`` and ``1`` differ.

    Parameters
    ----------
    planting : Planting
    value : str, bytes, dict, list, number, bool or None
        A str or bytes is parsed.
    values : bool, default True
        Whether leaves are values; if not, they are kinds of values, such as ``number``.
    """

    def members(thing: Any) -> Members:
        if isinstance(thing, _Entry):
            return thing.key, (thing.value,)
        if isinstance(thing, dict):
            if not all(isinstance(key, str) for key in thing):
                raise Malformed("A key of an object is not a text.", "Use texts for keys.")
            return "{}", (_Entry(key, thing[key]) for key in sorted(thing))
        if isinstance(thing, (list, tuple)):
            return "[]", thing
        return _scalar(thing, values), None

    _walk(planting, parse_json(value) if isinstance(value, (str, bytes)) else value, members)


class _Entry:
    """A key of an object and its value."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: Any) -> None:
        self.key, self.value = key, value


def _scalar(value: Any, values: bool) -> str:
    if type(value) not in _KINDS:
        raise Malformed(
            f"A value is {_described(value)}.", "JSON has texts, numbers, true, false, null, lists, objects."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise Malformed(f"A number is {value}.", "JSON has finite numbers; write null for a missing one.")
    return json.dumps(value) if values else _KINDS[type(value)]


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, however deep it is.

    Examples
    --------
    >>> parse_json('{"a": [1, true, {"b": null}]}')
    {'a': [1, True, {'b': None}]}
    """
    text = text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text
    held: list[Any] = []  # the values, and below them the lists and objects that are open
    keys: list[Any] = []  # of each open object the key that waits for its value; _LIST of a list
    expected, place = "value", 0
    while match := _TOKEN.match(text, place):
        mark, string, word = match.groups()
        here, place = match.start(match.lastindex or 0), match.end()
        if mark and mark in "{[" and expected in ("value", "value or end"):
            held.append({} if mark == "{" else [])
            keys.append(None if mark == "{" else _LIST)
            expected = "key or end" if mark == "{" else "value or end"
            continue
        if mark and mark in "}]":
            is_list = mark == "]"
            closes = expected == "comma or end" or expected == ("value or end" if is_list else "key or end")
            if not keys or (keys[-1] is _LIST) is not is_list or not closes:
                raise _no_json(mark, here)
            keys.pop()
            value = held.pop()
        elif mark == "," and expected == "comma or end":
            expected = "value" if keys[-1] is _LIST else "key"
            continue
        elif mark == ":" and expected == "colon":
            expected = "value"
            continue
        elif string and expected in ("key", "key or end"):
            keys[-1] = _loaded(string, here)
            if keys[-1] in held[-1]:
                raise Malformed("A key occurs twice in one object.", "Keep one of them.", here)
            expected = "colon"
            continue
        elif not mark and expected in ("value", "value or end"):
            value = _loaded(string or word, here)
        else:
            raise _no_json(match[0].strip(), here)
        if not keys:
            held.append(value)
            break
        if keys[-1] is _LIST:
            held[-1].append(value)
        else:
            held[-1][keys[-1]] = value
        expected = "comma or end"
    rest = _BLANK.match(text, place)
    place = rest.end() if rest else place
    if keys or not held or place < len(text):
        raise Malformed("The JSON text is not one whole value.", "Close what is open, and give one value.", place)
    return held[0]


_LIST = object()


def _no_json(given: str, place: int) -> Malformed:
    return Malformed(f"This is not JSON: {given[:20]!r} is not allowed here.", "Correct the text.", place)


def _loaded(token: str, place: int) -> Any:
    """Return a text, number or word."""
    try:
        return json.loads(token, parse_constant=_refuse_constant)
    except ValueError:
        raise _no_json(token, place) from None


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


# ---------------------------------------------------------------------------------------- Python


def plant_ast(planting: Planting, source: Any, values: bool = True) -> None:
    """Add the syntax of Python source, or a node of `ast`.

    A node has the name of its class; fields that are lists are nodes with the name of the field; names and constants
    are leaves. Where names are read or written (``ctx``) is left out.

    Parameters
    ----------
    planting : Planting
    source : str, bytes or ast.AST
    values : bool, default True
        Whether names and constants are leaves; if not, only the shape of the program counts.
    """
    if isinstance(source, (str, bytes)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes and comparisons in the source
                source = ast.parse(source)
        except SyntaxError as error:
            where = f" (line {error.lineno})" if error.lineno else ""
            raise Malformed(f"This is not Python: {error.msg}{where}.", "Mend the source.") from None
        except (ValueError, RecursionError, MemoryError) as error:
            reason = str(error) or "it is nested too deeply"
            raise Malformed(f"Python cannot parse it: {reason}.", "Give another source, or a tree of it.") from None
    if not isinstance(source, ast.AST):
        raise Malformed(f"It is {_described(source)}.", "Give Python source, or a node of ast.")

    def members(thing: Any) -> Members:
        if isinstance(thing, ast.AST):
            return _syntax(thing, values)
        return (thing.key, thing.value) if isinstance(thing, _Entry) else (thing, None)

    _walk(planting, source, members)


def _syntax(node: ast.AST, values: bool) -> Members:
    children: list[Any] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            members = [member if isinstance(member, ast.AST) else repr(member) for member in value]
            members = members if values else [member for member in members if isinstance(member, ast.AST)]
            children += [_Entry(name, members)] if members else []
        elif isinstance(value, ast.AST):
            children += [value] if name != "ctx" else []
        elif values and value is not None and name not in ("kind", "type_comment"):
            children.append(value if isinstance(value, str) and name != "value" else repr(value))
    return type(node).__name__, children
