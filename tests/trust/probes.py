"""The bad-input matrix: every public estimator, kernel and reader, met with every fault.

Subjects are found in ``mercer.__all__`` and ``mercer.kernels.__all__`` (the members of ENTRIES of the laws of
kernels), so that what is added there is probed from then on. A probe is a subject and a fault; its outcome is judged
by `tests.trust.judge`. ``python -m tests.trust.probes`` prints the scorecard; names of groups may be given.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np

import mercer
from tests.laws.test_kernels import ENTRIES
from tests.trust.isolation import Finding, run_isolated
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


def all_probes(groups: Iterable[str] = GROUPS, share: int = 1) -> list[Probe]:
    """Return the probes of some groups; of estimators that are much like others one in `share`, in turns."""
    every = [probe for group in groups for source in GROUPS[group] for probe in source() if probe.group == group]
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
    return 12 if probe.group in ("kernels", "parameters", "functions") else 1


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


def score(groups: Iterable[str] = GROUPS, share: int = 1) -> Scorecard:
    """Run the probes of some groups, each isolated."""
    began = time.monotonic()
    probes = all_probes(groups, share)
    warm_up()
    findings = run_isolated(probes)
    return Scorecard(probes, findings, time.monotonic() - began)


def main() -> int:
    """Print the scorecard; the exit status tells whether there was a bad outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.probes", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help=f"out of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--json", action="store_true", help="numbers for a program")
    parser.add_argument("--share", type=int, default=1, help="of estimators much like others, one probe in so many")
    options = parser.parse_args()
    card = score(options.groups or GROUPS, options.share)
    if options.json:
        bad = [[p.group, p.subject, p.fault, f.verdict, f.detail] for p, f in card.bad]
        print(json.dumps({"probes": len(card.probes), "counts": card.counts(), "seconds": card.seconds, "bad": bad}))
    else:
        print(card)
    return 1 if card.bad else 0


if __name__ == "__main__":
    sys.exit(main())
