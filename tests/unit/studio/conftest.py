"""One server for the tests of a module; its children start when they are first asked."""

import numpy as np
import pytest

from tests.unit.studio.web import Running


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    server = Running(tmp_path_factory.mktemp("studio"))
    yield server
    server.end()


@pytest.fixture
def known(tmp_path):
    """What the server adds to a request."""
    rng = np.random.default_rng(0)
    path = tmp_path / "a.csv"
    rows = [f"{a:.3f},{b:.3f},{'u' if a * b > 0 else 'v'}" for a, b in rng.normal(size=(60, 2))]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    (tmp_path / "models").mkdir()
    return {
        "path": str(path),
        "room": str(tmp_path),
        "folder": str(tmp_path / "models"),
        "name": "a.csv",
        "labels": "",
        "target": "y",
    }
