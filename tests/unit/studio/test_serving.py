"""The socket, the address, and what is said if something is not installed."""

import importlib.util

import pytest

from mercer.errors import CapabilityError
from mercer.studio import serving
from mercer.studio.request_guard import Keys


def test_it_listens_on_the_loopback_alone():
    with serving.listen() as found:
        host, port = found.getsockname()
        assert host == "127.0.0.1" and port >= 1024
        found.listen()
        with pytest.raises(CapabilityError, match="in use"):
            serving.listen(port)


def test_the_token_is_behind_the_hash():
    keys = Keys(4321)
    before, _, after = serving.address_of(keys).partition("#")
    assert before == "http://127.0.0.1:4321/" and after == f"token={keys.token}"


def test_what_is_not_installed_is_said(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else real(name))
    with pytest.raises(CapabilityError, match=r"uvicorn.*pip install 'mercer\[studio\]'"):
        serving.require_installed()
