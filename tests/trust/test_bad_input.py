"""No bad outcome, whatever is given: not silent, not cryptic, not infinite, no hang, no crash.

The probes run in a process of their own (see `tests.trust.probes`), which forks before it starts any thread.
"""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.trust.judge import EITHER, REFUSE, judge, unclear
from tests.trust.probes import GROUPS, all_probes

ROOT = Path(__file__).resolve().parents[2]
AT_LEAST = 1500  # on vectors, in all groups but "structures"
AT_LEAST_STRUCTURED = 600
SHARE = 240  # `make probes` runs all
LONGEST = 3000  # seconds, for a machine that is busy or has nothing compiled yet


# Each process runs everything once on good data before it begins, so they are few.
PARTS = [("kernels", "parameters", "readers", "functions"), ("estimators", "structures", "settings")]


def test_every_group_is_in_a_part():
    assert sorted(group for part in PARTS for group in part) == sorted(GROUPS)


@pytest.mark.parametrize("part", PARTS, ids=" ".join)
def test_no_bad_outcome(part):
    command = [sys.executable, "-m", "tests.trust.probes", *part, "--json", "--share", str(SHARE)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    print(f"{part}: {result['probes']} probes, {result['counts']}")
    table = [f"{group}: {verdict}: {what} | {fault}: {detail}" for group, what, fault, verdict, detail in result["bad"]]
    assert not table, f"{len(table)} of {result['probes']} probes ended badly\n" + "\n".join(table)


@functools.cache
def probes_of(group):
    return all_probes([group])


def test_there_are_enough_probes():
    counts = {group: len(probes_of(group)) for group in GROUPS}
    assert counts.pop("structures") >= AT_LEAST_STRUCTURED
    assert sum(counts.values()) >= AT_LEAST, counts


def test_the_probes_are_the_same_in_every_process():
    """Which of them a share takes depends on their names: no address may be in one."""
    words = [f"{probe.subject}|{probe.fault}" for group in GROUPS for probe in probes_of(group)]
    assert not [word for word in words if " at 0x" in word or tempfile.gettempdir() in word]
    assert len(words) == len(set(words))


def test_every_estimator_is_probed():
    import mercer.estimators

    subjects = {probe.subject.partition("(")[0] for probe in probes_of("estimators")}
    public = {name for name in mercer.estimators.__all__ if hasattr(getattr(mercer.estimators, name), "fit")}
    assert public <= subjects


# the judge itself ---------------------------------------------------------------------------------------


def _raises(error):
    def call():
        raise error

    return call


class _Hidden(ValueError):
    pass


def _warns():
    import warnings

    warnings.warn("numbers were lost", UserWarning, stacklevel=1)
    return 1.0


@pytest.mark.parametrize(
    ("call", "expect", "verdict"),
    [
        (lambda: 1.0, EITHER, "finite"),
        (lambda: [1.0, float("nan")], EITHER, "not finite"),
        (lambda: 1.0, REFUSE, "silent"),
        (lambda: 1.0, "told", "silent"),
        (_warns, "told", "warned"),
        (_raises(ValueError("X has 3 columns, 4 were expected: give all of them")), REFUSE, "refused"),
        (_raises(ValueError("X has 3 columns, 4 were expected: give all of them")), "accept", "refused valid input"),
        (_raises(ValueError("no")), REFUSE, "cryptic"),
        (_raises(_Hidden("X has 3 columns, 4 were expected: give all of them")), REFUSE, "cryptic"),
        (_raises(ValueError("y has the label np.str_('a'), which is not among the classes")), REFUSE, "cryptic"),
        (_raises(ValueError("X has the value np.float64(1.5), which is too large to be")), REFUSE, "cryptic"),
        (_raises(ValueError("the kernel has no a finite feature map, which is needed")), REFUSE, "cryptic"),
        (_raises(ValueError("alphas=3 were given: write np.logspace(-6, 2, 50) for y")), REFUSE, "refused"),
        (_raises(IndexError("X has 3 columns, 4 were expected: give all of them")), REFUSE, "cryptic"),
        (_raises(TypeError("X: object of type 'NoneType' has no len(), as it seems")), REFUSE, "cryptic"),
    ],
)
def test_the_judge(call, expect, verdict):
    assert judge({"call": call}, expect).verdict == verdict


def test_advice_is_asked_of_our_own_errors():
    from mercer.errors import DomainError

    assert unclear(DomainError("X has 3 columns, but 4 columns were expected here")) == "an error without advice"
    assert not unclear(DomainError("X has 3 columns, but 4 were expected. Give all of them."))


# runs that are broken off ---------------------------------------------------------------------------------


def test_a_journal_keeps_what_was_good_for_the_same_sources(tmp_path, monkeypatch):
    from tests.trust import probes

    journal = tmp_path / "probes.jsonl"
    lines = [json.dumps([f"g|s|{verdict}", {"verdict": verdict}]) for verdict in ("finite", "hang", "refused")]
    journal.write_text("\n".join([probes._sources(), *lines, '["g|s|torn']), encoding="utf-8")
    assert sorted(probes._read(journal)) == ["g|s|finite", "g|s|refused"]
    assert sorted(probes._read(journal)) == ["g|s|finite", "g|s|refused"]
    monkeypatch.setattr(probes, "_sources", lambda: "others")
    assert not probes._read(journal)
    assert journal.read_text(encoding="utf-8") == "others\n"


def test_every_free_function_is_probed():
    import mercer.networks
    import mercer.theory
    from tests.trust.of_functions import ELSEWHERE, functions

    assert {"search", "weight_path", "definite_mixture", "infinite_family", "nonlinear_family"} <= set(functions())
    for module in (mercer.theory, mercer.networks):
        free = {name for name in module.__all__ if not isinstance(getattr(module, name), type)}
        assert {name for name in free if callable(getattr(module, name))} <= {*functions(), *ELSEWHERE}
    assert {probe.subject for probe in probes_of("functions")} == set(functions())
