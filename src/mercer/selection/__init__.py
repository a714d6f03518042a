"""Criteria by which models are chosen."""

from mercer.selection.automatic import Choice, best_means, best_ridge, find_task, table_kernels
from mercer.selection.cost_path import cost_path
from mercer.selection.hyperparameters import Tuned, tune
from mercer.selection.leave_one_out import leave_one_out, leave_one_out_from_hat
from mercer.selection.margins import best_margin, margin_leave_one_out
from mercer.selection.path import mean_leave_one_out, ridge_path
from mercer.selection.sigmoid import Sigmoid, couple, fit_sigmoid, normalize
from mercer.selection.span import leave_one_out_decisions
from mercer.selection.svm_path import PathEnd, SVMPath, svm_path

__all__ = [
    "Choice",
    "PathEnd",
    "SVMPath",
    "Sigmoid",
    "Tuned",
    "best_margin",
    "best_means",
    "best_ridge",
    "cost_path",
    "couple",
    "find_task",
    "fit_sigmoid",
    "leave_one_out",
    "leave_one_out_decisions",
    "leave_one_out_from_hat",
    "margin_leave_one_out",
    "mean_leave_one_out",
    "normalize",
    "ridge_path",
    "svm_path",
    "table_kernels",
    "tune",
]
