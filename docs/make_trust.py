"""Write docs/explanation/trust.md from benchmarks/results/trust.json: the scorecard, with what is not measured.

``python -m docs.make_trust --keep`` first takes over what ``make trust`` has just measured (build/scorecard.json). A
goal that was not measured then keeps its last figure, with the date and the machine of that.
"""

import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docs.pages import WIDE, cell, table, write

ROOT = Path(__file__).resolve().parents[1]
SCORECARD = ROOT / "build" / "scorecard.json"
RESULTS = ROOT / "benchmarks" / "results" / "trust.json"
PAGE = ROOT / "docs" / "explanation" / "trust.md"
VERDICTS = {True: "met", False: "**missed**", None: ""}
Rows = list[dict[str, Any]]


def merged(before: Rows, now: dict[str, Any], when: str, commit: str) -> Rows:
    """Return the rows of the scorecard in its order, with figures of before where nothing was measured now.

    Examples
    --------
    >>> old = [{"goal": 1, "name": "a", "met": True, "figure": "3 of 3", "measured": "2026-01-01"}]
    >>> rows = [{"goal": 1, "name": "A", "met": None, "figure": "not measured", "seconds": 0}]
    >>> merged(old, {"machine": {}, "rows": rows}, "2026-02-02", "abc")[0]["measured"]
    '2026-01-01'
    """
    known = {row["goal"]: row for row in before}
    told = {"measured": when, "commit": commit, "machine": now["machine"]}
    found = []
    for row in now["rows"]:
        kept = known.get(row["goal"], {})
        if row["met"] is None and kept.get("met") is not None:
            found.append({**kept, "name": row["name"]})
        else:
            found.append(row if row["met"] is None else {**row, **told})
    return found


def keep() -> None:
    """Take over what the scorecard has measured."""
    now = json.loads(SCORECARD.read_text(encoding="utf-8"))
    when = datetime.fromtimestamp(SCORECARD.stat().st_mtime, UTC).date().isoformat()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    now["machine"] = {**now["machine"], "processor": _processor() or now["machine"]["processor"]}
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else []
    rows = merged(before, now, when, commit.strip()[:12])
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _processor() -> str:
    """Return the name of the processor, where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "") or (
        platform.processor()
    )


def line(row: dict[str, Any]) -> list[str]:
    """Return the cells of one goal."""
    if row["met"] is None:
        return [str(row["goal"]), cell(row["name"]), "", "not measured", "", ""]
    on = f"{row['machine']['processor']}, Python {row['machine']['python']}"
    figure = cell(row["figure"])
    return [str(row["goal"]), cell(row["name"]), VERDICTS[row["met"]], figure, row["measured"], cell(on)]


def page(rows: Rows) -> str:
    """Return the whole page."""
    count = {verdict: sum(row["met"] is verdict for row in rows) for verdict in VERDICTS}
    summary = f"Of {len(rows)} goals {count[True]} are met, {count[False]} missed and {count[None]} not measured.\n"
    header = ["goal", "what", "", "measured", "on", "machine"]
    return WIDE + "\n".join([_INTRODUCTION, summary, table(header, [line(row) for row in rows]), _END])


def pages() -> dict[Path, str]:
    """Return the page by its place."""
    return {PAGE: page(json.loads(RESULTS.read_text(encoding="utf-8")))}


_INTRODUCTION = """\
% Made from benchmarks/results/trust.json by docs/make_trust.py; changes here are lost.

# Trust

What is promised under bad input, faults and load, and what was measured of it. `make trust` measures each goal by tests
or by a program of its own; `tests/trust/scorecard.py` says by which. The figures are those of the last measurement of
each goal. A goal without one says so: nothing is claimed for it.
"""
_END = """\
How a model of yours is checked is told in [Trust a model](../how-to/trust-a-model.md); how numbers are treated in
[Numerics](numerics.md); what has surprised people in [Sharp bits](sharp-bits.md); speed in
[Performance](performance.md).
"""


if __name__ == "__main__":
    if "--keep" in sys.argv[1:]:
        keep()
    write(pages())
