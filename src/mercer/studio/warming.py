"""One small request of each live kind, so that the first of a user finds everything compiled and loaded."""

from __future__ import annotations

from typing import Any

from mercer.studio import playground, process_view, two_samples

__all__ = ["warm"]

POINTS = [[-2.0, -2.0, 0], [-2.0, -1.5, 0], [2.0, 2.0, 1], [2.0, 1.5, 1], [-2.0, 2.0, 0], [1.0, -2.0, 1]]
PLAY = {"points": POINTS, "C": 1.0, "epsilon": 0.1, "nu": 0.5, "clusters": 2, "component": 2, "side": 24}


def warm(fields: Any) -> dict[str, Any]:
    """Ask one question of each kind."""
    kernels = ("Gaussian(1.0)", "Gaussian(1.0) + Linear()", "2.0 * Matern(1.5) * Polynomial(2)")
    for kernel in kernels[: 3 if fields.get("all") else 1]:
        for task in playground.TASKS:
            playground.play({**PLAY, "task": task, "kernel": kernel})
        playground.details({**PLAY, "task": "classes", "kernel": kernel})
    pairs = [[x, y] for x, y, _ in POINTS]
    process = {"points": pairs, "kernel": "2.0 * Gaussian(1.0)", "noise": 0.1, "draws": 2, "fit": True}
    process_view.observe(process)
    two_samples.compare({"first": pairs[:3], "second": pairs[3:], "kernel": "Gaussian(1.0)", "draws": 50, "side": 8})
    return {"warm": True}
