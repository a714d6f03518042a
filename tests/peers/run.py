"""Other libraries' own tests, against mercer: `make peers`.

Of scikit-learn the tests that are installed with it are run, with its classes replaced by adapters. LIBSVM's programs,
GraKeL and hyppo are compared with where they are installed. Every failure needs a verdict in verdicts.toml.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERDICTS = HERE / "verdicts.toml"
KINDS = ("deliberate", "not applicable", "fault")
PASSED, FAILED, APART = "passed", "failed", "not applicable"


def read_verdicts(path=VERDICTS):
    """Return the verdicts, checked: each has a module, patterns of tests, a kind and a reason."""
    with open(path, "rb") as stream:
        verdicts = tomllib.load(stream)["verdict"]
    for verdict in verdicts:
        if (
            set(verdict) != {"module", "tests", "kind", "reason"}
            or verdict["kind"] not in KINDS
            or not verdict["reason"]
        ):
            raise ValueError(f"{path} has an entry that is no verdict: {verdict}")
    return verdicts


def judged(module, test, verdicts):
    """Return the first verdict on a test, or None."""
    for verdict in verdicts:
        # brackets of parameters are no patterns
        if verdict["module"] in (module, "*") and any(
            fnmatch.fnmatchcase(test, pattern.replace("[", "[[]")) for pattern in verdict["tests"]
        ):
            return verdict
    return None


def standing(result):
    """Return passed, failed, or not applicable: what is skipped, and what does not use mercer at all."""
    if result["outcome"] == "failed":
        return FAILED
    return PASSED if result["outcome"] == "passed" and result["touched"] else APART


def run_tests(module, folder):
    """Run the tests of a module of scikit-learn against mercer; name of a test -> its result."""
    written = Path(folder) / "results.json"
    written.unlink(missing_ok=True)
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MERCER_PEER": module, "MERCER_PEER_RESULTS": str(written), "PYTHONPATH": paths}
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), "--disable-warnings"),
        *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.peers.plugin", "--tb=line", "--pyargs", module),
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not written.exists():
        raise RuntimeError(f"the tests of {module} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(written.read_text(encoding="utf-8"))


def tell(module, results, verdicts):
    """Print a line for a module and one for each failure; return how many failures have no verdict or are faults."""
    counts = dict.fromkeys((PASSED, FAILED, APART), 0)
    open_ones = 0
    for result in results.values():
        counts[standing(result)] += 1
    print(f"{module}: " + ", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)
    told = {}
    for test, result in results.items():
        if standing(result) != FAILED:
            continue
        verdict = judged(module, test, verdicts)
        if verdict is None or verdict["kind"] == "fault":
            open_ones += 1
            print(f"  {'NO VERDICT' if verdict is None else 'FAULT'} {test}: {result['text'][:300]}")
        else:
            told.setdefault((verdict["kind"], verdict["reason"]), []).append(test)
    for (kind, reason), tests in told.items():
        print(f"  {len(tests):3d} {kind}: {reason}")
    return open_ones


def stale(verdicts, seen):
    """Return patterns that no failure of the modules that were run needs any more."""
    failed = {
        (module, test) for module, results in seen.items() for test, r in results.items() if standing(r) == FAILED
    }
    unused = []
    for verdict in verdicts:
        modules = seen if verdict["module"] == "*" else [verdict["module"]]
        for pattern in verdict["tests"]:
            one = [{**verdict, "tests": [pattern]}]
            if not any(judged(m, t, one) for m, t in failed if m in modules) and any(m in seen for m in modules):
                unused.append(f"{verdict['module']} {pattern}")
    return unused


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="some modules of scikit-learn's tests, or libsvm, grakel, hyppo")
    chosen = parser.parse_args(arguments).modules
    from tests.peers import programs
    from tests.peers.adapters import PEERS

    verdicts, seen, open_ones = read_verdicts(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for module in PEERS:
            if not chosen or module in chosen:
                seen[module] = run_tests(module, folder)
                open_ones += tell(module, seen[module], verdicts)
    for name, compare in programs.PEERS.items():
        if not chosen or name in chosen:
            seen[name] = compare()
            open_ones += tell(name, seen[name], verdicts)
    # a verdict on all modules is judged when all were run
    for pattern in stale([v for v in verdicts if not chosen or v["module"] != "*"], seen):
        print(f"no longer needed: {pattern}")
    totals = [
        sum(standing(r) == kind for results in seen.values() for r in results.values())
        for kind in (PASSED, FAILED, APART)
    ]
    print(f"all: {totals[0]} passed, {totals[1]} failed, {totals[2]} not applicable; {open_ones} without an excuse")
    return 1 if open_ones else 0


if __name__ == "__main__":
    sys.exit(main())
