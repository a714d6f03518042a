"""Outputs of any kind as a target: read by a kernel of their own, and given back as they came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.domains import Samples, Strings, Vectors
from mercer.errors import DomainError, TargetError
from mercer.kernels import Kernel
from mercer.targets import Real, Target

__all__ = ["Outputs"]
__saved__ = ["Outputs"]


@dataclass(frozen=True, eq=False)
class Outputs(Target):
    """What is predicted: numbers, or whatever a kernel compares."""

    kernel: Kernel
    numbers: Real | None = None  # of outputs that are numbers: the shape that they had

    def learn(self, y: Any) -> Self:
        return self.read(y)[0]

    def read(self, y: Any) -> tuple[Self, Any]:
        if self.kernel.domain is Vectors and not isinstance(y, Samples):
            numbers, values = Real().read(y)
            if values.ndim > 2:
                raise TargetError(
                    f"y has shape {values.shape}; one number or one row per sample is accepted. Give a table."
                )
            return replace(self, numbers=numbers), self.kernel.pack(values.reshape(len(values), -1))
        if y is None:
            raise TargetError(
                "This estimator requires y to be passed, but the target y is None; one output per sample, of the kind "
                "that output_kernel compares, is accepted. Call fit(X, y)."
            )
        try:
            return replace(self, numbers=Real(columns=1) if self.kernel.domain is Vectors else None), self.kernel.pack(
                y
            )
        except DomainError as error:
            raise TargetError(f"y is not what output_kernel={self.kernel!r:.200} compares: {error}") from error

    def encode(self, y: Any) -> Any:
        return self.read(y)[1]

    def decode(self, f: Any) -> Any:
        """Return outputs as they were given: numbers, texts; of other kinds as packed samples."""
        if self.numbers is not None:
            return self.numbers.decode(np.asarray(f))
        if not isinstance(f, Strings):
            return f
        found = [f.symbols(i) for i in range(len(f))]
        letters = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in f.vocabulary)
        return ["".join(map(str, symbols)) for symbols in found] if letters else found
