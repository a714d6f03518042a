"""The addresses of the studio: the page, live questions, uploads, and the job that works on the user's file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mercer.studio.child_process import Child, ChildError
from mercer.studio.request_guard import Keys, TooLarge, text_body

__all__ = ["LARGEST", "Job", "Studio", "application"]

STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LARGEST = 200 * 2**20  # bytes of a file
QUIET = 20.0  # seconds after which an upload that sends nothing is given up
UPLOADING = 600.0  # seconds for a whole upload
LIVE_SECONDS = 30.0
FILE_SECONDS = 3600.0
LIVE = ("play", "details", "parameters", "process", "evidence", "compare", "gram", "shared")
ENDING = re.compile(r"(\.[A-Za-z0-9]{1,10}){1,2}\Z")
PLAIN = re.compile(r"[^\w.() -]")
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"


class Job:
    """A long piece of work: its messages so far, and how it ended."""

    def __init__(self, what: str) -> None:
        self.what, self.begun = what, time.monotonic()
        self.messages: list[dict[str, Any]] = []
        self.state = "running"
        self.result: dict[str, Any] | None = None
        self.task: asyncio.Task[None] | None = None

    def since(self, place: int) -> dict[str, Any]:
        """Return what is new since some place."""
        return {
            "what": self.what,
            "state": self.state,
            "told": self.messages[place:],
            "next": len(self.messages),
            "seconds": round(time.monotonic() - self.begun, 1),
            "result": self.result if self.state != "running" else None,
        }


class Studio:
    """What one run of the studio knows.

    Parameters
    ----------
    keys : Keys
    data : Path or None
        A file to begin with.
    folder : Path
        Where models are saved.
    room : Path
        A temporary folder of this run, for uploads and what is made of them.
    """

    def __init__(self, keys: Keys, data: Path | None, folder: Path, room: Path) -> None:
        self.keys, self.folder, self.room = keys, folder, room
        self.files: dict[str, tuple[Path, str]] = {}
        if data is not None:
            self.files["first"] = (data.resolve(), data.name)
        self.live, self.file = Child("live"), Child("file")
        self.job: Job | None = None
        self.results: dict[str, dict[str, Any]] = {}  # the last of each kind of job on the present file
        self.number = 0  # of the present file
        self.uploads = asyncio.Semaphore(2)

    def known(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a request with the paths that only the server knows; paths it was sent are ignored."""
        if "first" not in self.files:
            raise ChildError("There is no file yet. Drop one into the page.", "ParameterError", 2)
        path, name = self.files["first"]
        other, other_name = self.files.get("second", (path, name))
        labels, labels_name = self.files.get("labels", ("", ""))
        paths = {"path": path, "other": other, "labels": labels, "room": self.room, "folder": self.folder}
        names = {"name": name, "other_name": other_name, "labels_name": labels_name}
        return {**fields, **{key: str(value) for key, value in paths.items()}, **names}

    def require_idle(self) -> None:
        """Refuse what cannot be done while a job runs."""
        if self.job is not None and self.job.state == "running":
            raise ChildError(f"A {self.job.what} is running. Wait for it, or stop it.", "Busy", 2)

    def replace(self, slot: str, path: Path, name: str) -> None:
        """Take another file; what was found for the one before it is forgotten."""
        self.require_idle()
        gone = [self.files.pop(place, None) for place in ((slot, "labels") if slot == "first" else (slot,))]
        self.files[slot] = (path, name)
        for old in gone:
            if old is not None and old[0].parent == self.room:
                old[0].unlink(missing_ok=True)
        if slot != "second":
            self.number += 1
            self.results.clear()
            for made in ("model.mercer", "report.html"):
                (self.room / made).unlink(missing_ok=True)

    def begin(self, what: str, fields: dict[str, Any]) -> Job:
        """Begin a job on the user's file; one at a time."""
        self.require_idle()
        self.job = job = Job(what)

        async def run() -> None:
            try:
                job.result = await self.file.ask(what, fields, FILE_SECONDS, job.messages.append)
                self.results[what] = job.result
                job.state = "done"
            except ChildError as error:
                job.result = {"error": error.message, "kind": error.kind}
                job.state = "stopped" if error.kind == "Stopped" else "failed"

        job.task = asyncio.get_running_loop().create_task(run())
        return job

    async def warm(self) -> None:
        """Prepare the live child while the user looks at the page."""
        with contextlib.suppress(ChildError):
            await self.live.ask("warm", {}, 300.0)

    async def end(self) -> None:
        """End the children, and with them whatever waits for their answers."""
        for child in (self.live, self.file):
            await child.close()


async def receive_file(request: Any, path: Path, largest: int = LARGEST) -> int:
    """Write the body of a request to a file, piece by piece; too much or too slow a body is refused."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > largest:
        raise TooLarge
    total, pieces = 0, request.stream().__aiter__()
    end = time.monotonic() + UPLOADING
    with path.open("wb") as target:
        while time.monotonic() < end:
            try:
                piece = await asyncio.wait_for(pieces.__anext__(), QUIET)
            except StopAsyncIteration:
                return total
            total += len(piece)
            if total > largest:
                raise TooLarge
            target.write(piece)
    raise TimeoutError


async def while_wanted(request: Any, child: Child, do: str, fields: Any, seconds: float) -> dict[str, Any]:
    """Return the answer of a child; a question is dropped when the page that asked it is closed or loaded anew."""
    from starlette.requests import ClientDisconnect

    async def leave() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        child.forget(asking)

    make = asyncio.get_running_loop().create_task
    asking, leaving = make(child.ask(do, fields, seconds)), make(leave())
    try:
        await asyncio.wait((asking,))
        if asking.cancelled():
            raise ClientDisconnect
        return asking.result()
    finally:
        asking.cancel()
        leaving.cancel()


def upload_name(header: str) -> tuple[str, str]:
    """Return what a file is called on the page, and the ending by which its format is found; never a path.

    Examples
    --------
    >>> upload_name("..%2F..%2Fetc%2Fmy table.csv")
    ('my table.csv', '.csv')
    """
    name = re.split(r"[/\\]", unquote(header)[:400])[-1]
    name = PLAIN.sub("_", name).lstrip(". -")[:100] or "data"
    ending = ENDING.search(name)
    return name, ending[0].lower() if ending else ""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


async def fields_of(request: Any) -> dict[str, Any]:
    """Return the fields of a request; anything but a JSON object is refused."""
    try:
        found = json.loads(await text_body(request) or b"{}", parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _json(content: Any, status: int = 200) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(content, status)


def _plain(content: bytes | str, kind: str = "text/plain", status: int = 200, **headers: str) -> Any:
    from starlette.responses import Response

    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(content, status, named, media_type=f"{kind}; charset=utf-8")


def _failed(message: str, status: int = 400, kind: str = "Error") -> Any:
    return _json({"error": message, "kind": kind}, status)


class Pages:
    """What is answered at each address; who may ask is decided before, by the guard."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    async def static(self, request: Any) -> Any:
        """Answer with a part of the page itself."""
        name = request.path_params.get("name", "index.html")
        found = STATIC / name
        if not re.fullmatch(r"[a-z_]+\.(html|css|js|svg)", name) or not found.is_file():
            return _plain("There is no such page.", status=404)
        return _plain(found.read_bytes(), KINDS[found.suffix])

    async def session(self, request: Any) -> Any:
        """Give the cookie for the token."""
        given = await fields_of(request)
        if not self.studio.keys.opens(given.get("token")):
            return _failed("This address is not of this run. Open the one that mercer studio printed.", 401, "Token")
        return _plain(b"", status=204, set_cookie=self.studio.keys.set_cookie())

    async def start(self, request: Any) -> Any:
        """Say what there is: names of files, the name of the folder for models."""
        names = {slot: name for slot, (_, name) in self.studio.files.items()}
        folder, job = self.studio.folder.name or "/", self.studio.job
        running = job is not None and job.state == "running"
        return _json({"files": names, "folder": folder, "job": running, "number": self.studio.number})

    async def live(self, request: Any) -> Any:
        """Ask the live child."""
        do = request.path_params["do"]
        if do not in LIVE:
            return _failed("There is no such question.", 404)
        fields = await fields_of(request)
        return _json(await while_wanted(request, self.studio.live, do, fields, LIVE_SECONDS))

    async def about_file(self, request: Any) -> Any:
        """Ask about the user's file, or begin a job on it."""
        do = request.path_params["do"]
        fields = self.studio.known(await fields_of(request))
        if do in ("fit", "surface"):
            return _json(self.studio.begin(do, fields).since(0))
        if do not in ("open", "predict", "save", "gram", "shared", "compare"):
            return _failed("There is no such question.", 404)
        self.studio.require_idle()
        answer = await while_wanted(request, self.studio.file, do, fields, 300.0)
        number = self.studio.number
        return _json({**answer, "number": number} if do == "open" else answer)

    async def upload(self, request: Any) -> Any:
        """Take a file: its bytes, and its name without any folder."""
        studio, slot = self.studio, request.path_params["slot"]
        if slot not in ("first", "second", "labels"):
            return _failed("There is no such place for a file.", 404)
        if studio.uploads.locked():
            return _failed("Two uploads are running. Wait for them.", 429, "Busy")
        studio.require_idle()
        name, ending = upload_name(request.headers.get("x-file-name", ""))
        async with studio.uploads:
            path = studio.room / f"{slot}-{time.time_ns()}{ending}"
            try:
                size = await receive_file(request, path)
                studio.replace(slot, path, name)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return _json({"name": name, "bytes": size})

    async def job(self, request: Any) -> Any:
        """Say how far the job is."""
        place = request.query_params.get("since", "0")
        if self.studio.job is None:
            return _json({"state": "none", "told": [], "next": 0})
        return _json(self.studio.job.since(int(place) if place.isdigit() and len(place) < 9 else 0))

    async def done(self, request: Any) -> Any:
        """Answer with what the jobs on the present file have found, for a page that was loaded later."""
        return _json(self.studio.results)

    async def stop(self, request: Any) -> Any:
        """End the job."""
        job = self.studio.job
        if job is not None and job.state == "running":
            self.studio.file.stop()
            assert job.task is not None
            await job.task
        return _json({"stopped": True})

    async def report(self, request: Any) -> Any:
        """Answer with the report of the model, in which no script may run."""
        page = self.studio.room / "report.html"
        if not page.is_file():
            return _plain("There is no report yet. Fit a model first.", status=404)
        return _plain(page.read_bytes(), "text/html", content_security_policy=REPORT_POLICY)

    async def refused(self, request: Any, error: Exception) -> Any:
        """Say in words what was wrong."""
        if isinstance(error, ChildError):
            return _failed(error.message, 409 if error.kind == "Busy" else 400, error.kind)
        if isinstance(error, TooLarge):
            return _failed("This is too large. A file may have 200 MB, other requests 2 MB.", 413, "TooLarge")
        if isinstance(error, TimeoutError):
            return _failed("Nothing came for too long, so the upload was given up. Try again.", 408, "Timeout")
        return _failed("The request is not JSON. Send an object with named fields.", 400, "ParameterError")

    async def left(self, request: Any, error: Exception) -> Any:
        """Send no answer: the connection was closed while the request was read."""
        return _plain(b"", status=400)


def application(studio: Studio) -> Any:
    """Return the pages as an ASGI application."""
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route

    pages = Pages(studio)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        warming = asyncio.get_running_loop().create_task(studio.warm())
        yield
        await studio.end()
        await asyncio.wait((warming,))

    return Starlette(
        routes=[
            Route("/", pages.static),
            Route("/static/{name}", pages.static),
            Route("/session", pages.session, methods=["POST"]),
            Route("/start", pages.start),
            Route("/live/{do}", pages.live, methods=["POST"]),
            Route("/file/{do}", pages.about_file, methods=["POST"]),
            Route("/upload/{slot}", pages.upload, methods=["POST"]),
            Route("/job", pages.job),
            Route("/done", pages.done),
            Route("/stop", pages.stop, methods=["POST"]),
            Route("/report", pages.report),
        ],
        exception_handlers={
            **dict.fromkeys((ChildError, TooLarge, TimeoutError, ValueError), pages.refused),
            ClientDisconnect: pages.left,
        },
        lifespan=lifespan,
    )
