"""Problems over several Grams are plain records."""

import numpy as np

from mercer.mixtures import Simplex
from mercer.problems import BoxQP
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program
from mercer.solvers.mixtures.stack import Matrix


def test_a_program_over_a_gram_is_a_box_program():
    K, twice = Matrix(np.eye(2)), np.array([0, 1, 0, 1])
    program = Program(np.ones(4), np.zeros(4), np.ones(4), index=twice)
    at = program.at(K)
    assert isinstance(at, BoxQP) and at.gram.shape == (4, 4)
    assert np.allclose(at.gram @ np.ones(4), 2.0)
    assert MixtureQP([K], Simplex(), (program,)).gram is K


def test_a_part_of_the_samples_counts_for_all_of_them():
    """Every sample twice, and one of each: the same objective at the same function."""
    rng = np.random.default_rng(0)
    K, twice = rng.normal(size=(3, 4)), np.repeat(np.arange(3), 2)
    K = K @ K.T
    whole = Program(rng.normal(size=6), -np.ones(6), np.full(6, 2.0), ridge=0.5)
    whole = Program(np.repeat(whole.linear[:3], 2), whole.lower, whole.upper, total=np.array([1.0]), ridge=0.5)
    part = whole.take(np.array([0, 2, 4]), 6)
    beta = rng.uniform(-1.0, 2.0, size=3)
    full = np.repeat(beta, 2) / 2.0
    big, small = whole.at(Matrix(K[np.ix_(twice, twice)])), part.at(Matrix(K))
    values = [
        0.5 * z @ (at.gram @ z) + at.linear @ z + 0.5 * float(np.sum(np.asarray(at.ridge) * z**2))
        for at, z in ((big, full), (small, beta))
    ]
    assert np.isclose(*values, rtol=1e-12)
    assert np.array_equal(part.lower, [-2.0] * 3) and np.array_equal(part.upper, [4.0] * 3)
    assert part.is_feasible() and not Program(np.ones(2), np.zeros(2), np.ones(2), total=np.array([3.0])).is_feasible()


def test_a_part_of_two_variables_for_each_sample():
    both = Program(np.arange(6.0), np.zeros(6), np.ones(6), index=np.array([0, 1, 2, 0, 1, 2]))
    part = both.take(np.array([0, 2]), 3)
    assert np.array_equal(part.linear, [0.0, 2.0, 3.0, 5.0]) and np.array_equal(part.index, [0, 1, 0, 1])
