"""One server for the tests of a module; its children start when they are first asked."""

import pytest

from tests.unit.studio.web import Running


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    server = Running(tmp_path_factory.mktemp("studio"))
    yield server
    server.end()
