import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Dataset):
    kind: ClassVar[str] = "numbers"
    values: tuple[int, ...]
    known: tuple[str, ...] = ()

    @property
    def n(self):
        return len(self.values)

    @property
    def X(self):
        return self.values

    @property
    def targets(self):
        return self.known

    def take(self, index):
        return replace(self, values=tuple(self.values[i] for i in rows_of(index, self.n)))

    def split_target(self, name=None):
        raise self._no_target(name)


def test_defaults():
    data = Numbers(Path("a\x1b.npy"), "numbers", (1, 2, 3), notes=("Odd.",))
    assert len(data) == 3 and data.y is None and data.ids is None and data.names == ()
    assert repr(data) == "<Numbers of a\\x1b.npy: 3 samples>"
    assert json.loads(json.dumps(data.describe()))["notes"] == ["Odd."]


@pytest.mark.parametrize("index", [[2, 0], np.array([2, 0]), slice(2, None, -2), np.array([True, False, True])])
def test_rows_of(index):
    assert sorted(rows_of(index, 3)) == [0, 2]


def test_a_target_that_is_not_there():
    data = Numbers(Path("a.npy"), "numbers", (1,))
    assert Numbers(Path("a.npy"), "numbers", ()).targets == ()
    with pytest.raises(FileError, match=r"There is no target 'y'; numbers files hold samples only\. Give the targets"):
        data.split_target("y")
    with pytest.raises(FileError, match=r"No target was named; the file has 'a', 'b'\. Name one"):
        replace(data, known=("a", "b")).split_target()
