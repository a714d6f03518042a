"""Samples that are trees with labels and an order of children: parses, documents, programs.

Symbols: n trees, N nodes in all. Nodes are in post-order, children before their parent, so the labels and the numbers
of children are the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Codes, Indices
from mercer.domains.missing_values import is_fraction, is_missing
from mercer.domains.samples import Samples, is_hashable, kind_of
from mercer.domains.strings import listed
from mercer.domains.structures.tree_forms import (
    Malformed,
    Planting,
    plant_ast,
    plant_json,
    plant_nested,
    plant_penn,
    plant_xml,
)
from mercer.domains.structures.tree_pages import plant_html
from mercer.errors import DomainError, ModelError
from mercer.numerics.ragged import Ragged

__all__ = ["Trees"]
__public__ = __all__

_ACCEPTED = (
    'Trees are a list of texts in brackets, "(S (NP we) (VP go))", of nested tuples, ("S", ("NP", "we"), "go"), of '
    "ElementTree elements or of nodes of ast."
)


@dataclass(frozen=True, eq=False, repr=False)
class Trees(Samples):
    r"""Labelled, ordered trees: the samples of every tree kernel.

    .. math:: T = \ell(T_1, \dots, T_d), \quad \ell \in \Sigma, \; d \ge 0

    Seed: [ST] "Tree kernels"; [HSS] "Tree Kernels"; [SS] Section 6.4 (XML and HTML documents).

    Parameters
    ----------
    ragged : Ragged
        ``(N, 2)`` int32 and ``(n + 1,)`` offsets. For each node the code of its label, a position in the vocabulary,
        and its number of children; post-order, so that the last node of a tree is its root.
    vocabulary : tuple
        Distinct labels in the order in which they were first seen.

    Notes
    -----
    A tree may be empty. Nothing recurses: a tree may be as deep as it is large. Slices keep the vocabulary object.

    Examples
    --------
    >>> S = Trees.pack(["(S (NP we) (VP go))", ("S", ("NP", "you"), "now")])
    >>> S
    <Trees: 2 samples, 7 labels, 4 to 5 nodes>
    >>> S.nested(0), S.brackets(1)
    (('S', ('NP', 'we'), ('VP', 'go')), '(S (NP you) now)')
    >>> Trees.from_xml(["<a><b/>some text</a>"]).nested(0)
    ('a', 'b', 'some', 'text')
    >>> Trees.from_json(['{"x": [1, "y"]}']).nested(0)
    ('{}', ('x', ('[]', '1', '"y"')))
    """

    ragged: Ragged
    vocabulary: tuple[Hashable, ...]

    # ------------------------------------------------------------------ the door

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn trees into Trees.

        Parameters
        ----------
        X : list of trees, or a column of a table
            Each one a text in brackets as treebanks have them, nested tuples or lists (label, child, ...) in which
            whatever is no tuple or list is a leaf, an ``nltk.Tree``, an ElementTree element, or a node of `ast`; in any
            mixture. For documents in XML, HTML or JSON and for Python source see the methods ``from_...``.

        Raises
        ------
        DomainError
            No tree, or one that is none of these; the message names it.
        """
        if cls._is_packed(X):
            return X
        return cls._planted(X, lambda planting, x: (plant_penn if isinstance(x, str) else plant_nested)(planting, x))

    @classmethod
    def from_penn(cls, texts: Any) -> Self:
        """Trees of texts in brackets, one a text."""
        return cls._planted(texts, _of_texts(plant_penn, str))

    @classmethod
    def from_xml(cls, documents: Any, attributes: bool = True, words: bool = True) -> Self:
        """Trees of XML documents: elements, with attributes as ``@name`` and words as leaves if wanted."""
        return cls._planted(documents, _of_texts(plant_xml, str, bytes), attributes, words)

    @classmethod
    def from_html(cls, pages: Any, attributes: bool = True, words: bool = True) -> Self:
        """Trees of web pages: elements below ``#document``; what is not closed is closed as browsers do."""
        return cls._planted(pages, _of_texts(plant_html, str), attributes, words)

    @classmethod
    def from_json(cls, values: Any, leaves: bool = True) -> Self:
        """Trees of JSON values, given as texts or as dicts, lists, numbers; without `leaves`, kinds of values only."""
        return cls._planted(values, plant_json, leaves)

    @classmethod
    def from_ast(cls, sources: Any, leaves: bool = True) -> Self:
        """Trees of Python sources, or of nodes of `ast`; without `leaves`, no names and constants.

        Examples
        --------
        >>> Trees.from_ast(["x = 1"]).brackets(0)
        '(Module (body (Assign (targets (Name x)) (Constant 1))))'
        """
        return cls._planted(sources, plant_ast, leaves)

    @classmethod
    def _planted(cls, X: Any, plant: Callable[..., None], *options: Any) -> Self:
        samples = _samples(X)
        planting = Planting()
        for i, sample in enumerate(samples):
            try:
                plant(planting, sample, *options)
            except Malformed as error:
                where = "" if error.character is None else f", character {error.character}"
                raise DomainError(f"Sample {i}{where}: {error.problem} {_ACCEPTED} {error.fix}") from None
        return cls.assembled(planting)

    @classmethod
    def assembled(cls, planting: Planting) -> Self:
        """Make Trees of what was planted."""
        position: dict[Hashable, int] = {}
        try:
            codes = [position.setdefault(label, len(position)) for label in planting.labels]
        except TypeError:
            _refuse_label(planting, lambda label: not is_hashable(label), "cannot be hashed")
            raise
        if any(is_missing(label) or is_fraction(label) for label in position):
            _refuse_label(planting, is_missing, "is missing")
            _refuse_label(planting, is_fraction, "is a real number")
        vocabulary = tuple(label.item() if isinstance(label, np.generic) else label for label in position)
        nodes = np.column_stack((np.array(codes, dtype=np.int32), np.array(planting.degrees, dtype=np.int32)))
        return cls(Ragged.from_lengths(nodes, planting.sizes), vocabulary)

    # ------------------------------------------------------------------ what is in it

    def __len__(self) -> int:
        return len(self.ragged)

    @property
    def labels(self) -> Codes:
        """``(N,)`` codes of the labels of all nodes."""
        return self.ragged.codes[:, 0]

    @property
    def degrees(self) -> Codes:
        """``(N,)`` numbers of children of all nodes."""
        return self.ragged.codes[:, 1]

    @property
    def offsets(self) -> Indices:
        """``(n + 1,)`` where each tree begins among the nodes."""
        return self.ragged.offsets

    @property
    def sizes(self) -> Indices:
        """``(n,)`` numbers of nodes."""
        return self.ragged.lengths

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(nodes, offsets)``."""
        return self.ragged.codes, self.offsets

    def nested(self, i: int) -> Any:
        """Tree i as nested tuples; leaves are bare labels, except in a tree of one node; ``()`` is the empty tree."""
        made = self._folded(i, lambda label, children: (label, *children) if children else label)
        return made if isinstance(made, tuple) else (made,)

    def brackets(self, i: int) -> str:
        """Tree i as text in brackets; brackets in labels are written -LRB- and -RRB-, blanks _."""
        pieces: list[str] = []  # from right to left
        opened: list[list[Any]] = []  # the nodes above: word, and how many children are to come
        for code, degree in self.ragged.row(i)[::-1].tolist():
            word = _printed(self.vocabulary[code])
            if opened and not degree:
                pieces.append(f" {word}")
                opened[-1][1] -= 1
            else:
                pieces.append(")")
                opened.append([word, degree])
            while opened and not opened[-1][1]:
                pieces.append(f" ({opened.pop()[0]}")
                if opened:
                    opened[-1][1] -= 1
        return "".join(reversed(pieces)).strip() or "()"

    def align(self, other: Trees) -> tuple[Trees, Trees]:
        """Both collections with codes of one vocabulary; the same objects if they have one already.

        Codes of self never change (its vocabulary may grow). What is recoded loses its derived data.
        """
        if other.vocabulary is self.vocabulary or other.vocabulary == self.vocabulary:
            return self, other
        position = {label: code for code, label in enumerate(self.vocabulary)}
        recoded = np.array([position.setdefault(label, len(position)) for label in other.vocabulary], dtype=np.int32)
        common = self.vocabulary if len(position) == len(self.vocabulary) else tuple(position)
        nodes = other.ragged.codes.copy()
        nodes[:, 0] = recoded[nodes[:, 0]] if len(recoded) else nodes[:, 0]
        left = self if common is self.vocabulary else type(self)(self.ragged, common)._deriving(self)
        return left, type(other)(Ragged(nodes, other.offsets), common)

    def _folded(self, i: int, join: Callable[[Hashable, list[Any]], Any]) -> Any:
        done: list[Any] = []
        for code, degree in self.ragged.row(i).tolist():
            children = done[len(done) - degree :] if degree else []
            if degree:
                del done[-degree:]
            done.append(join(self.vocabulary[code], children))
        return done[0] if done else ()

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.ragged.take(index), self.vocabulary)

    def _joined(self, other: Any) -> Self:
        left, right = self.align(other)
        return type(self)(left.ragged.concat(right.ragged), left.vocabulary)

    def _summary(self) -> str:
        spread = f", {self.sizes.min()} to {self.sizes.max()} nodes" if len(self) else ""
        return f", {len(self.vocabulary)} label{'' if len(self.vocabulary) == 1 else 's'}{spread}"

    # ------------------------------------------------------------------ what a file may have broken

    def check(self) -> None:
        """Raise ModelError unless the arrays are trees; those of a model file did not come through `pack`."""
        nodes, words = self.ragged.codes, self.vocabulary
        good = isinstance(nodes, np.ndarray) and nodes.ndim == 2 and nodes.shape[1:] == (2,) and nodes.dtype == np.int32
        _require(good, "nodes that are not a table")
        _require(isinstance(words, tuple) and len(set(words)) == len(words), "labels that come twice")
        inside = not len(nodes) or (self.labels.min() >= 0 and int(self.labels.max()) < len(words))
        _require(bool(inside), "labels beyond their vocabulary")
        # after each node, trees wait for a parent: a node takes its children away and waits itself
        _require(not len(nodes) or bool((self.degrees >= 0).all()), "nodes that are not in order")
        waiting = np.concatenate(([0], np.cumsum(1 - self.degrees.astype(np.int64))))
        relative = waiting[1:] - np.repeat(waiting[self.offsets[:-1]], self.sizes)
        ends = np.diff(waiting[self.offsets])
        _require(bool((relative >= 1).all() and (ends == (self.sizes > 0)).all()), "nodes that are not in order")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"The model has trees with {what}, so its parts do not fit together. Save the model again.")


def _printed(label: Hashable) -> str:
    return "_".join(str(label).replace("(", "-LRB-").replace(")", "-RRB-").split())


def _samples(X: Any) -> list[Any]:
    """The samples of a raw container."""
    is_one = callable(getattr(X, "label", None)) or (hasattr(X, "tag") and hasattr(X, "attrib"))
    if isinstance(X, (str, bytes)) or is_one:
        raise DomainError(
            f"A single tree was given; a list of trees is accepted. {_ACCEPTED} Wrap it in a list: [tree]."
        )
    shape = getattr(X, "shape", (0,))
    if len(shape) > 1 and shape[1] != 1:
        raise DomainError(f"A table of shape {shape} was given. {_ACCEPTED} Give one column, or kernel.on(column).")
    try:
        samples = list(X) if isinstance(X, (list, tuple)) else listed(X)
    except DomainError:
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of it.") from None
    if not samples:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    return samples


def _of_texts(plant: Callable[..., None], *types: type) -> Callable[..., None]:
    """Return a function that plants texts and refuses other things."""

    def planted(planting: Planting, sample: Any, *options: Any) -> None:
        if not isinstance(sample, types):
            raise Malformed(f"It is of type {type(sample).__name__}, not a text.", "Give each document as a text.")
        plant(planting, sample, *options)

    return planted


def _refuse_label(planting: Planting, is_bad: Callable[[Any], bool], what: str) -> None:
    """Raise an error that names the first bad label and its tree."""
    place = next((i for i, label in enumerate(planting.labels) if is_bad(label)), None)
    if place is not None:
        i = int(np.searchsorted(np.cumsum(planting.sizes), place, side="right"))
        kind = kind_of(planting.labels[place])
        raise DomainError(
            f"Sample {i}: a label {what} (of type {kind}). {_ACCEPTED} Replace it by a word or a whole number."
        )
