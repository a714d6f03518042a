"""Attacks on the door: other hosts, other origins, no key, old keys, too much, and what every answer carries."""

import asyncio
import json

import pytest

from mercer.studio.request_guard import BODY, POLICY, Guard, Keys

HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{port}",
         "0.0.0.0:{port}", "127.0.0.1.nip.io:{port}", "127.0.0.1:{port}.evil.example", "LOCALHOST.evil:{port}",
         "", "127.1:{port}", "2130706433:{port}", "127.0.0.1:{port}@evil.example"]  # fmt: skip
ORIGINS = ["http://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "https://127.0.0.1:{port}",
           "http://127.0.0.1:{port}.evil.example", "http://evil.example:{port}", "file:" + "//", "", None,
           "http://127.0.0.1:{port}/"]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_is_refused(running, host):
    reply = running.ask("GET", "/start", host=host.format(port=running.port))
    assert reply.status in (400, 421) and b"folder" not in reply.body


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("path", ["/live/play", "/upload/first", "/stop", "/session"])
def test_another_origin_changes_nothing(running, origin, path):
    origin = origin and origin.format(port=running.port)
    body = json.dumps({"token": running.keys.token}).encode()
    reply = running.ask("POST", path, body, origin=origin)
    assert reply.status == 403 and "set-cookie" not in reply.headers
    assert running.studio.files == {}


def test_reading_from_another_origin_is_refused_too(running):
    assert running.ask("GET", "/start", origin="http://evil.example").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_the_browser_says_that_another_site_asks(running, site):
    assert running.ask("GET", "/report", sec_fetch_site=site).status == 403


def test_this_page_may_ask(running):
    assert running.ask("GET", "/start").status == 200
    host = f"localhost:{running.port}"
    assert running.ask("GET", "/start", host=host).status == 200
    assert running.ask("POST", "/stop", host=host, origin=f"http://{host}").status == 200


@pytest.mark.parametrize("path", ["/start", "/job", "/report", "/upload/first", "/live/play", "/file/open"])
@pytest.mark.parametrize("cookie", [None, "mercer_studio_{port}=", "mercer_studio_{port}=abc", "other={cookie}",
                                    "mercer_studio_1={cookie}", "mercer_studio_{port}={token}"])  # fmt: skip
def test_without_the_cookie_there_is_nothing(running, path, cookie):
    keys = running.keys
    given = cookie and cookie.format(port=keys.port, cookie=keys.cookie, token=keys.token)
    method = "GET" if path in ("/start", "/job", "/report") else "POST"
    assert running.ask(method, path, cookie=given or False).status == 401


@pytest.mark.parametrize("token", ["", "abc", None, 7, ["x"], {"a": 1}, "x" * 10_000, "old"])
def test_a_wrong_or_old_token_gives_no_cookie(running, token):
    given = Keys(running.port).token if token == "old" else token
    reply = running.ask("POST", "/session", json.dumps({"token": given}).encode(), cookie=False)
    assert reply.status == 401 and "set-cookie" not in reply.headers


def test_the_token_gives_a_cookie_that_only_this_page_can_use(running):
    body = json.dumps({"token": running.keys.token}).encode()
    given = running.ask("POST", "/session", body, cookie=False).headers["set-cookie"]
    assert given.startswith(f"{running.keys.name}=") and running.keys.token not in given
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in given.split(";")}


def test_secrets_have_256_bits_and_differ():
    first, second = Keys(1), Keys(1)
    assert len({first.token, first.cookie, second.token, second.cookie}) == 4
    assert all(len(text) >= 43 for text in (first.token, first.cookie))  # 256 bits, six a letter


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/start", "/nothing", "/static/../serving.py", "/session"])
def test_every_answer_has_the_policy(running, path):
    for cookie in (True, False):
        headers = running.ask("GET", path, cookie=cookie).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control")]


def test_the_policy_is_the_strict_one():
    parts = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert parts["default-src"] == "'none'" and parts["script-src"] == "'self'" == parts["style-src"]
    assert parts["frame-ancestors"] == parts["base-uri"] == "'none'" and "unsafe" not in POLICY


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_other_methods_are_refused(running, method):
    reply = running.ask(method, "/start", access_control_request_method="POST")
    assert reply.status in (400, 405) and not [name for name in reply.headers if name.startswith("access-control")]


def test_a_websocket_is_refused(running):
    upgrade = {"connection": "Upgrade, close", "upgrade": "websocket", "sec_websocket_version": "13"}
    reply = running.ask("GET", "/live/play", sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==", **upgrade)
    assert reply.status != 101


def test_a_websocket_scope_is_closed():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(None, Keys(1))({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("header", ["host", "origin", "content-length"])
def test_a_header_given_twice_is_refused(running, header):
    host = f"127.0.0.1:{running.port}"
    own = {"host": host, "origin": f"http://{host}", "content-length": "2"}
    lines = [f"{name}: {value}" for name, value in own.items()]
    other = {"host": "evil.example", "origin": "http://evil.example", "content-length": "5"}[header]
    text = "\r\n".join(["POST /stop HTTP/1.1", *lines, f"{header}: {other}", "connection: close", "", "{}"])
    assert running.raw(text.encode()).status == 400


def test_too_much_is_refused_before_it_is_held(running):
    assert running.ask("POST", "/live/play", content_length=str(BODY + 1)).status == 413
    chunk = b"%x\r\n" % 65536 + b"x" * 65536 + b"\r\n"
    host = f"127.0.0.1:{running.port}"
    head = f"POST /live/play HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {running.keys.name}="
    head += f"{running.keys.cookie}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    assert running.raw(head.encode() + chunk * (BODY // 65536 + 2) + b"0\r\n\r\n").status == 413


def test_long_headers_are_refused(running):
    assert running.ask("GET", "/start", x_long="x" * 70_000).status in (400, 431)


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/1.1\r\n\r\n", b"GARBAGE\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n"]
)
def test_what_is_no_request_is_refused(running, line):
    assert running.raw(line + b"\r\n\r\n").status in (0, 400, 421)


def test_a_cookie_that_is_none_is_not_known():
    keys = Keys(1)
    assert keys.knows(f"{keys.name}={keys.cookie}")
    for header in ("", "a@b=1", f"{keys.name}=", f"{keys.name}=x{keys.cookie}", f"other={keys.cookie}"):
        assert not keys.knows(header)
