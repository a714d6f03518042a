"""The socket, the address, what is said if something is not installed; requests nobody waits for, and the end."""

import asyncio
import importlib.util
import json
import logging
import socket
import sys
import threading

import pytest

from mercer.errors import CapabilityError
from mercer.studio import child_process, serving
from mercer.studio.request_guard import Keys
from tests.unit.studio.web import Running

SILENT = "import sys\nfor line in sys.stdin: pass"
PATIENCE = 60.0  # seconds after which a test says that something does not happen


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


@pytest.fixture
def silent(monkeypatch, tmp_path):
    """A studio whose children never answer."""
    real = asyncio.create_subprocess_exec
    monkeypatch.setattr(
        child_process.asyncio,
        "create_subprocess_exec",
        lambda *_, **options: real(sys.executable, "-I", "-c", SILENT, **options),
    )
    server = Running(tmp_path)
    yield server
    server.end()


def asked(server):
    """A request that the server works on."""
    line = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    host, body = f"127.0.0.1:{server.port}", json.dumps({}).encode()
    head = [
        "POST /live/play HTTP/1.1",
        f"host: {host}",
        f"origin: http://{host}",
        f"cookie: {server.keys.name}={server.keys.cookie}",
        f"content-length: {len(body)}",
    ]
    line.sendall("\r\n".join([*head, "", ""]).encode() + body)
    return line


def until(holds):
    for _ in range(int(PATIENCE / 0.02)):
        if holds():
            return
        threading.Event().wait(0.02)
    pytest.fail("it did not happen")


def waiting(server):
    """Questions in the queue of the live child."""
    return len(server.studio.live.busy._waiters or ())


def test_requests_of_a_page_that_is_gone_are_dropped(silent):
    """They would be answered, one after the other, before the page that was loaded in its place."""
    first, *others = [asked(silent) for _ in range(6)]
    until(lambda: waiting(silent) == 5)
    for line in others:
        line.close()
    until(lambda: waiting(silent) == 0 and len(silent.server.server_state.tasks) == 1)
    assert silent.studio.live.working is not None  # only the one that is being answered
    first.close()


def test_it_ends_without_a_word_while_requests_wait(silent, caplog):
    lines = [asked(silent) for _ in range(4)]
    until(lambda: waiting(silent) == 3)
    with caplog.at_level(logging.WARNING):
        silent.end()
    assert not silent.thread.is_alive() and caplog.records == [] and silent.studio.live.pid is None
    for line in lines:
        line.close()


def test_the_interrupt_that_ends_it_is_no_error(monkeypatch, tmp_path):
    class Interrupted:
        def run(self, sockets):
            raise KeyboardInterrupt

    monkeypatch.setattr(serving, "server_of", lambda studio: Interrupted())
    said = []
    serving.run_studio(said.append, None, tmp_path, browse=False)
    assert len(said) == 2 and said[0].startswith("Open http://127.0.0.1:")
