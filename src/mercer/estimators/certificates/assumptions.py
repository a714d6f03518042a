"""What bounds assume of a fitted model: that its class of functions was fixed before the sample.

A kernel that was chosen between several on the same sample is paid for by a union over them. Searches that fit a model
leave their number in it: ``candidates_``, or None where no list of kernels was there before the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mercer import theory  # whose names are imported when they are used
from mercer.domains import Samples
from mercer.estimators.certificates.measured_errors import Request
from mercer.kernels import Kernel, Precomputed

__all__ = ["assumptions_of", "count_settings", "kernel_assumption", "known_candidates", "leave_note"]

_FREE = ("C", "alpha", "nu", "epsilon", "class_weight", "loss", "tol")  # every function of a ball is covered


def count_settings(params: Iterable[Mapping[str, Any]], model: Any) -> int:
    """Return how many of some settings change the space, and not only which function of it is taken.

    Only the model's own parameters are free: ``alpha`` of a ridge is, ``kernel__alpha`` is another kernel.

    Examples
    --------
    >>> count_settings([{"C": 1.0, "kernel__degree": 2}, {"C": 10.0, "kernel__degree": 2}], None)
    1
    >>> count_settings([{"kernel__nu": 0.5}, {"kernel__nu": 1.5}], None)
    2
    """
    own = ""
    while hasattr(model, "steps"):  # the last step of a pipeline is the model
        step, model = model.steps[-1]
        own += f"{step}__"
    free = {own + name for name in _FREE}
    kept = (sorted((name, repr(value)) for name, value in setting.items() if name not in free) for setting in params)
    return len({repr(one) for one in kept})


def leave_note(model: Any, candidates: int | None) -> None:
    """Write into a fitted model between how many kernels was chosen; None if they were not fixed before the sample."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "certificate"):
        last.candidates_ = candidates


def known_candidates(model: Any, given: Any) -> tuple[Any, bool]:
    """Return how many kernels have to be paid for, and whether there was a list of them before the sample."""
    if given is None:
        noted = getattr(model, "candidates_", 1)
        return (1, False) if noted is None else (noted, True)
    results = getattr(given, "cv_results_", None)
    if results is None:
        return given, True
    return count_settings(results["params"], getattr(given, "estimator", model)), True


def assumptions_of(model: Any, asked: Request, T: Samples) -> tuple[theory.Assumption, ...]:
    """Return what the bounds of a model need, and whether it holds."""
    independent = theory.Assumption(
        "samples are independent, and new ones are drawn alike", None, "data do not show it"
    )
    if not asked.fixed:
        text = "the kernel was fixed before the sample was seen"
        return independent, theory.Assumption(text, False, "it was found on the sample, and not in a list made before")
    return independent, model._class_assumption(asked.candidates, T)


def kernel_assumption(model: Any, candidates: int) -> theory.Assumption:
    """Return whether the kernel of a model was fixed before the sample was seen."""
    text = "the kernel was fixed before the sample was seen"
    given = getattr(model, "kernel", model.kernel_)
    if isinstance(given, Precomputed) or (isinstance(given, str) and given == "precomputed"):
        return theory.Assumption(text, None, "the similarities must not depend on the labels")
    if not isinstance(given, Kernel) or given != model.kernel_:
        shown = f"{model.kernel_!r:.80}"
        return theory.Assumption(text, False, f"fit has learned {shown} from it; give that kernel for the next sample")
    if candidates > 1:
        return theory.Assumption(f"the kernel is one of {candidates} that were fixed before", None, "paid for")
    return theory.Assumption(text, None, "fit has learned nothing in it; if it was tuned, say candidates=")
