"""Start the studio: a socket on the loopback, the address with its token, the server, and its end."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer.errors import CapabilityError
from mercer.studio.request_guard import Guard, Keys
from mercer.studio.request_timer import timed_protocol

__all__ = ["address_of", "listen", "require_installed", "run_studio", "server_of"]

HOST = "127.0.0.1"


def require_installed() -> None:
    """Refuse to start without the packages of the extra."""
    lost = [name for name in ("starlette", "uvicorn", "matplotlib") if importlib.util.find_spec(name) is None]
    if lost:
        raise CapabilityError(
            f"mercer studio was started, and {' and '.join(lost)}, which it needs, cannot be imported. Install what is "
            "missing: pip install 'mercer[studio]'"
        )


def listen(port: int = 0) -> socket.socket:
    """Return a socket that listens on the loopback; port 0 is a random free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.bind((HOST, port))
    except OSError:
        found.close()
        raise CapabilityError(f"Port {port} is in use. Leave --port out: a free one is found.") from None
    return found


def address_of(keys: Keys) -> str:
    """Return the address to open; what is behind its # stays in the browser until the page hands it in."""
    return f"http://{HOST}:{keys.port}/#token={keys.token}"


def server_of(studio: Any) -> Any:
    """Return the server of a studio: every request passes the guard and must arrive in time."""
    uvicorn: Any = importlib.import_module("uvicorn")
    pages: Any = importlib.import_module("mercer.studio.pages")
    options = uvicorn.Config(
        Guard(pages.application(studio), studio.keys),
        log_level="error",
        access_log=False,
        ws="none",
        lifespan="on",
        http=timed_protocol(),
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=100,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16384,
    )

    class Ending(uvicorn.Server):
        """A server that ends the children first, so that no request waits for them while it ends itself."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await studio.end()
            await super().shutdown(sockets)

    return Ending(options)


def run_studio(
    say: Callable[[str], None], data: Path | None, folder: Path, *, port: int = 0, browse: bool = True
) -> None:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    say : callable
        Called with each text that the user should read.
    data : Path or None
        A file to begin with.
    folder : Path
        Where models are saved; nothing is written anywhere else but in a temporary folder.
    port : int
        0 is a random free one.
    browse : bool
        Whether a browser is opened.
    """
    require_installed()
    pages: Any = importlib.import_module("mercer.studio.pages")
    listening = listen(port)
    keys = Keys(listening.getsockname()[1])
    room = Path(tempfile.mkdtemp(prefix="mercer-studio-"))  # mode 0700
    studio = pages.Studio(keys, data, folder, room)
    say(f"Open {address_of(keys)}")
    say(f"Models are saved in {folder}. Press Ctrl-C to end.")
    if browse:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address_of(keys))
    try:
        with contextlib.suppress(KeyboardInterrupt):  # it was told to end, as it says
            server_of(studio).run(sockets=[listening])
    finally:
        listening.close()
        shutil.rmtree(room, ignore_errors=True)
