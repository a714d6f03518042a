"""A studio to be asked in tests: the real server in a thread, and requests whose every byte the test decides."""

import asyncio
import contextlib
import json
import socket
import threading
from pathlib import Path

from mercer.studio.pages import Studio
from mercer.studio.request_guard import Keys
from mercer.studio.serving import listen, server_of


class Reply:
    """Status, headers (names in small letters) and body."""

    def __init__(self, raw: bytes):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}

    @property
    def json(self):
        return json.loads(self.body)


class Running:
    """A server of a studio on a free port."""

    def __init__(self, folder: Path, data: Path | None = None, warm: bool = False):
        self.listening = listen()
        self.keys = Keys(self.listening.getsockname()[1])
        self.port = self.keys.port
        (folder / "room").mkdir(mode=0o700)
        (folder / "models").mkdir()
        self.studio = Studio(self.keys, data, folder / "models", folder / "room")
        if not warm:
            self.studio.warm = lambda: asyncio.sleep(0)
        self.server = server_of(self.studio)
        self.server.install_signal_handlers = lambda: None
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            threading.Event().wait(0.01)

    def raw(self, data: bytes, timeout: float = 60.0) -> Reply:
        """Send bytes, return what comes back until the end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as line:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                line.sendall(data)
            pieces = []
            with contextlib.suppress(ConnectionResetError):
                while piece := line.recv(65536):
                    pieces.append(piece)
        return Reply(b"".join(pieces))

    def ask(
        self, method: str, path: str, body: bytes = b"", *, cookie: bool | str = True, **changes: str | None
    ) -> Reply:
        """Ask as the page does, but for what is changed; a header of None is left out."""
        host = f"127.0.0.1:{self.port}"
        headers: dict[str, str | None] = {"host": host, "connection": "close", "content-length": str(len(body))}
        if method != "GET":
            headers["origin"] = f"http://{host}"
        if cookie:
            headers["cookie"] = cookie if isinstance(cookie, str) else f"{self.keys.name}={self.keys.cookie}"
        headers |= {name.replace("_", "-"): value for name, value in changes.items()}
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return self.raw("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body)

    def live(self, do: str, fields, **changes) -> Reply:
        return self.ask("POST", f"/live/{do}", json.dumps(fields).encode(), **changes)

    def file(self, do: str, fields, **changes) -> Reply:
        return self.ask("POST", f"/file/{do}", json.dumps(fields).encode(), **changes)

    def end(self):
        self.server.should_exit = True
        self.thread.join(20)
        self.listening.close()
