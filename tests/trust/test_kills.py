"""Fits that are killed and started again come to the same bits (20 kills; ``python -m tests.trust.kills`` for more)."""

import random

import numpy as np
import pytest

from tests.trust.kills import JOBS, killed_and_resumed


@pytest.mark.parametrize("name", JOBS)
def test_killed_fits_go_on(name, tmp_path):
    plain, chance, total = JOBS[name](None), random.Random(name), 0
    while total < 5:
        found, killed, _ = killed_and_resumed(JOBS[name], 5 - total, 0.25, chance, tmp_path)
        total += killed
        assert np.array_equal(plain, found) and list(tmp_path.iterdir()) == []
