"""What a probe is, and good data to begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.trust.isolation import Finding
from tests.trust.judge import judge

SAMPLES = 40


@dataclass(frozen=True)
class Probe:
    """A subject, what is the matter, the right outcome, and the calls that show which it is."""

    group: str
    subject: str
    fault: str
    expect: str
    calls: Callable[[], dict[str, Callable[[], Any]]]

    def __call__(self) -> Finding:
        return judge(self.calls(), self.expect)


def enough(sample: Any, n: int = SAMPLES) -> Any:
    """Return n samples like a few given ones: between pairs of rows, or the same again and again."""
    if isinstance(sample, np.ndarray):
        rng = np.random.default_rng(5)
        first, second = rng.integers(0, len(sample), size=(2, n))
        share = rng.random((n, *(1 for _ in sample.shape[1:])))
        return share * sample[first] + (1.0 - share) * sample[second]
    if isinstance(sample, dict):
        return {name: enough(list(column), n) for name, column in sample.items()}
    return [sample[i % len(sample)] for i in range(n)]


def gram(n: int = SAMPLES) -> Any:
    """Return a positive definite matrix of similarities."""
    X = np.random.default_rng(6).normal(size=(n, 3))
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=-1))
