# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.selection.automatic import base_kernels as base_kernels
from mercer.selection.automatic import find_task as find_task
from mercer.selection.automatic import table_kernels as table_kernels
from mercer.selection.bounds.alignment_criterion import AlignmentCriterion as AlignmentCriterion
from mercer.selection.bounds.alignment_criterion import target_alignment as target_alignment
from mercer.selection.bounds.approximate_cv import generalized_approximate_cv as generalized_approximate_cv
from mercer.selection.bounds.approximate_cv import span_bound as span_bound
from mercer.selection.bounds.approximate_cv import span_rule as span_rule
from mercer.selection.bounds.radius_margin import RadiusMargin as RadiusMargin
from mercer.selection.bounds.radius_margin import RadiusMarginCriterion as RadiusMarginCriterion
from mercer.selection.bounds.radius_margin import radius_margin as radius_margin
from mercer.selection.bounds.radius_margin import smallest_ball as smallest_ball
from mercer.selection.bounds.span_bound import leave_one_out_decisions as leave_one_out_decisions
from mercer.selection.cost_path import cost_path as cost_path
from mercer.selection.cross_validation import fold_predictions as fold_predictions
from mercer.selection.cross_validation import generalized_cross_validation as generalized_cross_validation
from mercer.selection.cross_validation import partition as partition
from mercer.selection.decision import decide as decide
from mercer.selection.decision import expected_loss as expected_loss
from mercer.selection.grid_path import grid_path as grid_path
from mercer.selection.hyperparameters import Search as Search
from mercer.selection.hyperparameters import Tuned as Tuned
from mercer.selection.hyperparameters import tune as tune
from mercer.selection.least_squares_evidence import LeastSquaresCriterion as LeastSquaresCriterion
from mercer.selection.least_squares_evidence import LeastSquaresPosterior as LeastSquaresPosterior
from mercer.selection.least_squares_evidence import Moderation as Moderation
from mercer.selection.least_squares_path import LeastSquaresPath as LeastSquaresPath
from mercer.selection.least_squares_path import lssvm_path as lssvm_path
from mercer.selection.leave_one_out import leave_one_out as leave_one_out
from mercer.selection.leave_one_out import leave_one_out_from_hat as leave_one_out_from_hat
from mercer.selection.margins import margin_leave_one_out as margin_leave_one_out
from mercer.selection.noise import noise_variance as noise_variance
from mercer.selection.noise import residual_variance as residual_variance
from mercer.selection.path import RidgeSpectrum as RidgeSpectrum
from mercer.selection.path import mean_leave_one_out as mean_leave_one_out
from mercer.selection.path import ridge_path as ridge_path
from mercer.selection.pruning import Pruned as Pruned
from mercer.selection.pruning import prune as prune
from mercer.selection.sigmoid import Sigmoid as Sigmoid
from mercer.selection.sigmoid import couple as couple
from mercer.selection.sigmoid import fit_sigmoid as fit_sigmoid
from mercer.selection.sigmoid import normalize as normalize
from mercer.selection.svm_path import PathEnd as PathEnd
from mercer.selection.svm_path import SVMPath as SVMPath
from mercer.selection.svm_path import svm_path as svm_path
from mercer.selection.tables.table_encoder import TableEncoder as TableEncoder
from mercer.selection.tables.text_column import TextColumn as TextColumn
from mercer.selection.virtual_samples import VirtualSamples as VirtualSamples
__all__ = [
    "AlignmentCriterion",
    "LeastSquaresCriterion",
    "LeastSquaresPath",
    "LeastSquaresPosterior",
    "Moderation",
    "PathEnd",
    "Pruned",
    "RadiusMargin",
    "RadiusMarginCriterion",
    "RidgeSpectrum",
    "SVMPath",
    "Search",
    "Sigmoid",
    "TableEncoder",
    "TextColumn",
    "Tuned",
    "VirtualSamples",
    "base_kernels",
    "cost_path",
    "couple",
    "decide",
    "expected_loss",
    "find_task",
    "fit_sigmoid",
    "fold_predictions",
    "generalized_approximate_cv",
    "generalized_cross_validation",
    "grid_path",
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
    "radius_margin",
    "residual_variance",
    "ridge_path",
    "smallest_ball",
    "span_bound",
    "span_rule",
    "svm_path",
    "table_kernels",
    "target_alignment",
    "tune",
]
