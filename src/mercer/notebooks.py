"""What notebooks show instead of a line of text: tables and curves as HTML, tables as LaTeX for print; no plotting."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["array", "curve", "heat_map", "number", "table"]

_WIDTH, _HEIGHT = 220, 80


def number(value: Any) -> str:
    """Return a value as it is shown in a cell: floats with four digits, all else as it prints.

    Examples
    --------
    >>> number(0.123456), number(7), number(float("nan"))
    ('0.1235', '7', 'not computed')
    """
    if isinstance(value, float):
        return "not computed" if value != value else f"{value:.4g}"
    return str(value)


def table(title: str, rows: Iterable[tuple[str, Any]], note: str = "") -> str:
    """Return a titled table of names and values as HTML; whatever is given is escaped.

    Examples
    --------
    >>> table("A plan", [("Gram matrix", "8 MB")])
    '<div><b>A plan</b><table><tbody><tr><td>Gram matrix</td><td>8 MB</td></tr></tbody></table></div>'
    """
    cells = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(number(value))}</td></tr>" for name, value in rows
    )
    tail = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<div><b>{html.escape(title)}</b><table><tbody>{cells}</tbody></table>{tail}</div>"


def array(title: str, rows: Iterable[tuple[str, Any]], note: str = "") -> str:
    r"""Return the same table as LaTeX, for notebooks that are printed; whatever is given is escaped.

    Examples
    --------
    >>> print(array("A plan", [("Gram matrix", "8 MB")]))
    $$\begin{array}{ll}\textbf{A plan} & \\ \hline \text{Gram matrix} & \text{8 MB}\end{array}$$
    """
    lines = [rf"\text{{{_plain(name)}}} & \text{{{_plain(number(value))}}}" for name, value in rows]
    lines += [rf"\text{{{_plain(note)}}} & "] if note else []
    head = rf"\textbf{{{_plain(title)}}} & \\ \hline "
    return rf"$$\begin{{array}}{{ll}}{head}" + r" \\ ".join(lines) + r"\end{array}$$"


def _plain(text: str) -> str:
    """Return text in which no character means anything to LaTeX."""
    marks = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return "".join(marks.get(letter, f"\\{letter}" if letter in "#$%&_{}" else letter) for letter in text)


def curve(values: Sequence[float]) -> str:
    """Return values at equal distances as a small drawing, an <svg> element, with a line at zero.

    Examples
    --------
    >>> "polyline" in curve([0.0, 1.0, 0.0])
    True
    """
    low, high = min(0.0, *values), max(0.0, *values)
    span = (high - low) or 1.0
    step = _WIDTH / max(len(values) - 1, 1)

    def height(value: float) -> float:
        return round(4 + (_HEIGHT - 8) * (high - value) / span, 1)

    points = " ".join(f"{round(place * step, 1)},{height(value)}" for place, value in enumerate(values))
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f'<line x1="0" x2="{_WIDTH}" y1="{height(0.0)}" y2="{height(0.0)}" stroke="#8c8c8c" stroke-width="0.7"/>'
        f'<polyline points="{points}" fill="none" stroke="#3b7dd8" stroke-width="1.6"/></svg>'
    )


def heat_map(values: Sequence[Sequence[float]], names: Sequence[str]) -> str:
    """Return a small matrix as a table of shaded cells, darker for larger values, with a name for each row.

    Examples
    --------
    >>> heat_map([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).count("<td")
    6
    """
    high = max((abs(value) for row in values for value in row), default=0.0) or 1.0
    rows = ""
    for name, row in zip(names, values, strict=True):
        shaded = "".join(
            f'<td style="background:rgba(59,125,216,{abs(value) / high:.2f});min-width:2.6em">{value:.2g}</td>'
            for value in row
        )
        rows += f"<tr><td>{html.escape(name)}</td>{shaded}</tr>"
    return f"<table><tbody>{rows}</tbody></table>"
