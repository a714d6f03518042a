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
    tex = tex.replace(r"\!", "").replace(r"\dots", r"\ldots")
    tex = re.sub(r"\\[td]?frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}", tex)  # \tfrac12, which TeX allows
    return " ".join(re.sub(r"\\(?:big|Big|bigg|Bigg)[lr]?(?![A-Za-z])", "", tex).split())


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
    self.body.append(converted(node, block=False))
    raise nodes.SkipNode


def visit_block(self, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math") + converted(node, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    """Register the renderer, to be chosen by ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
