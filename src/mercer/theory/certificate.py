"""Certificates: all that theory and data say about how far a fitted model can be trusted, in one object.

Symbols: m samples, delta the probability of failure of each bound.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mercer.notebooks import array
from mercer.theory.bound import Bound

__all__ = ["Assumption", "Certificate", "Estimate"]
__public__ = __all__

_ANSWERS = {True: "yes", False: "NO", None: "not checked"}


@dataclass(frozen=True)
class Assumption:
    """Something that the bounds need, and whether it holds here.

    Parameters
    ----------
    text : str
        What is assumed.
    holds : bool or None
        None where it cannot be checked.
    note : str
        How it was decided, or what the user has to know.

    Examples
    --------
    >>> Assumption("the samples are independent", None, "this cannot be seen from data").answer
    'not checked'
    """

    text: str
    holds: bool | None
    note: str = ""

    @property
    def answer(self) -> str:
        """Return "yes", "NO" or "not checked"."""
        return _ANSWERS[self.holds]


@dataclass(frozen=True)
class Estimate:
    """A risk measured on samples, with an interval.

    Parameters
    ----------
    name : str
        "training", "leave-one-out", "5-fold", "hold-out".
    value : float
    low, high : float
        The interval.
    n : int
        How many samples it is the mean of.
    exact : bool
        Whether the interval covers as often as it says. That of samples which the model was fitted to, or of models
        that were fitted to one another's samples, does not.

    Examples
    --------
    >>> Estimate("hold-out", 0.1, 0.05, 0.18, 100, True).value
    0.1
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""How far a fitted model can be trusted: bounds with all their terms, what they assume, and what samples say.

    Seed: [ST] "Final SVM bound"; [HSS] Section 3.2; [SS] Section 2.3.4. A certificate only collects the numbers of the
    functions of `mercer.theory`.

    Parameters
    ----------
    model : str
        What was certified.
    quantity : str
        What is bounded: "P(error)", "P(outside)", "E |y - f|".
    n : int
        m, the samples that the bounds are computed from.
    delta : float
        With at most this probability one of the bounds that pay for all that was learned fails.
    bounds : tuple of Bound
    estimates : tuple of Estimate
    assumptions : tuple of Assumption
    notes : tuple of str
        What was left out, and why.
    loose : frozenset of str
        Names of bounds in which something learned from the same data is not paid for.

    Notes
    -----
    ``print(certificate)`` shows all of it as a table, a notebook as HTML, and `mercer.plots.CertificateDisplay` as a
    picture. A bound that has unpaid parts which were learned from the same data is no certificate: `best` takes the
    smallest of the others.

    Examples
    --------
    >>> from mercer.theory import svm_pac_bayes
    >>> bound = svm_pac_bayes([0.5] * 1000)
    >>> certificate = Certificate("SVC", "P(error)", 1000, 0.05, (bound,), (), ())
    >>> print(certificate.verdict)
    With probability 0.95, P(error) is at most 0.0606 (PAC-Bayes, prior at zero), if the assumptions hold.
    """

    model: str
    quantity: str
    n: int
    delta: float
    bounds: tuple[Bound, ...]
    estimates: tuple[Estimate, ...]
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...] = ()
    loose: frozenset[str] = field(default_factory=frozenset)

    @property
    def best(self) -> Bound | None:
        """The smallest bound in which everything learned is paid for; None if there is none."""
        paid = [bound for bound in self.bounds if bound.name not in self.loose]
        return min(paid, default=None)

    @property
    def holds(self) -> bool:
        """Whether no assumption is known to be broken."""
        return all(assumption.holds is not False for assumption in self.assumptions)

    @property
    def is_vacuous(self) -> bool:
        """Whether no bound says more than what is true without data."""
        return self.best is None or self.best.is_vacuous

    @property
    def verdict(self) -> str:
        """What the certificate comes to, in a sentence or two."""
        best = self.best
        if best is None:
            return "There is no bound for this model."
        sure, value = f"{1.0 - self.delta:g}", f"{float(best):.3g} ({best.name})"
        if best.is_vacuous:
            text = (
                f"The bounds are vacuous: the smallest is {value}, and {best.trivial:.3g} is true of any model. They "
                "say nothing here; more samples or wider margins would help. Trust a hold-out instead."
            )
        elif self.holds:
            text = f"With probability {sure}, {self.quantity} is at most {value}, if the assumptions hold."
        else:
            text = f"That {self.quantity} is at most {value} is not certified: an assumption does not hold."
        broken = "; ".join(f"{one.text}: {one.note}" for one in self.assumptions if one.holds is False)
        return f"{text} Broken: {broken}." if broken else text

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the lines of the table: kind, name, formula or remark, value."""
        for bound in self.bounds:
            remarks = [bound.bounds]
            remarks += ["vacuous"] if bound.is_vacuous else []
            remarks += ["no certificate: not all that was learned is paid for"] if bound.name in self.loose else []
            yield "bound", bound.name, "; ".join(remarks), f"{float(bound):.4g}"
            for term in bound.terms:
                yield "term", term.name, term.formula, f"{term.value:.4g}"
        for one in self.estimates:
            kind = "exact" if one.exact else "a guide"
            interval = f"{100 * (1 - self.delta):g} % interval [{one.low:.4g}, {one.high:.4g}], {kind}, n = {one.n}"
            yield "estimate", one.name, interval, f"{one.value:.4g}"
        for assumption in self.assumptions:
            yield "assumption", assumption.text, assumption.note, assumption.answer

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, for JSON."""
        return {
            "model": self.model,
            "quantity": self.quantity,
            "n": self.n,
            "delta": self.delta,
            "verdict": self.verdict,
            "vacuous": self.is_vacuous,
            "bounds": [
                {
                    "name": bound.name,
                    "bounds": bound.bounds,
                    "value": float(bound),
                    "vacuous": bound.is_vacuous,
                    "certified": bound.name not in self.loose,
                    "formula": bound.formula,
                    "terms": [term._asdict() for term in bound.terms],
                    "paid": list(bound.paid),
                    "unpaid": list(bound.unpaid),
                }
                for bound in self.bounds
            ],
            "estimates": [vars(one).copy() for one in self.estimates],
            "assumptions": [{"text": a.text, "holds": a.holds, "note": a.note} for a in self.assumptions],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"Certificate of {self.model} on {self.n} samples, delta = {self.delta:g}", "", self.verdict]
        shown = list(self.rows())
        wide = max((len(name) + 2 * (kind == "term") for kind, name, _, _ in shown), default=0)
        before = ""
        for kind, name, text, value in shown:
            if kind != before and not (kind == "term" or (kind == "bound" and before == "term")):
                lines += ["", {"bound": "Bounds", "estimate": "Measured", "assumption": "Assumptions"}[kind]]
            indent = "    " if kind == "term" else "  "
            lines.append(f"{indent}{name:{wide + 2 - len(indent)}}  {value:>11}  {text}".rstrip())
            before = kind
        if self.notes:
            lines += ["", "Notes", *(f"  {note}" for note in self.notes)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        best = "none" if self.best is None else f"{float(self.best):.3g}"
        return f"<Certificate of {self.model}: {self.quantity} <= {best} at {1.0 - self.delta:g}, {self.n} samples>"

    def _repr_latex_(self) -> str:
        cells = [(f"{kind}: {name}", value) for kind, name, _, value in self.rows()]
        return array(f"Certificate of {self.model}, {self.n} samples, delta = {self.delta:g}", cells, self.verdict)

    def _repr_html_(self) -> str:
        cells = []
        for kind, name, text, value in self.rows():
            style = ' style="font-weight:bold"' if kind == "bound" else ""
            indent = "&emsp;" if kind == "term" else ""
            shown = (f"{indent}{html.escape(name)}", html.escape(value), html.escape(text))
            cells.append(f"<tr{style}><td>{kind}</td>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<div><p><b>Certificate of {html.escape(self.model)}</b>, {self.n} samples, delta = {self.delta:g}.</p>"
            f"<p>{html.escape(self.verdict)}</p><table><thead><tr><th></th><th>name</th><th>value</th><th>formula</th>"
            f"</tr></thead><tbody>{''.join(cells)}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "") + "</div>"
        )
