"""Bounds as numbers: each worked from the statement in the seed with a pocket calculator, not by the formula again.

A comment has the sum that was worked; where the seed is misprinted or silent, that of the docstring.
"""

import math

import numpy as np
import pytest

from mercer import theory as th


def full(m, value):
    return np.full(m, float(value))


HANDS = {
    # 2 exp(-2), for 100 coins and for ranges 1, 2, 2, whose squares sum to 9
    "Hoeffding": (lambda: th.hoeffding_tail(100, 0.1), 0.270670566473225),
    "Hoeffding, ranges": (lambda: th.hoeffding_tail(3, 1.0, [1.0, 2.0, 2.0]), 0.270670566473225),
    # sqrt(ln 40 / 400) = sqrt(3.688879454 / 400)
    "Hoeffding, width": (lambda: th.hoeffding_width(200, 0.05), 0.096032279131992),
    # exp(-2 * 0.25 / (0.09 + 0.16)); sqrt(25 / 2 * ln 20) = sqrt(12.5 * 2.995732274)
    "McDiarmid": (lambda: th.mcdiarmid_tail(0.5, [0.3, 0.4]), 0.135335283236613),
    "McDiarmid, width": (lambda: th.mcdiarmid_width([3.0, 4.0], 0.05), 6.11936707670204),
    # no failure in 20 trials: 1 - 0.025^(1/20) = 1 - exp(-3.688879454 / 20)
    "Clopper-Pearson": (lambda: th.clopper_pearson(0, 20)[1], 0.168433470983085),
    # 0.1 + 0.2 + sqrt(ln 20 / 400), and + 3 sqrt(ln 40 / 400)
    "Rademacher": (lambda: th.rademacher_bound(0.1, 0.2, 200, 0.05), 0.386540919130114),
    "empirical Rademacher": (lambda: th.empirical_rademacher_bound(0.1, 0.2, 200, 0.05), 0.588096837395976),
    # 2 * 3 / 10 * sqrt(1 + 3 + 5 + 7 + 9 + 0 * 5) = 0.6 * 5
    "ball": (lambda: th.kernel_ball_rademacher([1.0, 3.0, 5.0, 7.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0], 3.0), 3.0),
    # 2 * 0.5 * sqrt(2 * 2.079441542 / 50)
    "finite class": (lambda: th.finite_rademacher(8, 50, 0.5), 0.288405377320177),
    # 2 / 10 * 3 * (1 + 1.177410023)
    "union of balls": (lambda: th.union_rademacher([4.0, 9.0], 10), 1.306446013509285),
    # 6 sqrt(1.386294361 / 72); 0.5 * 2 / 5 * (2 * 3 + 1.177410023)
    "offset": (lambda: th.offset_rademacher(3.0, 72), 0.832554611157698),
    "linear functions": (lambda: th.linear_rademacher(25, 2.0, 3.0, 1.0, 0.5), 1.435482004503095),
    "hull": (lambda: th.hull_rademacher(0.125, 3.0), 0.375),
    # 0.01 / 0.5 + 4 * sqrt(400) / (100 * 0.5) + 3 sqrt(ln 100 / 200) = 0.02 + 1.6 + 0.455228139
    "SVM": (lambda: th.svm_bound(full(100, 0.01), full(100, 4), 0.5, 0.02), 2.075228138815544),
    # 0.25 + 2 * 0.1 + 0.288096837
    "boosting": (lambda: th.boosting_bound(full(200, 0.25), 2.0, 0.1), 0.738096837395976),
    # 0.05 / 4 + 6 * 4 / (4 * 20) + 3 sqrt(ln 40 / 800) = 0.0125 + 0.3 + 0.203715227
    "novelty": (lambda: th.novelty_bound(full(400, 0.05), 2.0, 4.0), 0.516215227361093),
    # 2 * sqrt(200) / (200 / 2) + 8 * 2 * sqrt(ln 120 / 400) + 3 sqrt(ln 80 / 400)
    "many kernels": (lambda: th.mkl_bound(np.zeros(200), [200.0, 50.0], 0.5), 2.347269083826042),
    # y g = 1 everywhere: gamma = 1 has half of delta, 0.02 + 3 sqrt(ln(2 * 2 / 0.05) / 2000)
    "margin": (lambda: th.margin_bound(full(1000, 2), 2.0, 0.02), 0.16042478362466),
    # the offset 0.5 / 2 = 2^-2 is fifth of 0, 1, -1, 2, -2 (1 / 30), and three kernels were tried:
    # 0.02 + 2 / 4 * sqrt(2 ln 2 / 1000) + 3 sqrt(ln(2 * 3 * 2 * 30 / 0.05) / 2000)
    "margin, offset, choices": (
        lambda: th.margin_bound(full(1000, 2), 2.0, 0.02, offset=0.5, choices=3),
        0.238537129742634,
    ),
    # norm 1.5 <= 2, third of the powers (1 / 12); offset 0.3 <= 1, the first (1 / 2):
    # 0.1 + 2 * 0.02 + 2 * sqrt(2 ln 2 / 1000) + 3 * 2 * sqrt(ln(2 * 12 * 2 / 0.05) / 2000)
    "bounded loss": (
        lambda: th.regression_bound(full(1000, 0.1), 1.5, 0.02, width=2.0, offset=0.3),
        0.566040690090266,
    ),
    # 0.05 + sqrt((12 + ln 25) / 500); with ln 100 and 1 / 500
    "capacity, printed": (lambda: th.capacity_bound(0.05, 500, 12.0, 0.04, printed=True), 0.224464184432612),
    "capacity": (lambda: th.capacity_bound(0.05, 500, 12.0, 0.04), 0.234237044455775),
    # the same with 5 (ln(1000 / 5) + 1) = 31.491586833 for 12
    "VC, printed": (lambda: th.vc_bound(0.05, 500, 5, 0.04, printed=True), 0.313478510158261),
    "VC": (lambda: th.vc_bound(0.05, 500, 5, 0.04), 0.320688507453253),
    # 0.08 + sqrt((20 (ln 100 + 1) + ln(4 * 2 / 0.05)) / 1000) + 0.001
    "structure": (lambda: th.structural_risk([0.1, 0.08], [4, 20], 1000).bounds[1], 0.423313566098388),
    # [1.5^2 * 2^2] + 1
    "margin hyperplanes": (lambda: th.hyperplane_dimension(1.5, 2.0, 100), 10),
    # 1 + 10 + 45 + 120, and 2 (1 + 9 + 36)
    "growth": (lambda: math.exp(th.sauer_bound(10, 3)), 176),
    "hyperplanes": (lambda: math.exp(th.hyperplane_labellings(10, 2)), 92),
    # 2 (ln 10 + 1)
    "chain": (lambda: th.capacity_chain(20, 2).dimension, 6.605170185988091),
    # 4 exp(3 - 12.5); sqrt((10 + ln 80) / 100)
    "symmetrisation": (lambda: th.symmetrized_tail(100, 1.0, 3.0), 2.994073195508e-4),
    "symmetrisation, width": (lambda: th.symmetrized_width(800, 10.0, 0.05), 0.379236425395477),
    # 100 99 98 97 / (200 199 198 197) = 0.0606, times 96 / 196 = 0.0297 < 0.05: four errors of a hundred at most
    "transductive": (lambda: th.transductive_bound(0, 100, 100), 0.04),
    # k = [577 * 4] = 2308, m = 10^7: 2 / m * (2308 * 16.5237 * 28.2535 + 30.5754)
    "luckiness": (lambda: th.luckiness_bound(10**7, 0.5, 1.0), 0.215505975309709),
    # four half-axes of length one, eps = 1/2: 4 ln 2, and 4 ln(6 sqrt 2)
    "covering, low": (lambda: th.ball_covering([100.0] * 4 + [0.0] * 96, 0.5)[0], 2.772588722239781),
    "covering, high": (lambda: th.ball_covering([100.0] * 4 + [0.0] * 96, 0.5)[1], 8.55333223803211),
    # 4 * 3 * 2 * 0.5 / 20 * (2.447746831 + 0.5 + 2.354820045)
    "rate": (lambda: th.convergence_rate(400, 2.0, 3.0, 1.5, 0.5), 3.181540125427059),
    # 0.1 + 4 * 0.05 + 8 * 0.5 * (3 + 6 * 1.177410023) / 1000 + 8 * 7 * sqrt(ln 40 / 2000000)
    "excess risk": (
        lambda: th.excess_risk_bound(10**6, 2.0, 3.0, 1.5, 0.5, approximation=0.05, bayes=0.1),
        0.416311525421846,
    ),
    # 4 * 0.25; sqrt(8 * 0.02)
    "surrogate, hinge": (lambda: th.surrogate_bound(0.25), 1.0),
    "surrogate, logistic": (lambda: th.surrogate_bound(0.02, "logistic"), 0.4),
    # min over u of 3 u^2 + 0.01 / (2 u), at u^3 = 0.01 / 12
    "noise, gamma 2": (lambda: th.noise_variance_bound(0.01, 2.0, 3.0), 0.079699392688696),
    "noise, Massart": (lambda: th.noise_variance_bound(0.1, math.inf, gap=0.25), 0.2),
    # 10^(-8 * (1 + 2) / (2 + 2))
    "noise, rate": (lambda: th.noise_rate(10**8, 2.0), 1e-6),
    # 0.1 ln(1/2) + 0.9 ln(9/8)
    "kl": (lambda: th.binary_kl(0.1, 0.2), 0.036690014034751),
    # 0.1 ln(0.1 / p) + 0.9 ln(0.9 / (1 - p)) = 0.02
    "kl, inverse": (lambda: th.kl_inverse(0.1, 0.02), 0.170383627568828),
    # 1 - exp(-(3 + ln(2 * 20 / 0.05)) / 400), and twice
    "PAC-Bayes, Gibbs": (lambda: th.pac_bayes_bound(0.0, 3.0, 400), 0.023920781453348),
    "PAC-Bayes": (lambda: th.pac_bayes_bound(0.0, 3.0, 400, deterministic=True), 0.047841562906697),
    # (Phi(-2) + Phi(-1) + Phi(1) + 1/2) / 4 = (0.022750132 + 1.5) / 4
    "Gibbs error": (lambda: th.gibbs_error([1.0, 0.5, -0.5, 0.0], 2.0), 0.380687532987045),
    # (ln 2 - ln 0.5 + 0.5 / 2 + 1 / 2 - 1) / 2
    "divergence of processes": (lambda: th.process_divergence([1.0], [[0.5]], [[2.0]]), 0.568147180559945),
    # twice the p with kl(Phi(-3) | p) = (30 + ln(2 sqrt(1000) / 0.05)) / 1000
    "PAC-Bayes, process": (lambda: th.process_pac_bayes(full(1000, 3), 30.0), 0.084559353644745),
}  # fmt: skip


@pytest.mark.parametrize("name", HANDS)
def test_by_hand(name):
    """Twelve digits were written down; inverses of kl are found to 2^-60."""
    function, number = HANDS[name]
    assert float(function()) == pytest.approx(number, rel=1e-11)


@pytest.mark.parametrize(
    ("bound", "number"),
    [
        # the least over mu of twice the p with kl(Phi(-mu / 2) | p) = (mu^2 / 2 + ln(2 sqrt(1000) / 0.05)) / 1000
        pytest.param(lambda: th.svm_pac_bayes(full(1000, 0.5)), 0.0604073463, id="prior at zero"),
        # ... = ((mu^2 + eta^2 - 1.8 mu eta) / 2 + ln(8 * 2 sqrt(1000) / 0.05)) / 1000, eta = 5 of eight
        pytest.param(lambda: th.prior_pac_bayes(full(1000, 0.5), 0.9), 0.0315074033, id="learned prior"),
    ],
)
def test_bounds_of_the_best_scale_by_hand(bound, number):
    """The grid of mu is finite: it cannot fall below the least value, and its steps of 6 % cost little."""
    assert number * (1.0 - 1e-6) <= bound() <= 1.01 * number


def test_the_logarithm_of_pac_bayes_covers_its_sum():
    """Maurer's sum over k of binom(m, k) (k/m)^k (1 - k/m)^(m-k) is at most 2 sqrt(m), and not far below."""
    for m in (*range(1, 60), 500):
        exact = sum(math.comb(m, k) * (k / m) ** k * (1.0 - k / m) ** (m - k) for k in range(m + 1))
        assert 0.6 * 2.0 * math.sqrt(m) < exact <= 2.0 * math.sqrt(m)
    # no errors, no divergence, delta = 1/2, m = 16: 1 - (1 / (2 * 8))^(1/16) = 1 - 2^(-1/4)
    assert th.pac_bayes_bound(0.0, 0.0, 16, 0.5) == pytest.approx(0.159103584746285, rel=1e-12)
