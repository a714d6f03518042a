"""Attacks by slowness: connections that send nothing, a byte now and then, or a body without end, are closed."""

import contextlib
import socket
import threading

import pytest

from mercer.studio import pages, request_timer

PATIENCE = 60.0  # seconds after which a test says that a connection was not closed
PAUSE = 0.02


SOON = 0.2  # only of the part of a request that a test is slow with, so that a busy machine changes no answer


def drip(server, head, more):
    """Send some bytes, then others one by one without end; return what was answered before the end."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as line:
        line.sendall(head)
        closed = threading.Event()

        def send():
            with contextlib.suppress(OSError):
                while more and not closed.wait(PAUSE):
                    line.sendall(more)

        sender = threading.Thread(target=send)
        sender.start()
        got = b""
        try:
            with contextlib.suppress(ConnectionError):
                while piece := line.recv(4096):
                    got += piece
        finally:
            closed.set()
            sender.join()
    return got


def head_of(server, line, *more, cookie=True):
    host = f"127.0.0.1:{server.port}"
    key = [f"cookie: {server.keys.name}={server.keys.cookie}"] if cookie else []
    return "\r\n".join([line, f"host: {host}", f"origin: http://{host}", *key, *more, "", ""]).encode()


@pytest.mark.parametrize(("head", "more"), [
    (b"", b""),  # a connection and nothing else
    (b"GET /start HTTP/1.1\r\n", b""),
    (b"GET /start HTTP/1.1\r\nx-slow: ", b"x"),  # headers that never end
], ids=["silent", "half", "drip"])  # fmt: skip
def test_headers_that_do_not_come(running, monkeypatch, head, more):
    monkeypatch.setattr(request_timer, "HEADERS", SOON)
    assert drip(running, head, more) == b""


@pytest.mark.parametrize("length", ["content-length: 100000", "transfer-encoding: chunked"])
@pytest.mark.parametrize(("line", "cookie", "limit"), [
    ("POST /session", False, "BODY"), ("POST /live/play", True, "BODY"), ("GET /", False, "REST"),
])  # fmt: skip
def test_a_body_that_never_ends(running, monkeypatch, line, cookie, length, limit):
    monkeypatch.setattr(request_timer, limit, SOON)
    more = b" " if length.startswith("content") else b"1\r\n \r\n"
    got = drip(running, head_of(running, f"{line} HTTP/1.1", length, cookie=cookie), more)
    assert got.startswith(b"HTTP/1.1 200") if limit == "REST" else got == b""  # the page itself needs no body


def test_a_later_request_that_does_not_come(running, monkeypatch):
    with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as line:
        line.sendall(head_of(running, "GET /start HTTP/1.1", "content-length: 0"))
        assert line.recv(4096).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(request_timer, "HEADERS", SOON)
        with contextlib.suppress(ConnectionError):
            for _ in range(int(PATIENCE / PAUSE)):
                line.sendall(b"x")
                threading.Event().wait(PAUSE)
            pytest.fail("the connection was not closed")


def test_an_upload_that_stops(running, monkeypatch):
    monkeypatch.setattr(pages, "QUIET", SOON)
    monkeypatch.setattr(request_timer, "REST", SOON)
    got = drip(running, head_of(running, "POST /upload/first HTTP/1.1", "content-length: 1000") + b"a,b\n", b"")
    assert got.startswith(b"HTTP/1.1 408") and "first" not in running.studio.files


def test_an_upload_that_drips(running, monkeypatch):
    monkeypatch.setattr(pages, "UPLOADING", SOON)
    monkeypatch.setattr(request_timer, "REST", SOON)
    got = drip(running, head_of(running, "POST /upload/first HTTP/1.1", "content-length: 100000") + b"a,b\n", b"1")
    assert got.startswith(b"HTTP/1.1 408") and "first" not in running.studio.files


def test_many_slow_ones_leave_room_for_the_page(running, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(request_timer, "HEADERS", SOON)
        slow = [socket.create_connection(("127.0.0.1", running.port), PATIENCE) for _ in range(120)]
        for line in slow:
            with contextlib.suppress(ConnectionError), line:
                line.sendall(b"GET /start HTTP/1.1\r\nx-slow: ")
                assert line.recv(1) == b""
    assert running.ask("GET", "/start").status == 200


def test_a_request_in_pieces_is_answered(running):
    """The usual limits are seconds: whoever is slow for honest reasons is heard."""
    head = head_of(running, "GET /start HTTP/1.1", "connection: close")
    with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as line:
        for at in range(0, len(head), 40):
            line.sendall(head[at : at + 40])
            threading.Event().wait(0.005)
        assert line.recv(100).startswith(b"HTTP/1.1 200")
