"""Run the benchmarks: `python -m benchmarks.run [--quick] [--check] [--against PATH] [names ...]`.

All contenders of a row run in this process and take turns; the figure of each is its fastest round. A result
is allocated anew in every call, as users get it. What mercer compiles or loads from its cache at the first
call is measured apart, on a small input. With `--against`, another clone of mercer is the only contender: see
`benchmarks.against`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import datetime
import json
import multiprocessing
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import against as versions
from benchmarks import measure, rows
from benchmarks.row import Bar, Memory, Peer, Row, Timing

RESULTS = Path(__file__).parent / "results"
WIDTH = 150
MINUTES = 120.0  # seconds from which a peer is not asked twice


@dataclasses.dataclass
class Line:
    """One contender in one row, as it is printed and recorded."""

    contender: str
    figure: float | None
    unit: str = "s"
    ratio: float | None = None
    bar: str | None = None
    met: bool | None = None
    difference: float | None = None
    note: str = ""


def against(peer: Peer, ours: float, theirs: float, difference: float | None = None) -> Line:
    """The line of a peer: how many times as fast mercer is, unless the bar speaks of cost."""
    theirs *= peer.repeats
    ratio = (peer.bar or Bar(0.0, faster=True)).ratio(ours, theirs)
    met, bar = None, None
    if peer.bar is not None:
        met, bar = peer.bar.met(ours, theirs), str(peer.bar)
    if peer.agrees is not None and difference is not None:
        met, bar = met is not False and difference <= peer.agrees, f"{bar or ''} (+- {peer.agrees:g})".strip()
    note = f"{peer.repeats} times its seconds" if peer.repeats > 1 else ""
    return Line(peer.name, theirs, ratio=ratio, bar=bar, met=met, difference=difference, note=note)


def available(peers: tuple[Peer, ...]) -> tuple[list[Peer], list[Line]]:
    """The peers that can run, and lines for those that cannot."""
    there = [peer for peer in peers if peer.package is None or measure.installed(peer.package)]
    missing = [Line(peer.name, None, note="not installed") for peer in peers if peer not in there]
    return there, missing


def time_row(row: Timing, quick: bool) -> list[Line]:
    data = (row.quick if quick else row.size).make()
    few = small(row)
    first = measure.seconds(lambda: row.ours(few))
    peers, missing = available(row.peers)
    differences, slow = compare(row, peers, data)
    calls = {"": lambda: row.ours(data)}
    calls |= {peer.name: lambda p=peer: p.call(data) for peer in peers if peer.name not in slow}
    taken = measure.in_turns(calls, rounds=3 if quick else 7, at_least=0.5 if quick else 2.0, fewest=row.fewest)
    best = {name: min(values) for name, values in taken.items()} | slow
    ours = best.pop("")
    first_line = Line("mercer", ours, note=f"{len(taken[''])} rounds; first call {first:.2f} s")
    if row.seconds is not None:
        first_line.bar, first_line.met = f"<= {row.seconds:g} s", ours <= row.seconds
    lines = [first_line, *(against(p, ours, best[p.name], differences.get(p.name)) for p in peers)]
    if row.dearest is not None and best:
        lines.append(against(Peer("the dearest of these", row.ours, row.dearest), ours, max(best.values())))
    return lines + missing


def compare(row: Timing, peers: list[Peer], data: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Largest difference between mercer's result and each peer's; it is also the round that warms up.

    The seconds of peers that take minutes come back too: they do not run again.
    """
    ours = row.outcome(row.ours(data), data)
    found, slow = {}, {}
    for peer in peers:
        began = time.perf_counter()
        theirs = peer.call(data)
        took = time.perf_counter() - began
        if took > MINUTES:
            slow[peer.name] = took
        if peer.same:
            found[peer.name] = measure.largest_difference(ours, row.outcome(theirs, data))
        del theirs
    return found, slow


def weigh_row(row: Memory, quick: bool) -> list[Line]:
    data = (row.quick if quick else row.size).make()
    row.ours(small(row))  # compile before counting
    peers, missing = available(row.peers)
    lines = []
    for peer in (Peer("mercer", row.ours, row.bar), *peers):
        peak, held = measure.peak_bytes(lambda call=peer.call: call(data))
        figure = (peak - held if row.besides_result else peak) / row.unit(data)
        line = Line(peer.name, figure, unit=row.unit_name)
        if peer.bar is not None:
            line.bar, line.met = str(peer.bar), peer.bar.met(figure, 1.0)
        resident = resident_apart(row.name, peer.name, quick) / row.unit(data) - row.besides_result
        line.note = f"resident {resident:.2f}"
        lines.append(line)
    return lines + missing


def resident_apart(name: str, contender: str, quick: bool) -> int:
    """Growth of the resident memory of a new process in which one contender runs once."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_resident_here, name, contender, quick).result()


def _resident_here(name: str, contender: str, quick: bool) -> int:
    row = next(row for row in rows.ROWS if row.name == name)
    assert isinstance(row, Memory)
    call = {"mercer": row.ours, **{peer.name: peer.call for peer in row.peers}}[contender]
    call(small(row))
    data = (row.quick if quick else row.size).make()
    return measure.resident_growth(lambda: call(data))


def small(row: Row) -> Any:
    """A few samples: enough to compile everything."""
    first = dataclasses.fields(row.quick)[0].name
    return dataclasses.replace(row.quick, **{first: 64}).make()


def run_row(row: Row, quick: bool) -> list[Line]:
    """Measure a row; what fails is told in the table and does not stop the others."""
    try:
        return time_row(row, quick) if isinstance(row, Timing) else weigh_row(row, quick)
    except Exception as error:
        traceback.print_exc()
        return [Line("mercer", None, note=f"failed: {type(error).__name__}: {error}"[:90])]


def failed(line: Line) -> bool:
    return line.note.startswith("failed")


def show(done: dict[str, tuple[Row, list[Line]]], quick: bool, console: Console) -> None:
    """Print all rows as one table."""
    table = Table(title="fastest round of each; ratios say how many times as fast (bar >=) or as dear (<=)")
    for name in ("row", "contender", "figure", "ratio", "bar", "met", "difference", "remarks"):
        table.add_column(name, justify="right" if name in ("figure", "ratio", "bar", "difference") else "left")
    for name, (row, lines) in done.items():
        size = row.quick if quick else row.size
        heads = [f"[bold]{name}[/] {row.title}", f"[dim]{size}[/]"]
        for i in range(max(len(lines), len(heads))):
            head = heads[i] if i < len(heads) else ""
            cells = _cells(lines[i], quick) if i < len(lines) else [""] * 7
            table.add_row(head, *cells)
        table.add_section()
    console.print(table)


def _cells(line: Line, quick: bool) -> list[str]:
    if line.figure is None:
        figure = "-"
    elif line.unit == "s":
        figure = f"{line.figure:.3f} s" if line.figure >= 0.01 else f"{1e3 * line.figure:.2f} ms"
    else:
        figure = f"{line.figure:.3f} {line.unit}"
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
    met = "" if line.met is None or quick else ("[green]yes[/]" if line.met else "[red]NO[/]")
    difference = "" if line.difference is None else f"{line.difference:.1e}"
    return [line.contender, figure, ratio, line.bar or "", met, difference, line.note]


def record(done: dict[str, tuple[Row, list[Line]]], quick: bool, about: dict[str, Any], folder: Path) -> Path:
    """Append the run as one line of JSON to the file of this kind of machine."""
    figures = {name: [dataclasses.asdict(line) for line in lines] for name, (_, lines) in done.items()}
    sizes = {name: str(row.quick if quick else row.size) for name, (row, _) in done.items()}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    entry = {
        "time": now,
        "quick": quick,
        **measure.commit(),
        "machine": about,
        "sizes": sizes,
        "rows": figures,
    }
    slug = re.sub(r"[^a-z0-9]+", "-", f"{about['cpu']} {about['cores']} cores".lower()).strip("-")
    path = folder / f"{slug}.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return path


def parse(arguments: list[str] | None, names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure mercer beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"rows to run (all): {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that everything runs")
    parser.add_argument("--check", action="store_true", help="exit with an error if a bar is missed")
    parser.add_argument("--against", metavar="PATH", type=Path, help="compare with the clone of mercer in this folder")
    parser.add_argument("--no-record", action="store_true", help="do not append to benchmarks/results")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(names))
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; the rows are {', '.join(names)}")
    if chosen.check and chosen.quick:
        parser.error("the bars are for the full sizes: leave out --quick or --check")
    if chosen.against is not None and not (chosen.against / "benchmarks" / "rows.py").is_file():
        parser.error(f"{chosen.against} is not a clone of mercer: it has no benchmarks/rows.py")
    return chosen


def compare_versions(folder: Path, names: list[str], quick: bool, console: Console) -> int:
    """Print mercer's side of the rows in another clone and in this one; return 1 if any is slower than allowed."""
    before, after = versions.Version(folder.resolve()), versions.Version(Path(__file__).resolve().parents[1])
    table = Table(title=f"processor seconds (or bytes) on one thread; slower is more than {versions.SLOWER:g} times")
    for name in ("row", "before", "now", "ratio", "rounds", "remarks"):
        table.add_column(name, justify="left" if name in ("row", "remarks") else "right")
    slower = []
    try:
        for name in names:
            print(f"  {name} ...", file=sys.stderr, flush=True)
            change = versions.compare(before, after, name, quick)
            if isinstance(change, str):
                table.add_row(name, "", "", "", "", change)
                continue
            slower += [name] if change.slower else []
            figures = (f"{figure:.4g} {change.unit}" for figure in (change.before, change.after))
            mark = "[red]slower[/]" if change.slower else ""
            table.add_row(name, *figures, f"{change.ratio:.3f}", str(change.rounds), mark)
    except KeyboardInterrupt:
        pass  # show what there is
    before.close()
    after.close()
    console.print(table)
    if slower:
        console.print(f"[red]slower than before:[/] {', '.join(slower)}")
    return int(bool(slower))


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments, [row.name for row in rows.ROWS])
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    about = measure.machine()
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    console.print(
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, load {about['load']}; {packages}"
    )
    if (about["load"] or 0.0) > 0.25 * about["cores"]:
        console.print("[yellow]Something else is running: ratios may be off, and bars missed for no fault.[/]")
    if options.against is not None:
        names = [row.name for row in rows.ROWS if not options.names or row.name in options.names]
        return compare_versions(options.against, names, options.quick, console)
    done = {}
    for row in rows.ROWS:
        if not options.names or row.name in options.names:
            print(f"  {row.name} ...", file=sys.stderr, flush=True)
            try:
                done[row.name] = row, run_row(row, options.quick)
            except KeyboardInterrupt:
                break  # show what there is
    show(done, options.quick, console)
    lines = [line for _, found in done.values() for line in found]
    if not options.no_record:
        path = record(done, options.quick, about, RESULTS)
        console.print(f"recorded in {path.relative_to(Path(__file__).parents[1])}")
    missed = [name for name, (_, found) in done.items() if any(line.met is False for line in found)]
    if options.check and missed:
        console.print(f"[red]bars missed:[/] {', '.join(missed)}")
    return int(any(map(failed, lines)) or (options.check and bool(missed)))


if __name__ == "__main__":
    sys.exit(main())
