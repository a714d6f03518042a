"""Two versions of mercer side by side: `python -m benchmarks.run --against PATH` compares with the clone at PATH.

Each version runs its own rows in a process of its own, on one thread. They take turns, and processor seconds are
counted, not those of the clock, so that a busy machine does not matter much. Only rows that both have, with data of the
same size, are compared; peers do not run. Rows of memory compare the peak of what is allocated.

This file is also the program of these processes, which import `benchmarks` and `mercer` of the version they stand for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWER = 1.10  # the ratio from which a row counts as slower
DOUBTFUL = 1.05  # above it more rounds are made
ROUNDS, MORE_ROUNDS = 5, 15
ENOUGH, MOST = 10.0, 60.0  # processor seconds of one version on a row, before and after a doubt
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Change:
    """Least figure of a row in both versions; `unit` is "s" or "bytes"."""

    row: str
    before: float
    after: float
    unit: str
    rounds: int

    @property
    def ratio(self) -> float:
        return self.after / max(self.before, 1e-12)

    @property
    def slower(self) -> bool:
        return self.ratio > SLOWER


class Version:
    """A process in which the rows of one clone run when they are asked to."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | dict.fromkeys(THREADS, "1")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder / "src"), str(folder)])
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer else {"error": f"the process ended with {self._process.wait()}"}

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(before: Version, after: Version, row: str, quick: bool) -> Change | str:
    """Return the figures of a row, or why there are none."""
    versions = before, after
    sizes = [version.ask(row=row, quick=quick) for version in versions]
    for answer in sizes:
        if "error" in answer:
            return answer["error"]
    if sizes[0] != sizes[1]:
        return f"{sizes[0]['size']} before, {sizes[1]['size']} now"
    taken: tuple[list[float], list[float]] = [], []
    while _goes_on(*taken):
        turn = len(taken[0]) % 2
        for i in (turn, 1 - turn):
            answer = versions[i].ask(run=True)
            if "error" in answer:
                return answer["error"]
            taken[i].append(answer["figure"])
        if sizes[0]["unit"] == "bytes":
            break
    return Change(row, min(taken[0]), min(taken[1]), sizes[0]["unit"], len(taken[0]))


def _goes_on(before: list[float], after: list[float]) -> bool:
    """Whether another round is needed: a difference that is doubtful is measured longer."""
    rounds, spent = len(after), sum(after)
    if rounds < 2:
        return True
    doubtful = min(after) > DOUBTFUL * min(before)
    return (rounds < MORE_ROUNDS and spent < MOST) if doubtful else (rounds < ROUNDS and spent < ENOUGH)


# the program of a version ----------------------------------------------------------------------------


def serve() -> None:
    """Read questions, run rows, answer; whatever a row prints goes to the other stream."""
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    call = unit = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "row" in question:
                call, size, unit = _prepared(question["row"], question["quick"])
                call()
                answer = {"size": size, "unit": unit}
            else:
                assert call is not None
                answer = {"figure": _bytes(call) if unit == "bytes" else _seconds(call)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


def _prepared(name: str, quick: bool) -> tuple[Any, str, str]:
    """Mercer's side of a row, as a function; its data; and what is counted."""
    from benchmarks import row as kinds
    from benchmarks import rows

    row = next((row for row in rows.ROWS if row.name == name), None)
    if row is None:
        raise LookupError("there is no such row")
    size = row.quick if quick else row.size
    data = size.make()
    return lambda: row.ours(data), str(size), "bytes" if isinstance(row, kinds.Memory) else "s"


def _seconds(call: Any) -> float:
    began = time.process_time()
    result = call()
    ended = time.process_time()
    del result
    return ended - began


def _bytes(call: Any) -> float:
    from benchmarks import measure

    return float(measure.peak_bytes(call)[0])


if __name__ == "__main__":
    serve()
