"""A page about a fitted model: self-contained HTML to keep, to print and to show."""

from mercer.reports.report import Report, report

__all__ = ["Report", "report"]
