"""What every reader returns: samples that kernels accept, and what is known about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.errors import printable
from mercer.io.limits import FileError, shown

__all__ = ["Dataset"]
__public__ = __all__


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ABC):
    """Samples read from a file.

    Attributes
    ----------
    kind : str
        ``"table"``, ``"sparse"``, ``"sequences"``, ``"sentences"``, ``"trees"``, ``"graphs"`` or ``"gram"``.
    path : Path
        The file they were read from.
    format : str
        The format of the file.
    notes : tuple of str
        What the reader decided or noticed, a sentence each.
    """

    kind: ClassVar[str]
    path: Path
    format: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of samples."""

    @property
    @abstractmethod
    def X(self) -> Any:
        """The samples as kernels accept them."""

    @property
    def y(self) -> NDArray[Any] | None:
        """What to predict, where the format has a place for it."""
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; none where samples have no named parts."""
        return ()

    @property
    def ids(self) -> tuple[str, ...] | None:
        """Names of the samples, where the file has them."""
        return None

    @property
    def targets(self) -> tuple[str, ...]:
        """What ``split_target`` accepts."""
        return ()

    @abstractmethod
    def take(self, index: Index) -> Self:
        """Return the samples at some positions."""

    @abstractmethod
    def split_target(self, name: str | None = None) -> tuple[Dataset, NDArray[Any]]:
        """Return the samples without the target, and the target."""

    def describe(self) -> dict[str, Any]:
        """Return what is known about the samples, in plain values that JSON can hold."""
        return {
            "file": str(self.path),
            "format": self.format,
            "kind": self.kind,
            "samples": self.n,
            "notes": list(self.notes),
        }

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {printable(self.path.name)}: {self.n} samples{self._summary()}>"

    def _summary(self) -> str:
        return ""

    def _no_target(self, name: str | None) -> FileError:
        """Return the error for a target that the file does not hold."""
        given = "No target was named" if name is None else f"There is no target {shown(name)}"
        if self.targets:
            listed = ", ".join(map(shown, self.targets[:20]))
            return FileError(self.path, f"{given}; the file has {listed}.", "Name one of them.", line=1)
        return FileError(
            self.path,
            f"{given}; {self.format} files hold samples only.",
            "Give the targets in a table of their own, one row per sample.",
            line=1,
        )


def rows_of(index: Index, n: int) -> NDArray[np.intp]:
    """Return positions from positions, a slice or a mask."""
    return np.arange(n, dtype=np.intp)[index]
