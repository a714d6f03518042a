"""Web pages as trees: a reader of HTML that takes everything, as browsers do, in time linear in the page.

It does not do all that browsers do: elements are nested as written, except for end tags that authors leave out.
"""

from __future__ import annotations

import html
import re
from collections import Counter

from mercer.domains.structures.tree_forms import Planting

__all__ = ["plant_html"]

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_RAW = frozenset(("script", "style", "textarea", "title"))  # until their end, all is text
_SILENT = frozenset(("script", "style"))
_CELLS = frozenset(("td", "th"))
_ROWS = frozenset(("tr", "td", "th"))
_PARTS = frozenset(("thead", "tbody", "tr", "td", "th"))
# what a beginning tag ends, and at which elements it stops to look for it
_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset(("li",)), frozenset(("ul", "ol", "menu"))),
    "dt": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "dd": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "option": (frozenset(("option",)), frozenset(("select", "datalist", "optgroup"))),
    "td": (_CELLS, frozenset(("tr", "table"))),
    "th": (_CELLS, frozenset(("tr", "table"))),
    "tr": (_ROWS, frozenset(("table", "thead", "tbody", "tfoot"))),
    "tbody": (_PARTS, frozenset(("table",))),
    "tfoot": (_PARTS, frozenset(("table",))),
}
_BLOCKS = """
    address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre
    section table ul
"""
_ENDS |= {tag: (frozenset(("p",)), frozenset(("button", "table", "td", "th"))) for tag in _BLOCKS.split()}
_FAR = 64  # elements that are looked through for one to end

_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")
_REST = re.compile(r"[\s/]*>")
_CLOSING = {tag: re.compile(f"</{tag}(?=[\\s/>])", re.IGNORECASE) for tag in _RAW}


def plant_html(planting: Planting, text: str, attributes: bool = True, words: bool = True) -> None:
    """Add the elements of a web page below a node ``#document``; nothing is an error.

    Void elements need no end, paragraphs, list items and cells end where the next begins, an end without a beginning
    is passed over, and what is open at the end is closed. Comments and the text of scripts and styles are left out.

    Parameters
    ----------
    planting : Planting
    text : str
    attributes : bool, default True
        Whether attributes are children, ``@name`` with the value below it, in the order of their names.
    words : bool, default True
        Whether the words of the text are leaves.

    Examples
    --------
    >>> planting = Planting()
    >>> plant_html(planting, "<ul><li>one<li>two</ul>")
    >>> planting.labels
    ['one', 'li', 'two', 'li', 'ul', '#document']
    """
    page = _Page(planting, attributes, words)
    place = 0
    while (begin := text.find("<", place)) >= 0:
        page.say(text[place:begin])
        place = page.markup(text, begin)
    page.say(text[place:])
    page.close_from(0)
    planting.end()


class _Page:
    """Passes what is found on a page to a planting."""

    def __init__(self, planting: Planting, attributes: bool, words: bool) -> None:
        self.planting, self.attributes, self.words = planting, attributes, words
        self.open: Counter[object] = Counter()  # elements that are open, so that ends of others are known at once
        planting.open("#document")

    def say(self, text: str) -> None:
        """Add words as leaves."""
        if self.words and self.planting.opened[-1] not in _SILENT:
            for word in html.unescape(text).split():
                self.planting.leaf(word)

    def markup(self, text: str, begin: int) -> int:
        """Take what begins with ``<``; return where it ends."""
        following = text[begin + 1 : begin + 2]
        if text.startswith("<!--", begin):
            return _after(text, "-->", begin + 4)
        if following in ("!", "?"):
            return _after(text, ">", begin)
        if following == "/":
            name = _NAME.match(text, begin + 2)
            if name:
                self.end(name[0].lower())
            return _after(text, ">", begin)
        name = _NAME.match(text, begin + 1)
        if name is None:
            self.say("<")
            return begin + 1
        return self.element(text, name[0].lower(), name.end())

    def element(self, text: str, tag: str, place: int) -> int:
        """Take a beginning tag, of which the name has been read; one that the page cuts off is dropped."""
        given: dict[str, str | None] = {}
        while not (rest := _REST.match(text, place)):
            attribute = _ATTRIBUTE.match(text, place)
            if attribute is None:
                return len(text)
            name, value = attribute[1].lower(), attribute[2]
            if value is not None and value[:1] in ("'", '"'):
                if len(value) < 2 or value[-1] != value[0]:
                    return len(text)  # a quotation that never ends
                value = value[1:-1]
            given.setdefault(name, None if value is None else html.unescape(value))
            place = attribute.end()
        self.begin(tag, given)
        place = rest.end()
        if tag in _VOID or (rest[0].endswith("/>") and tag not in _RAW):
            self.end(tag)
        elif tag in _RAW:
            found = _CLOSING[tag].search(text, place)
            self.say(text[place : found.start() if found else len(text)])
            return found.start() if found else len(text)
        return place

    def begin(self, tag: str, given: dict[str, str | None]) -> None:
        """Open an element, after those are closed that cannot hold it."""
        planting, opened = self.planting, self.planting.opened
        ended, walls = _ENDS.get(tag, (frozenset(), frozenset()))
        if any(self.open[other] for other in ended):
            outermost = len(opened)
            for at in range(len(opened) - 1, max(0, len(opened) - _FAR), -1):
                if opened[at] in walls:
                    break
                outermost = at if opened[at] in ended else outermost
            self.close_from(outermost)
        planting.open(tag)
        self.open[tag] += 1
        if self.attributes:
            for name, value in sorted(given.items()):
                planting.open(f"@{name}")
                if value is not None:
                    planting.leaf(value)
                planting.close()

    def end(self, tag: str) -> None:
        """Close the innermost element of a name with all that is open in it, if there is one."""
        if self.open[tag]:
            opened = self.planting.opened
            self.close_from(next(at for at in range(len(opened) - 1, -1, -1) if opened[at] == tag))

    def close_from(self, place: int) -> None:
        """Close the elements from a place on."""
        opened = self.planting.opened
        while len(opened) > place:
            self.open[opened[-1]] -= 1
            self.planting.close()


def _after(text: str, mark: str, begin: int) -> int:
    found = text.find(mark, begin)
    return len(text) if found < 0 else found + len(mark)
