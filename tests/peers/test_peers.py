"""The machinery of `make peers`: what counts as passed, failed and not applicable, and that every failure is judged."""

import pytest

from tests.peers import run
from tests.peers.adapters import PEERS

OK = {"outcome": "passed", "touched": ["SVC"], "text": ""}
FAILED = {"outcome": "failed", "touched": ["SVC"], "text": "AssertionError"}


def test_what_does_not_use_mercer_is_not_applicable():
    assert run.standing(OK) == "passed"
    assert run.standing(FAILED) == "failed"
    assert run.standing({**OK, "touched": []}) == "not applicable"
    assert run.standing({**OK, "outcome": "skipped"}) == "not applicable"


def test_the_verdicts_are_whole():
    verdicts = run.read_verdicts()
    modules = {verdict["module"] for verdict in verdicts}
    assert modules <= {"*", *PEERS, "libsvm", "grakel", "hyppo"}
    assert not any(verdict["kind"] == "fault" for verdict in verdicts)


def test_a_verdict_is_found_by_name_and_parameters():
    verdicts = [{"module": "m", "tests": ["test_a[x*", "test_b"], "kind": "deliberate", "reason": "so"}]
    assert run.judged("m", "test_a[x-1]", verdicts) is verdicts[0]
    assert run.judged("m", "test_b", verdicts) is verdicts[0]
    assert run.judged("m", "test_a[y]", verdicts) is None
    assert run.judged("other", "test_b", verdicts) is None


def test_a_failure_without_a_verdict_is_counted(capsys):
    verdicts = [{"module": "m", "tests": ["test_a"], "kind": "deliberate", "reason": "so"}]
    assert run.tell("m", {"test_a": FAILED, "test_b": FAILED, "test_c": OK}, verdicts) == 1
    told = capsys.readouterr().out
    assert "1 passed, 2 failed, 0 not applicable" in told and "NO VERDICT test_b" in told and "deliberate: so" in told
    assert run.tell("m", {"test_a": FAILED}, [{**verdicts[0], "kind": "fault"}]) == 1
    assert run.stale(verdicts, {"m": {"test_a": OK}}) == ["m test_a"]


@pytest.mark.slow
def test_tests_of_scikit_learn_run_against_mercer(tmp_path):
    results = run.run_tests("sklearn.tests.test_kernel_ridge", tmp_path)
    assert sum(run.standing(result) == "passed" for result in results.values()) >= 6
    assert run.tell("sklearn.tests.test_kernel_ridge", results, run.read_verdicts()) == 0
