"""Everything that a report says, gathered before it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mercer.reports import evidence
from mercer.reports import model_section as model
from mercer.reports.answer import AnswerFacts
from mercer.reports.curve import CurveFacts, SurfaceFacts
from mercer.reports.data import DataFacts
from mercer.reports.figures import Figure
from mercer.reports.importance import DependenceFacts, ImportanceFacts
from mercer.reports.recipe import Recipe
from mercer.reports.scores import ScoreFacts
from mercer.reports.wording import counted, number, percent
from mercer.theory import Certificate

if TYPE_CHECKING:  # samples without parts need not import it
    from mercer.reports.weighty import WeightyFacts

__all__ = ["Facts"]


@dataclass(eq=False)
class Facts:
    """Everything a report says; a section that was left out is None and has its reason in `omitted`."""

    title: str
    name: str
    text: str
    task: str
    created: str
    n_samples: int | None
    n_used: int | None
    seconds: float = 0.0
    answer: AnswerFacts | None = None
    importance: ImportanceFacts | None = None
    dependence: tuple[DependenceFacts, ...] = ()
    curve: CurveFacts | None = None
    surface: SurfaceFacts | None = None
    weighty: WeightyFacts | None = None
    data: DataFacts | None = None
    kernel: model.KernelFacts | None = None
    parameters: tuple[model.ParameterFacts, ...] = ()
    scores: ScoreFacts | None = None
    left_out: evidence.LeftOutFacts | None = None
    residuals: evidence.ResidualFacts | None = None
    roc: evidence.RocFacts | None = None
    precision: evidence.PrecisionFacts | None = None
    mistakes: tuple[evidence.Mistake, ...] = ()
    excerpts: dict[int, str] = field(default_factory=dict)
    calibration: evidence.CalibrationFacts | None = None
    confusion: evidence.ConfusionFacts | None = None
    certificate: Certificate | None = None
    coefficients: model.CoefficientFacts | None = None
    condition: model.ConditionFacts | None = None
    deeds: tuple[str, ...] = ()
    recipe: Recipe | None = None
    notes: tuple[str, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)
    omitted: list[tuple[str, str]] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def key_figures(self) -> tuple[tuple[str, str, str], ...]:
        """The few numbers at the top of the page: (label, value, remark)."""
        rows: list[tuple[str, str, str]] = []
        if self.scores:
            for name in self.scores.names[:2]:
                spread = f"± {number(self.scores.deviation[name], 2)} {self.scores.spread}"
                base = self.scores.baseline.get(name)
                beside = "" if base is None else f"; simplest guess {number(base, 3)}"
                rows.append((name, number(self.scores.mean[name], 3), spread + beside))
        if self.data:
            columns = counted(self.data.n_columns, "column") if self.data.n_columns else self.data.domain
            rows.append(("samples", number(self.data.n_samples), columns))
        if self.coefficients and self.coefficients.n:
            used = self.coefficients.n - self.coefficients.n_zero
            remark = f"not zero: {percent(used / self.coefficients.n)} of {number(self.coefficients.n)}"
            if self.coefficients.what == "support vectors":
                known = self.n_samples is not None and self.n_samples >= used
                remark = f"{percent(used / self.n_samples)} of the samples" if known and self.n_samples else "are kept"
            rows.append((self.coefficients.what, number(used), remark))
        return tuple(rows)
