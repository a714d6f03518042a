"""Criteria by which models are chosen."""

from mercer.selection.automatic import Choice, best_means, best_ridge, find_task, table_kernels
from mercer.selection.leave_one_out import leave_one_out, leave_one_out_from_hat
from mercer.selection.path import mean_leave_one_out, ridge_path

__all__ = [
    "Choice",
    "best_means",
    "best_ridge",
    "find_task",
    "leave_one_out",
    "leave_one_out_from_hat",
    "mean_leave_one_out",
    "ridge_path",
    "table_kernels",
]
