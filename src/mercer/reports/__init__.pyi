# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.reports.report import Report as Report
from mercer.reports.report import report as report
__all__ = [
    "Report",
    "report",
]
