"""The bad-input matrix: every public estimator, kernel and reader, met with every fault.

Subjects are found in ``mercer.__all__`` and ``mercer.kernels.__all__`` (the members of ENTRIES of the laws of
kernels), so that what is added there is probed from then on. A probe is a subject and a fault; its outcome is judged
by `tests.trust.judge`. ``python -m tests.trust.probes`` prints the scorecard; names of groups may be given, and
``--only KernelRidge search`` chooses subjects by the beginnings of their names. With ``--journal FILE`` findings are
kept as they come, and a run that was broken off goes on where it was, as long as no source has changed since.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np

import mercer
from tests.laws.test_kernels import ENTRIES
from tests.trust.isolation import Finding, findings
from tests.trust.judge import GOOD
from tests.trust.of_estimators import estimator_probes, setting_probes, structured_probes, text_probes
from tests.trust.of_files import file_probes
from tests.trust.of_functions import function_probes
from tests.trust.of_kernels import kernel_probes, parameter_probes, siblings
from tests.trust.probe import Probe

GROUPS: dict[str, tuple[Callable[[], Iterator[Probe]], ...]] = {
    "kernels": (kernel_probes,),
    "parameters": (parameter_probes,),
    "estimators": (estimator_probes,),
    "structures": (structured_probes, kernel_probes),
    "settings": (setting_probes, text_probes),
    "functions": (function_probes,),
    "readers": (file_probes,),
}


CORE = ("KernelRidge", "SVC")
MANY = 10**6
ROOT = Path(__file__).resolve().parents[2]


def all_probes(groups: Iterable[str] = GROUPS, share: int = 1, only: tuple[str, ...] = ("",)) -> list[Probe]:
    """Return the probes of some groups; of estimators that are much like others one in `share`, in turns."""
    every = [probe for group in groups for source in GROUPS[group] for probe in source() if probe.group == group]
    every = [probe for probe in every if probe.subject.startswith(only)]
    return [probe for probe in every if _turn(probe) % min(share, _likeness(probe)) == 0]


def _likeness(probe: Probe) -> int:
    """How many probes are about as good as this one: with others of its kind it shares what meets a fault."""
    name = probe.subject.partition("(")[0]
    if "Distributed" in probe.fault:  # those that are accepted start workers, seconds each
        return MANY
    if probe.group in ("estimators", "structures", "settings") and hasattr(mercer, name):
        return (4 if probe.group == "settings" else 1) if name in CORE else MANY
    if probe.group == "structures":
        return MANY if name.partition(":")[0] in siblings() else 1
    return 24 if probe.group in ("kernels", "parameters", "functions") else 1


def _turn(probe: Probe) -> int:
    """A number that depends on the fault and the estimator, so that siblings are met with different faults."""
    return zlib.crc32(f"{probe.subject}|{probe.fault}".encode())


def warm_up() -> None:
    """Run everything once on good data, so that what is compiled is compiled before the worker is forked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in ENTRIES.values():
            X = entry.data.sample
            kernel = entry.kernels[0].learn(entry.kernels[0].pack(X))
            kernel(X, n_threads=1)
            if isinstance(X, np.ndarray):
                kernel(X.astype(np.float32), n_threads=1)


@dataclass(frozen=True)
class Scorecard:
    """What came of a run of probes."""

    probes: list[Probe]
    findings: list[Finding]
    seconds: float

    @property
    def bad(self) -> list[tuple[Probe, Finding]]:
        """The probes with a bad outcome."""
        return [(p, f) for p, f in zip(self.probes, self.findings, strict=True) if f.verdict not in GOOD]

    def counts(self) -> Counter[str]:
        """Return how often each verdict was given."""
        return Counter(finding.verdict for finding in self.findings)

    def __str__(self) -> str:
        counts = self.counts()
        good = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("finite", "warned", "refused"))
        kinds = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common() if verdict not in GOOD)
        lines = [f"{len(self.probes)} probes in {self.seconds:.0f} s: {good}; bad: {kinds or 'none'}"]
        lines += [
            f"  {f.verdict:<12} {p.subject[:60]} | {p.fault} ({p.expect})\n{' ' * 15}{' '.join(f.detail[:600].split())}"
            for p, f in self.bad
        ]
        return "\n".join(lines)


def score(
    groups: Iterable[str] = GROUPS,
    share: int = 1,
    only: tuple[str, ...] = ("",),
    processes: int = 1,
    journal: Path | None = None,
) -> Scorecard:
    """Run the probes of some groups, each isolated."""
    began = time.monotonic()
    probes = all_probes(groups, share, only)
    kept = {} if journal is None else _read(journal)
    known = {i: kept[_key(probe)] for i, probe in enumerate(probes) if _key(probe) in kept}
    rest = [i for i in range(len(probes)) if i not in known]
    if rest:
        warm_up()
    with open(journal or os.devnull, "a", encoding="utf-8") as file:
        for turn, finding in findings([probes[i] for i in rest], processes=processes):
            known[rest[turn]] = finding
            print(json.dumps([_key(probes[rest[turn]]), asdict(finding)]), file=file, flush=True)
    return Scorecard(probes, [known[i] for i in range(len(probes))], time.monotonic() - began)


def _key(probe: Probe) -> str:
    return f"{probe.group}|{probe.subject}|{probe.fault}"


def _sources() -> str:
    """A number that changes with the source and with the probes."""
    found = hashlib.sha256()
    for folder in ("src", "tests/trust"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def _read(journal: Path) -> dict[str, Finding]:
    """Return the good findings of a journal of these sources, and leave nothing else in it."""
    now = _sources()
    lines = journal.read_text(encoding="utf-8").split("\n")[:-1] if journal.exists() else []  # but a torn last line
    good = [line for line in lines[1:] if json.loads(line)[1]["verdict"] in GOOD] if lines[:1] == [now] else []
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text("\n".join([now, *good, ""]), encoding="utf-8")
    return {key: Finding(**finding) for key, finding in map(json.loads, good)}


def main() -> int:
    """Print the scorecard; the exit status tells whether there was a bad outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.probes", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help=f"out of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of the names of what is probed")
    parser.add_argument("--json", action="store_true", help="numbers for a program")
    parser.add_argument("--share", type=int, default=1, help="of estimators much like others, one probe in so many")
    parser.add_argument("--processes", type=int, default=1, help="how many at a time")
    parser.add_argument("--journal", type=Path, help="keep findings in this file, and go on from it")
    options = parser.parse_args()
    card = score(options.groups or GROUPS, options.share, tuple(options.only), options.processes, options.journal)
    if options.json:
        bad = [[p.group, p.subject, p.fault, f.verdict, f.detail] for p, f in card.bad]
        print(json.dumps({"probes": len(card.probes), "counts": card.counts(), "seconds": card.seconds, "bad": bad}))
    else:
        print(card)
    return 1 if card.bad else 0


if __name__ == "__main__":
    sys.exit(main())
