"""Formulas as MathML, made by docutils while building: readers need no script and no network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def prepared(tex: str) -> str:
    """Return a formula in the part of LaTeX that docutils reads."""
    tex = tex.replace(r"\!", "").replace(r"\dots", r"\ldots").replace(r"\\|", r"\|")  # a bar escaped as prose
    tex = re.sub(r"\\(?:text|display)style\b", "", tex)
    tex = re.sub(r"\\[td]?frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}", tex)  # \tfrac12, which TeX allows
    return " ".join(fenced(re.sub(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])", "", tex)).split())


TOKEN = re.compile(r"\\(?:left|right)\s*(?:\\.|\\?[A-Za-z]+|\S)|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
BARS = {r"\|": "norm", r"\Vert": "norm", "|": "bar", r"\vert": "bar"}
OPENING, CLOSING = {"(", "[", "{", r"\{"}, {")", "]", "}", r"\}"}
# After these a bar opens: nothing precedes it that it could close.
BEFORE = {
    *"+-=<>,;/&^_",
    r"\le",
    r"\leq",
    r"\ge",
    r"\geq",
    r"\times",
    r"\,",
    r"\sum",
    r"\sup",
    r"\max",
    r"\min",
    r"\log",
}


def fenced(tex: str) -> str:
    """Return a formula whose pairs of bars, and of angles, are groups of their own.

    Otherwise the exponent of ``|f|^2`` belongs to the closing bar alone, which is stretched and set below the line.
    A bar without a partner between the same brackets, as in ``p(y | x)``, stays as it is.
    """
    tokens = TOKEN.findall(tex)
    levels: list[list[tuple[str, int]]] = [[]]
    last = ""
    for place, token in enumerate(tokens):
        if not token.strip():
            continue
        kind = BARS.get(token) or {r"\langle": "angle", r"\rangle": "angle"}.get(token)
        if token in OPENING:
            levels.append([])
        elif token in CLOSING and len(levels) > 1:
            levels.pop()
        elif kind:
            held = levels[-1]
            opens = token == r"\langle" if kind == "angle" else last in BEFORE
            if held and held[-1][0] == kind and not opens and last != "opened":
                tokens[held.pop()[1]] += "\0"
                tokens[place] += "\1"
            elif token != r"\rangle":
                held.append((kind, place))
                last = "opened"
                continue
        last = token
    return "".join("{" + t[:-1] + " " if t[-1] == "\0" else t[:-1] + "}" if t[-1] == "\1" else t for t in tokens)


def converted(node: nodes.Element, block: bool) -> str:
    """Return the formula of a node as a ``<math>`` element."""
    tex = node.astext()
    try:
        return tex2mathml(prepared(tex), as_block=block)
    except (MathError, AttributeError) as error:  # the latter: the end of a row outside of an array
        logger.warning("a formula was not understood: %s (%s)", tex, error, location=node)
        return f"<code>{tex}</code>"


def visit_inline(self, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(f'<span class="formula">{converted(node, block=False)}</span>')
    raise nodes.SkipNode


def visit_block(self, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math") + converted(node, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    """Register the renderer, to be chosen by ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
