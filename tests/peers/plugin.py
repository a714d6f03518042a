"""A plugin of pytest that puts adapters in the place of scikit-learn's classes and tells what became of its tests."""

import json
import os

import pytest

from tests.peers import adapters

RESULTS = {}


def pytest_configure(config):
    adapters.replace_names(os.environ["MERCER_PEER"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    adapters.TOUCHED.clear()
    return (yield)


def pytest_runtest_logreport(report):
    name = report.nodeid.partition("::")[2]
    said = getattr(report.longrepr, "reprcrash", None)
    text = said.message if said is not None else str(report.longrepr or "")
    if report.when == "call" or report.outcome != "passed":
        RESULTS[name] = {
            "outcome": report.outcome,
            "touched": sorted(adapters.TOUCHED),
            "text": " ".join(text.split())[:400],
        }


def pytest_collectreport(report):
    if report.failed:
        RESULTS["collection"] = {"outcome": "failed", "touched": ["collection"], "text": str(report.longrepr)[-400:]}


def pytest_sessionfinish(session):
    with open(os.environ["MERCER_PEER_RESULTS"], "w", encoding="utf-8") as stream:
        json.dump(RESULTS, stream)
