"""Criteria by which models are chosen."""

from mercer.selection.automatic import Choice, best_means, best_ridge, find_task, table_kernels
from mercer.selection.cost_path import cost_path
from mercer.selection.cross_validation import fold_predictions, generalized_cross_validation, partition
from mercer.selection.decision import decide, expected_loss
from mercer.selection.grid_path import grid_path
from mercer.selection.hyperparameters import Search, Tuned, tune
from mercer.selection.least_squares_evidence import LeastSquaresCriterion, LeastSquaresPosterior, Moderation
from mercer.selection.least_squares_path import LeastSquaresPath, lssvm_path
from mercer.selection.leave_one_out import leave_one_out, leave_one_out_from_hat
from mercer.selection.margins import best_margin, margin_leave_one_out
from mercer.selection.noise import noise_variance, residual_variance
from mercer.selection.path import RidgeSpectrum, mean_leave_one_out, ridge_path
from mercer.selection.pruning import Pruned, prune
from mercer.selection.shared_grams import GridScores, grid_scores
from mercer.selection.sigmoid import Sigmoid, couple, fit_sigmoid, normalize
from mercer.selection.span_bound import leave_one_out_decisions
from mercer.selection.svm_path import PathEnd, SVMPath, svm_path

__all__ = [
    "Choice",
    "GridScores",
    "LeastSquaresCriterion",
    "LeastSquaresPath",
    "LeastSquaresPosterior",
    "Moderation",
    "PathEnd",
    "Pruned",
    "RidgeSpectrum",
    "SVMPath",
    "Search",
    "Sigmoid",
    "Tuned",
    "best_margin",
    "best_means",
    "best_ridge",
    "cost_path",
    "couple",
    "decide",
    "expected_loss",
    "find_task",
    "fit_sigmoid",
    "fold_predictions",
    "generalized_cross_validation",
    "grid_path",
    "grid_scores",
    "leave_one_out",
    "leave_one_out_decisions",
    "leave_one_out_from_hat",
    "lssvm_path",
    "margin_leave_one_out",
    "mean_leave_one_out",
    "noise_variance",
    "normalize",
    "partition",
    "prune",
    "residual_variance",
    "ridge_path",
    "svm_path",
    "table_kernels",
    "tune",
]
