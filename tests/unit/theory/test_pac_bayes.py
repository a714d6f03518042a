import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from mercer.errors import DomainError, ParameterError
from mercer.theory import (
    binary_kl,
    gibbs_error,
    kl_inverse,
    pac_bayes_bound,
    prior_pac_bayes,
    process_divergence,
    process_pac_bayes,
    svm_pac_bayes,
)


def test_divergence_of_coins_by_hand():
    assert binary_kl(0.25, 0.5) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5), rel=1e-14)
    assert binary_kl(1.0, 0.5) == pytest.approx(math.log(2.0), rel=1e-15)
    assert math.isinf(binary_kl(0.5, 1.0))
    assert math.isinf(binary_kl(0.5, 0.0))
    assert binary_kl(0.0, 0.0) == binary_kl(1.0, 1.0) == 0.0


@pytest.mark.parametrize("q", [0.0, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("c", [1e-6, 0.1, 3.0])
def test_inverse_is_an_inverse_and_never_too_small(q, c):
    p = kl_inverse(q, c)
    assert p == 1.0 or binary_kl(q, p) >= c * (1.0 - 1e-9)
    assert binary_kl(q, max(q, p - 1e-9)) <= c
    assert kl_inverse(1.0, c) == 1.0


def test_bound_by_hand():
    """No errors: kl(0 | p) = -ln(1 - p), so p = 1 - exp(-(KL + ln(2 sqrt(m) / delta)) / m)."""
    expected = 1.0 - math.exp(-(5.0 + math.log(20.0 / 0.05)) / 100.0)
    assert pac_bayes_bound(0.0, 5.0, 100) == pytest.approx(expected, rel=1e-9)
    assert pac_bayes_bound(0.0, 5.0, 100, deterministic=True) == pytest.approx(2.0 * expected, rel=1e-9)
    assert "Gibbs" in pac_bayes_bound(0.0, 5.0, 100).bounds


def test_a_single_function_costs_little_more_than_its_binomial_tail():
    """Q = P: the bound is an interval for one coin, and is compared with the exact one."""
    exact = binom.cdf(10, 1000, float(pac_bayes_bound(0.01, 0.0, 1000)))
    assert 1e-5 < exact < 0.05


def test_gibbs_error_by_sampling():
    """Hyperplanes drawn around w, 40 000 of them: within five standard errors of the formula."""
    rng = np.random.default_rng(0)
    X, w, mu = rng.normal(size=(5, 3)), np.array([1.0, -2.0, 0.5]), 1.7
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    t = y * (X @ w) / np.linalg.norm(w) / np.linalg.norm(X, axis=1)
    drawn = mu * w / np.linalg.norm(w) + rng.normal(size=(40_000, 3))
    errors = (y * (drawn @ X.T) <= 0.0).mean(axis=1)
    assert abs(errors.mean() - gibbs_error(t, mu)) <= 5.0 * errors.std() / 200.0


def test_svm_bound_is_the_best_scale():
    t = np.random.default_rng(0).uniform(0.05, 0.6, 400)
    best = min(
        2.0 * kl_inverse(gibbs_error(t, mu), (0.5 * mu**2 + math.log(40.0 / 0.05)) / 400.0)
        for mu in np.geomspace(1.0, 100.0, 150)
    )
    assert 0.998 * best <= svm_pac_bayes(t) <= 1.002 * best  # both grids are fine enough
    assert svm_pac_bayes(t, deterministic=False) == pytest.approx(0.5 * float(svm_pac_bayes(t)), rel=1e-12)
    assert svm_pac_bayes(t) < svm_pac_bayes(t, choices=100)


def test_learned_prior_by_hand():
    """The best of eight scales of the prior, with delta / 8, and any scale of the posterior."""
    t, cosine = np.full(300, 0.3), 0.9
    tried = [
        kl_inverse(
            gibbs_error(t, mu), (0.5 * (mu**2 + eta**2 - 1.8 * mu * eta) + math.log(2.0 * 300**0.5 * 8 / 0.05)) / 300
        )
        for eta in (1, 2, 5, 10, 20, 50, 100, 200)
        for mu in np.geomspace(1.0, 100.0, 40)
    ]
    found = prior_pac_bayes(t, cosine)
    assert 1.98 * min(tried) <= found <= 2.0 * min(tried) * 1.01
    assert prior_pac_bayes(t, 1.0) < found < prior_pac_bayes(t, -1.0)


def test_margins_must_be_cosines():
    with pytest.raises(DomainError, match="cosines"):
        svm_pac_bayes([0.5, 3.0])


def test_divergence_of_processes():
    """Against the formula with inverses, and zero where posterior and prior agree."""
    rng = np.random.default_rng(0)
    A, B, mu = rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
    K, S = A @ A.T + np.eye(4), B @ B.T + 0.5 * np.eye(4)
    inverse = np.linalg.inv(K)
    logs = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    expected = 0.5 * (logs + np.trace(inverse @ S) + mu @ inverse @ mu - 4.0)
    assert process_divergence(mu, S, K) == pytest.approx(expected, rel=1e-10)
    assert process_divergence(np.zeros(4), K, K) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ParameterError, match="square"):
        process_divergence(mu, S[:3], K)
    with pytest.raises(DomainError, match="positive definite"):
        process_divergence(mu, S, -K)


def test_process_bound_is_that_of_its_gibbs_error():
    t = np.array([2.0, 3.0] * 200)
    gibbs = 0.5 * (norm.cdf(-2.0) + norm.cdf(-3.0))
    assert process_pac_bayes(t, 10.0) == pytest.approx(2.0 * float(pac_bayes_bound(gibbs, 10.0, 400)), rel=1e-12)


def test_bounds_hold_where_the_truth_is_known():
    """As in the test of the margin bound: more failures than the quantile happen once in a million."""
    rng = np.random.default_rng(1)
    draws, m, delta, centre = 40, 200, 0.02, np.array([1.0, 0.0, 0.0])
    failures = 0
    for _ in range(draws):
        y = rng.choice([-1.0, 1.0], m)
        X = y[:, None] * centre + rng.normal(size=(m, 3))
        w = (y[:, None] * X).mean(axis=0)
        w /= np.linalg.norm(w)
        failures += norm.cdf(-w @ centre) > svm_pac_bayes(y * (X @ w) / np.linalg.norm(X, axis=1), delta)
    assert failures <= binom.isf(1e-6, draws, delta)


def test_samples_of_other_classes_count_and_are_no_errors():
    t = np.array([0.5, -0.1, 0.3])
    for outside in (0, 7):
        bound = svm_pac_bayes(t, outside=outside, deterministic=False)
        mu = next(term.value for term in bound.terms if term.name == "scale")
        m = 3 + outside
        gibbs = float(norm.cdf(-mu * t).sum()) / m
        assert bound == pytest.approx(float(pac_bayes_bound(gibbs, 0.5 * mu**2, m)), rel=1e-12)
    # a hundred samples, of which ten take part: less than with those ten alone
    assert svm_pac_bayes(np.full(10, 0.5), outside=90) < svm_pac_bayes(np.full(10, 0.5))


@pytest.mark.parametrize(
    ("bound", "p"),
    [
        (svm_pac_bayes(np.full(50, 0.5), choices=4), 0.25),
        (prior_pac_bayes(np.full(50, 0.5), 0.9, choices=5), 0.025),
        (process_pac_bayes(np.full(50, 0.5), 1.0, choices=10), 0.1),
        (svm_pac_bayes(np.full(50, 0.5)), 1.0),
    ],
)
def test_the_formula_of_the_confidence_gives_its_value(bound, p):
    term = next(term for term in bound.terms if term.name == "confidence")
    assert term.value == pytest.approx(math.log(2.0 * math.sqrt(50.0) / (0.05 * p)) / 50.0, rel=1e-12)
    assert term.formula.endswith(f"p = {p:g}") == (p < 1.0)
