"""Who may ask the studio what: Host, Origin, token and cookie, sizes, and the headers of every answer.

A loopback address is no access control: any page that is open in the browser can send requests to it, and a name that
an attacker owns can be made to mean 127.0.0.1. So every request must name this server as its Host, a request that
changes anything must come from this origin, and all but the empty page needs a cookie that only the holder of the token
was given.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

__all__ = ["BODY", "POLICY", "Guard", "Keys", "TooLarge", "text_body"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY = 2 * 2**20  # bytes of a request that is no file
HEADS = 16384  # bytes of its headers
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
OPEN = ("/", "/session")  # and what is in /static/: the page without any data
READING = ("GET", "HEAD")


class TooLarge(Exception):
    """A request has more bytes than it may have."""


class Keys:
    """The secrets of one run: a token for the address, and the value of the cookie that is given for it.

    Parameters
    ----------
    port : int
        Cookies do not distinguish ports, so the name of the cookie does.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.token, self.cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.name = f"mercer_studio_{port}"
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.origins = tuple(f"http://{host}" for host in self.hosts)

    def opens(self, token: Any) -> bool:
        """Return whether a token is that of this run."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self.token.encode())

    def knows(self, header: str) -> bool:
        """Return whether a Cookie header holds the cookie of this run."""
        try:
            found = SimpleCookie(header).get(self.name)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.cookie.encode())

    def set_cookie(self) -> str:
        """Return the header that gives the cookie: not for scripts, not for other sites, gone with the browser."""
        return f"{self.name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"


class Guard:
    """An ASGI application around another one: refuses what may not be asked, and adds headers to all answers."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]], keys: Keys) -> None:
        self.application, self.keys = application, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            await send({"type": "websocket.close", "code": 1008})
            return
        sent = _with_headers(send)
        refused = self.refusal(scope)
        if refused is None:
            await self.application(scope, receive, sent)
            return
        status, words = refused
        await sent(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain"), _CLOSE]}
        )
        await sent({"type": "http.response.body", "body": words.encode()})

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and words by which a request is refused; None if it may pass."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADS:
            return 431, "The headers are too long."
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        if any(len(headers.get(name, ())) > 1 for name in (b"host", b"origin", b"content-length")):
            return 400, "A header was given twice."
        one = {name: values[0].decode("latin-1") for name, values in headers.items()}
        if one.get(b"host") not in self.keys.hosts:
            return 421, "This is not the host that was asked for."
        method, path = scope["method"], scope["path"]
        if method not in (*READING, "POST"):
            return 405, "Only GET and POST are answered."
        if method not in READING and one.get(b"origin") != f"http://{one[b'host']}":
            return 403, "The request comes from another origin."
        if b"origin" in one and one[b"origin"] not in self.keys.origins:
            return 403, "The request comes from another origin."
        if one.get(b"sec-fetch-site", "none") not in ("none", "same-origin") and path not in ("/",):
            return 403, "The request comes from another site."
        if path in OPEN or path.startswith("/static/"):
            return None
        if not self.keys.knows(one.get(b"cookie", "")):
            return 401, "Open the address that mercer studio printed in the terminal."
        return None


_CLOSE = (b"connection", b"close")


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            added = [(name, value) for name, value in HEADERS if name not in own]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent


async def text_body(request: Any) -> bytes:
    """Return the body of a request that is no file; one that is too large is refused before it is held."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > BODY:
        raise TooLarge
    total, pieces = 0, []
    async for piece in request.stream():
        total += len(piece)
        if total > BODY:
            raise TooLarge
        pieces.append(piece)
    return b"".join(pieces)
