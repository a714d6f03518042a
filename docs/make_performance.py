"""Write docs/explanation/performance.md from the results of the benchmarks: ratios to peers, losses included."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from docs.pages import WIDE, cell, table, write

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanation" / "performance.md"


class Measured(NamedTuple):
    """The newest run of a row on a processor."""

    time: str
    load: float
    size: str
    contenders: list[dict[str, Any]]
    machine: dict[str, Any]


def newest(path: Path) -> dict[str, Measured]:
    """Return the newest full run of each row of a results file, by the name of the row."""
    found: dict[str, Measured] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if run.get("quick", True):  # or of a script with lines of its own
            continue
        for name, contenders in run["rows"].items():
            if name not in found or run["time"] > found[name].time:
                size, machine = run["sizes"].get(name, ""), run["machine"]
                found[name] = Measured(run["time"], machine["load"], size, contenders, machine)
    return dict(sorted(found.items()))


def shown(figure: Any, unit: str) -> str:
    """Return a figure with its unit, in three digits."""
    return "–" if figure is None else f"{figure:.3g} {unit}"


def lines(rows: dict[str, Measured]) -> list[list[str]]:
    """Return a line for each other contender: its name, both figures, how many times mercer is better, the bar."""
    found = []
    for name, row in rows.items():
        ours = next((one for one in row.contenders if one["contender"] == "mercer"), None)
        for one in row.contenders:
            if one is ours or ours is None or one.get("ratio") is None:
                continue
            verdict = {True: "met", False: "**missed**", None: "none set"}[one.get("met")]
            unit = one.get("unit") or ours.get("unit") or ""
            figures = [shown(ours["figure"], unit), shown(one["figure"], unit), f"{one['ratio']:.3g}"]
            bar = f"{cell(one.get('bar') or '–')}, {verdict}"
            found.append([f"`{name}`", cell(row.size), cell(one["contender"]), *figures, bar, row.time[:10]])
    return found


def processor(rows: dict[str, Measured]) -> str:
    """Return the name of the processor and the number of its cores."""
    machine = next(iter(rows.values())).machine
    return f"{machine['cpu']}, {machine['cores']} cores"


def told(rows: dict[str, Measured], found: list[list[str]]) -> str:
    """Return the versions in use, and the bars that were missed."""
    machine = max(rows.values(), key=lambda row: row.time).machine
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "mercer")
    memory = f"{machine['memory_gib']} GiB of memory, {machine['system']}"
    missed = [f"{name} beside {peer}" for name, _, peer, *_, bar, _ in found if "missed" in bar]
    losses = f"{len(missed)} of {len(found)} comparisons miss their bar: {', '.join(missed)}." if missed else ""
    return f"{memory}; {versions}. {losses or 'No bar is missed.'}\n"


def page() -> str:
    """Return the whole page."""
    parts = [_INTRODUCTION]
    header = ["row", "size", "peer", "mercer", "the peer", "ratio", "bar", "measured"]
    for path in sorted(RESULTS.glob("*.jsonl")):
        rows = newest(path)
        if found := lines(rows):
            parts += [f"## {processor(rows)}\n", told(rows, found), table(header, found)]
    return WIDE + "\n".join(parts)


def pages() -> dict[Path, str]:
    """Return the page by its place."""
    return {PAGE: page()}


_INTRODUCTION = """\
% Made from benchmarks/results by docs/make_performance.py; changes here are lost.

# Performance

Measured, not claimed: the newest full run of each row of `make bench` on each processor for which there are results,
with every peer installed at the time. A ratio is the peer's figure over mercer's where larger is better for mercer
(a bar of `>=`, or none), and mercer's over the peer's where the bar is `<=`. Rows that miss their bar are listed like
all others. `benchmarks/results/README.md` explains how to read and add results; accuracy on real data has [its own
page](real-data.md).
"""


if __name__ == "__main__":
    write(pages())
