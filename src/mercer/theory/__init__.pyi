# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.theory.bound import Bound as Bound
from mercer.theory.bound import Term as Term
from mercer.theory.capacity import Capacities as Capacities
from mercer.theory.capacity import ball_covering as ball_covering
from mercer.theory.capacity import capacity_chain as capacity_chain
from mercer.theory.capacity import hyperplane_dimension as hyperplane_dimension
from mercer.theory.capacity import hyperplane_labellings as hyperplane_labellings
from mercer.theory.capacity import labellings as labellings
from mercer.theory.capacity import sauer_bound as sauer_bound
from mercer.theory.capacity import vc_dimension as vc_dimension
from mercer.theory.capacity import vc_entropy as vc_entropy
from mercer.theory.certificate import Assumption as Assumption
from mercer.theory.certificate import Certificate as Certificate
from mercer.theory.certificate import Estimate as Estimate
from mercer.theory.concentration import clopper_pearson as clopper_pearson
from mercer.theory.concentration import hoeffding_tail as hoeffding_tail
from mercer.theory.concentration import hoeffding_width as hoeffding_width
from mercer.theory.concentration import mcdiarmid_tail as mcdiarmid_tail
from mercer.theory.concentration import mcdiarmid_width as mcdiarmid_width
from mercer.theory.error_distribution import ErrorDistribution as ErrorDistribution
from mercer.theory.error_distribution import error_distribution as error_distribution
from mercer.theory.margin_bounds import boosting_bound as boosting_bound
from mercer.theory.margin_bounds import margin_bound as margin_bound
from mercer.theory.margin_bounds import mkl_bound as mkl_bound
from mercer.theory.margin_bounds import mkl_rademacher as mkl_rademacher
from mercer.theory.margin_bounds import novelty_bound as novelty_bound
from mercer.theory.margin_bounds import ramp_loss as ramp_loss
from mercer.theory.margin_bounds import regression_bound as regression_bound
from mercer.theory.margin_bounds import svm_bound as svm_bound
from mercer.theory.noise_conditions import NoiseExponent as NoiseExponent
from mercer.theory.noise_conditions import massart_gap as massart_gap
from mercer.theory.noise_conditions import noise_exponent as noise_exponent
from mercer.theory.noise_conditions import noise_rate as noise_rate
from mercer.theory.noise_conditions import noise_variance_bound as noise_variance_bound
from mercer.theory.nu_property import NuProperty as NuProperty
from mercer.theory.nu_property import nu_property as nu_property
from mercer.theory.pac_bayes import binary_kl as binary_kl
from mercer.theory.pac_bayes import gibbs_error as gibbs_error
from mercer.theory.pac_bayes import kl_inverse as kl_inverse
from mercer.theory.pac_bayes import pac_bayes_bound as pac_bayes_bound
from mercer.theory.pac_bayes import prior_pac_bayes as prior_pac_bayes
from mercer.theory.pac_bayes import process_divergence as process_divergence
from mercer.theory.pac_bayes import process_pac_bayes as process_pac_bayes
from mercer.theory.pac_bayes import svm_pac_bayes as svm_pac_bayes
from mercer.theory.rademacher import Average as Average
from mercer.theory.rademacher import ball_correlation as ball_correlation
from mercer.theory.rademacher import contracted_rademacher as contracted_rademacher
from mercer.theory.rademacher import empirical_rademacher_bound as empirical_rademacher_bound
from mercer.theory.rademacher import finite_rademacher as finite_rademacher
from mercer.theory.rademacher import gaussian_average as gaussian_average
from mercer.theory.rademacher import hull_correlation as hull_correlation
from mercer.theory.rademacher import hull_rademacher as hull_rademacher
from mercer.theory.rademacher import kernel_ball_rademacher as kernel_ball_rademacher
from mercer.theory.rademacher import linear_rademacher as linear_rademacher
from mercer.theory.rademacher import offset_rademacher as offset_rademacher
from mercer.theory.rademacher import rademacher_average as rademacher_average
from mercer.theory.rademacher import rademacher_bound as rademacher_bound
from mercer.theory.rademacher import stump_correlation as stump_correlation
from mercer.theory.rademacher import union_correlation as union_correlation
from mercer.theory.rademacher import union_rademacher as union_rademacher
from mercer.theory.rates import convergence_rate as convergence_rate
from mercer.theory.rates import excess_risk_bound as excess_risk_bound
from mercer.theory.rates import surrogate_bound as surrogate_bound
from mercer.theory.risk import RiskEstimate as RiskEstimate
from mercer.theory.risk import empirical_minimizer as empirical_minimizer
from mercer.theory.risk import empirical_risk as empirical_risk
from mercer.theory.risk import expected_risk as expected_risk
from mercer.theory.risk import uniform_deviation as uniform_deviation
from mercer.theory.vc_bounds import Structure as Structure
from mercer.theory.vc_bounds import capacity_bound as capacity_bound
from mercer.theory.vc_bounds import luckiness_bound as luckiness_bound
from mercer.theory.vc_bounds import structural_risk as structural_risk
from mercer.theory.vc_bounds import symmetrized_tail as symmetrized_tail
from mercer.theory.vc_bounds import symmetrized_width as symmetrized_width
from mercer.theory.vc_bounds import transductive_bound as transductive_bound
from mercer.theory.vc_bounds import vc_bound as vc_bound
from mercer.theory.vc_bounds import vc_criterion as vc_criterion
__all__ = [
    "Assumption",
    "Average",
    "Bound",
    "Capacities",
    "Certificate",
    "ErrorDistribution",
    "Estimate",
    "NoiseExponent",
    "NuProperty",
    "RiskEstimate",
    "Structure",
    "Term",
    "ball_correlation",
    "ball_covering",
    "binary_kl",
    "boosting_bound",
    "capacity_bound",
    "capacity_chain",
    "clopper_pearson",
    "contracted_rademacher",
    "convergence_rate",
    "empirical_minimizer",
    "empirical_rademacher_bound",
    "empirical_risk",
    "error_distribution",
    "excess_risk_bound",
    "expected_risk",
    "finite_rademacher",
    "gaussian_average",
    "gibbs_error",
    "hoeffding_tail",
    "hoeffding_width",
    "hull_correlation",
    "hull_rademacher",
    "hyperplane_dimension",
    "hyperplane_labellings",
    "kernel_ball_rademacher",
    "kl_inverse",
    "labellings",
    "linear_rademacher",
    "luckiness_bound",
    "margin_bound",
    "massart_gap",
    "mcdiarmid_tail",
    "mcdiarmid_width",
    "mkl_bound",
    "mkl_rademacher",
    "noise_exponent",
    "noise_rate",
    "noise_variance_bound",
    "novelty_bound",
    "nu_property",
    "offset_rademacher",
    "pac_bayes_bound",
    "prior_pac_bayes",
    "process_divergence",
    "process_pac_bayes",
    "rademacher_average",
    "rademacher_bound",
    "ramp_loss",
    "regression_bound",
    "sauer_bound",
    "structural_risk",
    "stump_correlation",
    "surrogate_bound",
    "svm_bound",
    "svm_pac_bayes",
    "symmetrized_tail",
    "symmetrized_width",
    "transductive_bound",
    "uniform_deviation",
    "union_correlation",
    "union_rademacher",
    "vc_bound",
    "vc_criterion",
    "vc_dimension",
    "vc_entropy",
]
