"""Two clones are compared by turns: figures of a row in both, and what cannot be compared is said."""

import re
import shutil

import pytest

from benchmarks import against
from tests.architecture.test_static import ROOT

ROWS = """
from dataclasses import dataclass
from benchmarks.row import Memory, Timing

@dataclass(frozen=True)
class Count:
    n: int
    def make(self):
        return self.n

ROWS = (
    Timing("work", "adds numbers", Count(400_000), Count(400_000), ours=lambda n: sum(range({times} * n))),
    Timing("other", "of another size", Count({times}), Count({times}), ours=lambda n: n),
    Timing("broken", "fails", Count(1), Count(1), ours=lambda n: 1 // 0),
    Memory("room", "bytes", Count(10**6), Count(10**6), lambda n: bytearray(n), unit=lambda n: n, unit_name="n"),
)
"""


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """Two clones, of which the second does three times the work."""
    versions = []
    for times in (1, 3):
        folder = tmp_path_factory.mktemp(f"clone{times}")
        (folder / "benchmarks").mkdir()
        (folder / "benchmarks" / "__init__.py").write_text("")
        for name in ("row.py", "measure.py"):
            shutil.copy(ROOT / "benchmarks" / name, folder / "benchmarks" / name)
        (folder / "benchmarks" / "rows.py").write_text(ROWS.format(times=times))
        versions.append(against.Version(folder))
    yield versions
    for version in versions:
        version.close()


def test_both_clones_run_their_own_rows(clones):
    change = against.compare(*clones, "work", quick=True)
    assert change.unit == "s" and change.rounds >= 2 and change.before > 0.0 and change.after > 0.0


def test_a_tenth_more_is_slower():
    assert against.Change("row", 1.0, 1.11, "s", 5).slower and not against.Change("row", 1.0, 1.09, "s", 5).slower


def test_bytes_are_counted_once(clones):
    change = against.compare(*clones, "room", quick=True)
    assert change.unit == "bytes" and change.rounds == 1 and change.before >= 10**6 and not change.slower


@pytest.mark.parametrize(
    ("row", "why"), [("other", "1.*before.*3"), ("broken", "ZeroDivision"), ("none", "no such row")]
)
def test_what_cannot_be_compared_is_said(clones, row, why):
    answer = against.compare(*clones, row, quick=True)
    assert isinstance(answer, str) and re.search(why, answer)


def test_doubtful_differences_are_measured_longer():
    assert against._goes_on([1.0], [1.0]) and not against._goes_on([0.1] * 5, [0.1] * 5)
    assert against._goes_on([0.1] * 5, [0.12] * 5) and not against._goes_on([0.1] * 15, [0.12] * 15)
