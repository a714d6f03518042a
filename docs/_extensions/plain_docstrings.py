"""Docstrings are written to be read in a terminal; this makes their plain text safe as reStructuredText.

A bar in ``|x|^2`` is no substitution, an underscore at the end of ``coef_`` no link and an asterisk in
``a * k`` no emphasis, and the key of a source leads to it. Code,
formulas and what is between backquotes are left as they are.
"""

import re

from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``|:[\w:]+:`.*?`|`[^`]*`)")
SOURCE = re.compile(r"\[(STS|KIKS|SS|ST|HSS)\]")  # as in docs/sources.md
SPECIAL = re.compile(r"([|*])|(?<=\w)(_)(?=[\s,.;:)\]]|$)")


def escaped(line: str) -> str:
    """Return a line of prose in which bars, asterisks and final underscores mean themselves, and sources are links."""
    parts = LITERAL.split(line)
    return "".join(part if place % 2 else linked(SPECIAL.sub(r"\\\g<0>", part)) for place, part in enumerate(parts))


def linked(text: str) -> str:
    """Return a text in which the key of a source, as ``[HSS]``, leads to the page of sources."""
    return SOURCE.sub(lambda found: f":ref:`{found[0]} <source-{found[1].lower()}>`", text)


def indent(line: str) -> int:
    """Return the number of leading spaces."""
    return len(line) - len(line.lstrip())


def plain(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the prose of a docstring in place, before numpydoc reads it."""
    inside = None  # the indentation of a directive or a literal block
    out = []
    for line in lines:
        if inside is not None and line.strip() and indent(line) <= inside:
            inside = None
        text = line.lstrip()
        if inside is None and (text.startswith("..") or text.rstrip().endswith("::")):
            inside = indent(line)
            out.append(line)
        elif inside is not None or text.startswith((">>>", "... ")) or is_output(out):
            out.append(line)
        else:
            mark = indent(line) + 2 if text.startswith("* ") else 0  # of a list, which is one
            out.append(line[:mark] + escaped(line[mark:]))
    lines[:] = out


def is_output(lines: list[str]) -> bool:
    """Whether the next line is what an example prints."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if line.lstrip().startswith(">>>"):
            return True
    return False


def setup(app: Sphinx) -> dict:
    """Listen before numpydoc does."""
    app.connect("autodoc-process-docstring", plain, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
