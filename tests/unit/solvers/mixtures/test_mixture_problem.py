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
