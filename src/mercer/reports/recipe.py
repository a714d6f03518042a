"""How to reproduce it: the code that fits the same model, read back before it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mercer
from mercer.errors import MercerError
from mercer.reports.subject import Subject
from mercer.reports.wording import number, shown
from mercer.spec import written

__all__ = ["Recipe", "recipe"]

LONGEST_TEXT = 2000  # of a model that cannot be read back


@dataclass(frozen=True)
class Recipe:
    """Code that fits the same model again, and whether it has been read back."""

    code: str
    text: str
    is_complete: bool
    remark: str


def recipe(subject: Subject, cv: Any = "auto") -> Recipe:
    """Return the lines that reproduce the model and the report."""
    model = subject.model
    text = written(model)
    if hasattr(model, "story_") and model is subject.estimator:
        lines = [
            "import mercer",
            "",
            "model = mercer.automatic(X, y)",
            'mercer.report(model, X, y, path="report.html")',
        ]
        remark = "The same choice is made again from the same samples and the options named above."
        return Recipe("\n".join(lines), shown(text, LONGEST_TEXT), True, remark)
    try:
        again = written(mercer.parse(text))
    except MercerError as error:
        reason = shown(str(error).partition("\n")[0], 300)
        return Recipe("", shown(text, LONGEST_TEXT), False, f"The text of the model cannot be read back: {reason}")
    fit = "fit(X)" if subject.y is None else "fit(X, y)"
    data = "X" if subject.y is None else "X, y"
    size = f"  # the {number(subject.n)} samples given" if subject.n else ""
    folds = f", cv={cv}" if isinstance(cv, int) else ""
    lines = [
        "import mercer",
        "",
        f"model = mercer.parse({text!r})",
        f"model.{fit}{size}",
        f'mercer.report(model, {data}{folds}, path="report.html")',
    ]
    whole = again == text and model is subject.estimator
    remark = "" if whole else "Steps of the pipeline before the last one must be added."
    return Recipe("\n".join(lines), text, whole, remark)
