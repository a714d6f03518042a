"""The certificate of a report: bounds from theory on the model that was fitted."""

from __future__ import annotations

from dataclasses import replace

from mercer.errors import CapabilityError
from mercer.reports.subject import NotApplicable, Subject
from mercer.theory import Certificate

__all__ = ["certified"]

_PIPELINE = "Earlier steps of the pipeline that learned from the same samples are not paid for."


def certified(subject: Subject) -> Certificate:
    """Return the certificate of the model of a report, without refits for folds: these are in the section of scores."""
    model, S = subject.model, subject.samples
    if not hasattr(model, "certificate"):
        raise NotApplicable(f"there are no bounds for {type(model).__name__}")
    if subject.X is None or S is None:
        raise NotApplicable("it needs the training samples: give X and y to the report")
    try:
        own = model is subject.estimator
        found = model.certificate(subject.X if own else S, subject.y, cv=None)
    except CapabilityError as reason:
        raise NotApplicable(str(reason)) from None
    return found if own else replace(found, notes=(*found.notes, _PIPELINE))
