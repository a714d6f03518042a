"""What tests and the examples of docstrings share; the rest is in tests/conftest.py."""

import sys


def pytest_runtest_teardown():
    """Close what a test has drawn: beyond twenty open figures matplotlib warns."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
