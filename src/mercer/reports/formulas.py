"""Formulas of kernels as MathML, which browsers render natively.

The catalogue writes formulas in a small part of LaTeX; this file reads that part and nothing else.
"""

from __future__ import annotations

import re
from html import escape

__all__ = ["mathml"]

DEEPEST = 20
LONGEST = 2000

_WORD = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_GREEK = dict(
    alpha="α", beta="β", gamma="γ", delta="δ", epsilon="ε", zeta="ζ", eta="η", theta="θ", iota="ι", kappa="κ", mu="μ",
    nu="ν", xi="ξ", pi="π", rho="ρ", sigma="σ", tau="τ", phi="φ", chi="χ", psi="ψ", omega="ω",
    Gamma="Γ", Delta="Δ", Theta="Θ", Lambda="Λ", Xi="Ξ", Pi="Π", Sigma="Σ", Phi="Φ", Psi="Ψ", Omega="Ω",
    ell="ℓ", infty="∞", top="⊤", varepsilon="ε", varphi="ϕ", nabla="∇", partial="∂", emptyset="∅",
)  # fmt: skip
_OPERATORS = dict(
    langle="⟨", rangle="⟩", dots="…", ldots="…", cdots="⋯", cdot="⋅", times="×", le="≤", leq="≤", ge="≥", geq="≥",
    ne="≠", neq="≠", subseteq="⊆", subset="⊂", cup="∪", cap="∩", to="→", mapsto="↦", mid="∣", circ="∘", pm="±",
    lfloor="⌊", rfloor="⌋", setminus="∖", otimes="⊗", oplus="⊕", sim="∼", approx="≈", star="⋆", ast="∗", otherwise="",
)  # fmt: skip
_GREEK["lambda"] = "λ"  # reserved words of Python cannot be argument names
_OPERATORS["in"] = "∈"
_FUNCTIONS = frozenset(
    ("exp", "log", "ln", "sin", "cos", "tan", "tanh", "cosh", "sinh", "arccos", "min", "max", "det", "tr", "Pr")
)
_BIG = dict(sum="∑", prod="∏", int="∫", bigcup="⋃")
_SPACES = {"\\,": "0.17em", "\\;": "0.28em", "\\:": "0.22em", "\\ ": "0.5em", "\\quad": "1em", "\\qquad": "2em"}
_NOTHING = ("\\!", "\\left", "\\right", "\\big", "\\Big", "\\displaystyle", "\\limits")
_ESCAPED = {"\\|": "‖", "\\#": "#", "\\{": "{", "\\}": "}", "\\%": "%", "\\&": "&", "\\_": "_"}
_OPENING = frozenset("([,=+-/^")
_FENCES = frozenset("()[]{}|‖⟨⟩⌊⌋")


def mathml(latex: str) -> str:
    r"""Return a formula as a <math> element.

    Parameters
    ----------
    latex : str
        Letters, numbers, Greek, ``^ _ ' \frac \sqrt \sum \prod``, named functions and relations.

    Returns
    -------
    markup : str
        All text in it is escaped.

    Raises
    ------
    ValueError
        Something else was found; show the text as it is.

    Examples
    --------
    >>> mathml("x^2")
    '<math displaystyle="true"><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    if len(latex) > LONGEST:
        raise ValueError(f"a formula of {len(latex)} characters; at most {LONGEST} are read. Show its text.")
    reader = _Reader(_WORD.findall(latex))
    body = reader.row(0)
    if reader.words:
        raise ValueError(f"{reader.words[-1]!r} closes nothing in a formula. Show its text.")
    return f'<math displaystyle="true">{body}</math>'


class _Reader:
    """Tokens of a formula, read from left to right, with one rule per kind of node."""

    def __init__(self, words: list[str]) -> None:
        self.words = words[::-1]
        self.opens = True  # whether the next token begins a group

    def row(self, depth: int) -> str:
        """Everything up to a closing brace or the end."""
        if depth > DEEPEST:
            raise ValueError("a formula nested too deeply. Show its text.")
        parts: list[str] = []
        before, self.opens = self.opens, True
        while self.words and self.words[-1] != "}":
            word = self.words[-1]
            parts.append(self.scripted(depth))
            if parts[-1]:
                self.opens = word in _OPENING
        self.opens = before
        return "".join(parts)

    def minus(self) -> str:
        """A minus: a sign at the beginning of a group, otherwise an operator between two terms."""
        return '<mo form="prefix">−</mo>' if self.opens else "<mo>−</mo>"

    def scripted(self, depth: int) -> str:
        """An atom with its superscript and subscript."""
        is_big = self.words[-1].removeprefix("\\") in _BIG and self.words[-1].startswith("\\")
        base, low, high = self.atom(depth), "", ""
        while base and self.words and (self.words[-1] in ("^", "_", "'") or self.words[-1].isspace()):
            word = self.words.pop()
            if word == "'":  # its glyph is raised already
                base = f'<mrow>{base}<mo lspace="0" rspace="0">′</mo></mrow>'
            elif word == "^":
                high += self.argument(depth)
            elif word == "_":
                low += self.argument(depth)
        if not (low or high):
            return base
        kind = {(True, False): "sub", (False, True): "sup", (True, True): "subsup"}[bool(low), bool(high)]
        if is_big:
            kind = {"sub": "under", "sup": "over", "subsup": "underover"}[kind]
        inside = "".join(_grouped(part) for part in (low, high) if part)
        return f"<m{kind}>{base}{inside}</m{kind}>"

    def argument(self, depth: int) -> str:
        """What a command or a script applies to: a group in braces or one atom."""
        while self.words and self.words[-1].isspace():
            self.words.pop()
        if not self.words:
            raise ValueError("a formula that ends too early. Show its text.")
        return self.atom(depth)

    def atom(self, depth: int) -> str:
        """One letter, number, sign, command or group."""
        word = self.words.pop()
        if word.isspace() or word in _NOTHING:
            return ""
        if word == "{":
            body = self.row(depth + 1)
            if not self.words:
                raise ValueError("a formula with a brace that is never closed. Show its text.")
            self.words.pop()
            return _grouped(body)
        if word in _SPACES:
            return f'<mspace width="{_SPACES[word]}"/>'
        if word in _ESCAPED:
            return _operator(_ESCAPED[word])
        if word.startswith("\\"):
            return self.command(word[1:], depth)
        if word[0].isdigit():
            return f"<mn>{word}</mn>"
        if word.isalpha():
            return f"<mi>{escape(word)}</mi>"
        if word in "^_}&$%#~":
            raise ValueError(f"{word!r} at an unexpected place in a formula. Show its text.")
        return self.minus() if word == "-" else _operator(word)

    def command(self, name: str, depth: int) -> str:
        """A word after a backslash."""
        if name == "sqrt":
            return f"<msqrt>{self.argument(depth + 1)}</msqrt>"
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.argument(depth + 1)}{self.argument(depth + 1)}</mfrac>"
        if name in ("mathrm", "mathcal", "mathbf", "text", "operatorname"):
            return self.argument(depth + 1)
        if name in _GREEK:
            return f"<mi>{_GREEK[name]}</mi>"
        if name in _FUNCTIONS:
            return f'<mi>{name}</mi><mspace width="0.1em"/>' if self.words[-1:] == [" "] else f"<mi>{name}</mi>"
        if name in _BIG:
            return f'<mo movablelimits="false">{_BIG[name]}</mo>'
        if name in _OPERATORS:
            return _operator(_OPERATORS[name])
        raise ValueError(f"\\{name} in a formula is not a command known here. Show its text.")


def _operator(sign: str) -> str:
    fence = ' stretchy="false"' if sign in _FENCES else ""
    return f"<mo{fence}>{escape(sign)}</mo>"


def _grouped(body: str) -> str:
    """A body as one node: several are put into a row."""
    single = re.fullmatch(r"<(m[ino])\b[^>]*>[^<]*</\1>", body)
    return body if single else f"<mrow>{body}</mrow>"
