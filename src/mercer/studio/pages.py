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
    """A long piece of work: what it has told so far, and how it ended."""

    def __init__(self, what: str) -> None:
        self.what, self.begun = what, time.monotonic()
        self.told: list[dict[str, Any]] = []
        self.state, self.result = "running", None
        self.task: asyncio.Task[None] | None = None

    def since(self, place: int) -> dict[str, Any]:
        """Return what is new since some place."""
        return {
            "what": self.what,
            "state": self.state,
            "told": self.told[place:],
            "next": len(self.told),
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
        self.uploads = asyncio.Semaphore(2)

    def known(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a request with the paths that only the server knows; what was sent for them is lost."""
        if "first" not in self.files:
            raise ChildError("There is no file yet. Drop one into the page.", "ParameterError", 2)
        path, name = self.files["first"]
        other, other_name = self.files.get("second", (path, name))
        paths = {"path": path, "other": other, "room": self.room, "folder": self.folder}
        return {**fields, **{key: str(value) for key, value in paths.items()}, "name": name, "other_name": other_name}

    def begin(self, what: str, fields: dict[str, Any]) -> Job:
        """Begin a job on the user's file; one at a time."""
        if self.job is not None and self.job.state == "running":
            raise ChildError(f"A {self.job.what} is running. Wait for it, or stop it.", "Busy", 2)
        self.job = job = Job(what)

        async def run() -> None:
            try:
                job.result = await self.file.ask(what, fields, FILE_SECONDS, job.told.append)
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
        """End the children."""
        for child in (self.live, self.file):
            child.stop()
            await child.end()


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
    raise ValueError(f"{name} is no number of JSON")


def application(studio: Studio) -> Any:
    """Return the pages as an ASGI application; who may ask is decided before, by the guard."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    def failed(message: str, status: int = 400, kind: str = "Error") -> Any:
        return JSONResponse({"error": message, "kind": kind}, status)

    async def fields_of(request: Any) -> Any:
        try:
            found = json.loads(await text_body(request) or b"{}", parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(found, dict):
            raise ValueError("no object")
        return found

    async def static(request: Any) -> Any:
        name = request.path_params.get("name", "index.html")
        found = STATIC / name
        if not re.fullmatch(r"[a-z_]+\.(html|css|js|svg)", name) or not found.is_file():
            return PlainTextResponse("There is no such page.", 404)
        return Response(found.read_bytes(), media_type=f"{KINDS[found.suffix]}; charset=utf-8")

    async def session(request: Any) -> Any:
        given = await fields_of(request)
        if not studio.keys.opens(given.get("token")):
            return failed("This address is not of this run. Open the one that mercer studio printed.", 401, "Token")
        return Response(status_code=204, headers={"set-cookie": studio.keys.set_cookie()})

    async def start(request: Any) -> Any:
        names = {slot: name for slot, (_, name) in studio.files.items()}
        return JSONResponse({"files": names, "folder": studio.folder.name or "/", "job": studio.job is not None})

    async def live(request: Any) -> Any:
        do = request.path_params["do"]
        if do not in LIVE:
            return failed("There is no such question.", 404)
        return JSONResponse(await studio.live.ask(do, await fields_of(request), LIVE_SECONDS))

    async def about_file(request: Any) -> Any:
        do = request.path_params["do"]
        fields = studio.known(await fields_of(request))
        if do in ("fit", "surface"):
            return JSONResponse(studio.begin(do, fields).since(0))
        if do not in ("open", "predict", "save", "gram", "shared", "compare"):
            return failed("There is no such question.", 404)
        if studio.job is not None and studio.job.state == "running":
            return failed(f"A {studio.job.what} is running. Wait for it, or stop it.", 409, "Busy")
        return JSONResponse(await studio.file.ask(do, fields, 300.0))

    async def upload(request: Any) -> Any:
        slot = request.path_params["slot"]
        if slot not in ("first", "second"):
            return failed("There is no such place for a file.", 404)
        if studio.uploads.locked():
            return failed("Two uploads are running. Wait for them.", 429, "Busy")
        name, ending = upload_name(request.headers.get("x-file-name", ""))
        async with studio.uploads:
            path = studio.room / f"{slot}-{time.time_ns()}{ending}"
            try:
                size = await receive_file(request, path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        old = studio.files.get(slot)
        studio.files[slot] = (path, name)
        if old is not None and old[0].parent == studio.room:
            old[0].unlink(missing_ok=True)
        return JSONResponse({"name": name, "bytes": size})

    async def job(request: Any) -> Any:
        place = request.query_params.get("since", "0")
        if studio.job is None:
            return JSONResponse({"state": "none", "told": [], "next": 0})
        return JSONResponse(studio.job.since(int(place) if place.isdigit() and len(place) < 9 else 0))

    async def stop(request: Any) -> Any:
        if studio.job is not None and studio.job.state == "running":
            studio.file.stop()
            assert studio.job.task is not None
            await studio.job.task
        return JSONResponse({"stopped": True})

    async def report(request: Any) -> Any:
        page = studio.room / "report.html"
        if not page.is_file():
            return PlainTextResponse("There is no report yet. Fit a model first.", 404)
        headers = {"content-security-policy": REPORT_POLICY}
        return Response(page.read_bytes(), media_type="text/html; charset=utf-8", headers=headers)

    async def refused(request: Any, error: Exception) -> Any:
        if isinstance(error, ChildError):
            return failed(error.message, 409 if error.kind == "Busy" else 400, error.kind)
        if isinstance(error, TooLarge):
            return failed("This is too large. A file may have 200 MB, other requests 2 MB.", 413, "TooLarge")
        if isinstance(error, TimeoutError):
            return failed("Nothing came for too long, so the upload was given up. Try again.", 408, "Timeout")
        return failed("The request is not JSON. Send an object with named fields.", 400, "ParameterError")

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        warming = asyncio.get_running_loop().create_task(studio.warm())
        yield
        warming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await warming
        await studio.end()

    return Starlette(
        routes=[
            Route("/", static),
            Route("/static/{name}", static),
            Route("/session", session, methods=["POST"]),
            Route("/start", start),
            Route("/live/{do}", live, methods=["POST"]),
            Route("/file/{do}", about_file, methods=["POST"]),
            Route("/upload/{slot}", upload, methods=["POST"]),
            Route("/job", job),
            Route("/stop", stop, methods=["POST"]),
            Route("/report", report),
        ],
        exception_handlers=dict.fromkeys(
            (ChildError, TooLarge, TimeoutError, json.JSONDecodeError, ValueError), refused
        ),
        lifespan=lifespan,
    )
