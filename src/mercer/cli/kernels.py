"""``mercer kernels``: the catalogue, made from the classes."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from mercer import catalogue
from mercer.catalogue import Entry, KernelEntry
from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal, pairs

__all__ = ["run"]


def run(terminal: Terminal, *, name: str | None, domain: str | None) -> None:
    """List the kernels or some of them, or describe one."""
    rows = catalogue.kernels()
    if name is not None:
        row = catalogue.named(name)
        if row is not None and domain is None:
            _one(terminal, row)
            return
        rows = _with_word(rows, name)
    if domain is not None:
        rows = _of_domain(rows, domain)
    table = [[row.signature, row.domain, row.validity, row.cost, row.summary.partition(": ")[2]] for row in rows]
    text = lambda: terminal.table(["kernel", "domain", "validity", "cost", "what it is"], table)  # noqa: E731
    terminal.result({"kernels": [_data(row) for row in rows]}, text)


def _of_domain(rows: tuple[KernelEntry, ...], domain: str) -> tuple[KernelEntry, ...]:
    """Those that compare a kind of sample; those that compare anything are among them."""
    known = sorted({row.domain for row in rows})
    match = next((other for other in known if other.lower() in (domain.lower(), domain.lower() + "s")), None)
    if match is None:
        raise UsageFault(f"--domain {domain!r} is not known; there are {', '.join(known)}. Name one of them.")
    return tuple(row for row in rows if row.domain == match)


def _with_word(rows: tuple[KernelEntry, ...], word: str) -> tuple[KernelEntry, ...]:
    """Those with a word in their names, synonyms, domains or descriptions."""
    found = tuple(row for row in rows if word.lower() in _described(row))
    if not found:
        names = [*(row.name for row in rows), *catalogue.synonyms()]
        lower = {other.lower(): other for other in names}
        near = get_close_matches(word.lower(), lower, n=1, cutoff=0.5)
        hint = f"Did you mean {lower[near[0]]!r}?" if near else "'mercer kernels' lists all."
        raise UsageFault(f"There is no kernel {word!r}, and none is described by that word. {hint}")
    return found


def _described(row: KernelEntry) -> str:
    synonyms = vars(row.cls).get("synonyms", ())
    return " ".join([row.name, row.domain, row.validity, *synonyms, inspect.getdoc(row.cls) or ""]).lower()


def _one(terminal: Terminal, row: Entry) -> None:
    head = [("name", row.signature), ("formula", row.formula or "as its parameters say")]
    if isinstance(row, KernelEntry):
        head += [("domain", row.domain), ("validity", row.validity), ("properties", _ticked(row.properties))]
        head += [("offers", _ticked(row.offers)), ("cost", row.cost)]
    for parameter in row.parameters:
        if parameter.accepts:
            head.append((f"  {parameter.name}", parameter.accepts))
    text = inspect.getdoc(row.cls) or ""
    terminal.result({**_data(row), "doc": text}, f"{pairs(head)}\n\n{text}")


def _ticked(known: Any) -> str:
    """The names of what it offers; a question mark where it depends on parameters."""
    words = [
        name.replace("_", " ") + ("?" if value is None else "") for name, value in known.items() if value is not False
    ]
    return ", ".join(words) or "none"


def _data(row: Entry) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": row.name,
        "signature": row.signature,
        "summary": row.summary,
        "formula": row.formula,
        "parameters": [
            {"name": parameter.name, "default": parameter.default, "accepts": parameter.accepts}
            for parameter in row.parameters
        ],
        "offers": row.offers,
    }
    if isinstance(row, KernelEntry):
        facts |= {"domain": row.domain, "validity": row.validity, "properties": row.properties, "cost": row.cost}
    return facts
