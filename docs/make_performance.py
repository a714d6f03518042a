"""Write docs/explanation/performance.md and its picture from the results of the benchmarks, losses included."""

import json
import math
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docs.pages import WIDE, cell, table, write

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
PICTURE = ROOT / "docs" / "_static" / "performance.svg"
LEFT, ACROSS, STEP = 350, 110, 15  # of the picture: where it begins, a factor of ten, a line
MARKS = ("&#9679;", "&#9670;", "&#9650;", "&#9632;")  # of processors


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


def ratios(rows: dict[str, Measured]) -> dict[str, float]:
    """Return how many times mercer is better than each other program, by row and program."""
    return {
        f"{name} / {one['contender']}": one["ratio"]
        for name, row in rows.items()
        for one in row.contenders
        if one.get("ratio") and not one["contender"].startswith("mercer") and "<" not in (one.get("bar") or "")
    }


def picture(measured: dict[str, dict[str, float]]) -> str:
    """Return a drawing of the ratios, a line for each and a mark for each processor."""
    best: dict[str, float] = {}
    for found in measured.values():
        best |= {name: max(value, best.get(name, 0.0)) for name, value in found.items()}
    names = sorted(best, key=lambda name: (best[name], name))
    lowest = math.floor(min(0.0, *(math.log10(value) for found in measured.values() for value in found.values())))
    highest = math.ceil(math.log10(max(best.values())))
    wide, high = LEFT + ACROSS * (highest - lowest) + 20, STEP * (len(names) + 2)
    at = {power: LEFT + ACROSS * (power - lowest) for power in range(lowest, highest + 1)}
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">',
        "<style>text{fill:#777} .win{fill:#2a8c6a} .loss{fill:#d0433b} path{stroke:#9996} .one{stroke:#777}</style>",
    ]
    for power, x in at.items():
        drawn.append(f'<path class="{"one" if power == 0 else "line"}" d="M{x} 16V{high - STEP}"/>')
        drawn.append(f'<text x="{x}" y="12" text-anchor="middle">{10.0**power:g}</text>')
    for place, name in enumerate(names):
        y = STEP * (place + 2)
        drawn.append(f'<text x="{LEFT - 15}" y="{y}" text-anchor="end">{escape(name)}</text>')
        for found, mark in zip(measured.values(), MARKS, strict=False):
            if name in found:
                x = LEFT + ACROSS * (math.log10(found[name]) - lowest)
                kind = "win" if found[name] >= 1.0 else "loss"
                drawn.append(f'<text class="{kind}" x="{x:.1f}" y="{y}" text-anchor="middle">{mark}</text>')
    return "\n".join([*drawn, "</svg>", ""])


def pages() -> dict[Path, str]:
    """Return the page and its picture, by their places."""
    parts, measured = [_INTRODUCTION], {}
    header = ["row", "size", "peer", "mercer", "the peer", "ratio", "bar", "measured"]
    for path in sorted(RESULTS.glob("*.jsonl")):
        rows = newest(path)
        if found := lines(rows):
            measured[processor(rows)] = ratios(rows)
            parts += [f"## {processor(rows)}\n", told(rows, found), table(header, found)]
    legend = ", ".join(f"{mark} {name}" for name, mark in zip(measured, MARKS, strict=False))
    parts.insert(1, f"![Ratios of all rows](../_static/{PICTURE.name})\n\n{legend}; red where mercer is slower.\n")
    return {PAGE: WIDE + "\n".join(parts), PICTURE: picture(measured)}


_INTRODUCTION = """\
% Made from benchmarks/results by docs/make_performance.py; changes here are lost.

# Performance

Measured, not claimed: the newest full run of each row of `make bench` on each processor for which there are results,
with every peer installed at the time. A ratio is the peer's figure over mercer's where larger is better for mercer
(a bar of `>=`, or none), and mercer's over the peer's where the bar is `<=`. Rows that miss their bar are listed like
all others. The picture shows how many times mercer is faster, or smaller, than each other program, on a scale of powers
of ten; comparisons with mercer itself and with limits are in the tables only. `benchmarks/results/README.md` explains
how to read and add results; accuracy on real data has [its own page](real-data.md).
"""


if __name__ == "__main__":
    write(pages())
