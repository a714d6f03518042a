"""Fits that are killed and started again come to the same bits (20 kills; ``python -m tests.trust.kills`` for more)."""

import random

import numpy as np
import pytest

from mercer.io.checkpoint import Checkpoint
from tests.trust.kills import JOBS, counted, killed_and_resumed


@pytest.mark.parametrize("name", JOBS)
def test_killed_fits_go_on(name, tmp_path):
    plain, chance, total = JOBS[name](None), random.Random(name), 0
    while total < 5:
        found, killed, _ = killed_and_resumed(JOBS[name], 5 - total, 0.25, chance, tmp_path)
        total += killed
        assert np.array_equal(plain, found) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["conjugate gradients", "streamed"])
def test_at_most_two_iterations_are_lost_with_a_kill(name, tmp_path):
    """Where the state is written after every iteration: one is under way, one may be about to be written."""
    job = JOBS[name]
    saved = Checkpoint(tmp_path / "alone", every=0.0)
    plain = counted(job, saved, tmp_path / "count")
    alone = (tmp_path / "count").stat().st_size
    (tmp_path / "count").unlink()
    found, killed, iterations = killed_and_resumed(job, 3, 0.5, random.Random(name), tmp_path, every=0.0)
    assert alone > 10
    assert iterations <= alone + 2 * killed and np.array_equal(plain, found)
