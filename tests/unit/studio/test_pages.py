"""Attacks on the pages: paths, names, uploads that are too large, too slow or bombs; and what the pages are for."""

import asyncio
import gzip
import json
import re
import time
from pathlib import Path

import pytest

from mercer.errors import MercerError
from mercer.studio import pages
from mercer.studio.file_jobs import open_file
from mercer.studio.pages import KINDS, STATIC, upload_name
from mercer.studio.request_guard import TooLarge
from tests.unit.studio.web import Running

TABLE = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'u' if i % 3 else 'v'}\n" for i in range(40))
BROKEN = {
    "bomb.csv.gz": gzip.compress(b"0" * 60_000_000),
    "bomb.parquet": b"PAR1" + b"\xff" * 5000 + b"PAR1",
    "model.pkl": b"\x80\x04\x95\x10\x00\x00\x00.",
    "zip.xlsx": b"PK\x03\x04" + b"\0" * 100,
    "laughs.graphml": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "' + b"x" * 1000 + b'">]><graphml>&b;</graphml>',
    "deep.json": b"[" * 5000,
    "nul.csv": b"a,b\n1,\0\n",
    "wide.csv": b",".join(b"c" * 3 for _ in range(150_000)) + b"\n",
    "huge.svmlight": b"1 999999999999999999:1\n",
}
UPWARDS = ["..", "../serving.py", "..%2fserving.py", "%2e%2e/serving.py", "....//serving.py", "/etc/passwd",
           "..\\serving.py", "main.js%00.css", "Main.js", "main.js/", ".htaccess", "main.js?x=/../..",
           "file:%2f%2f%2fetc%2fpasswd"]  # fmt: skip


def upload(running, data, name="a.csv", slot="first", **more):
    return running.ask("POST", f"/upload/{slot}", data, x_file_name=name, **more)


@pytest.fixture
def own(tmp_path):
    server = Running(tmp_path)
    yield server
    server.end()


@pytest.mark.parametrize("path", UPWARDS)
def test_no_file_outside_is_served(running, path):
    reply = running.ask("GET", f"/static/{path}")
    served = (STATIC / "main.js").read_bytes()
    assert reply.status in (307, 400, 404) or reply.body == served
    assert b"run_studio" not in reply.body and b"root:" not in reply.body


def test_every_part_of_the_page_is_served(running):
    for found in STATIC.iterdir():
        reply = running.ask("GET", f"/static/{found.name}", cookie=False)
        assert reply.status == 200 and reply.headers["content-type"].startswith(KINDS[found.suffix])
        assert reply.body == found.read_bytes()


def test_nothing_in_the_page_is_from_elsewhere_or_inline():
    for found in STATIC.iterdir():
        text = found.read_text(encoding="utf-8")
        foreign = text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in foreign and "https://" not in foreign and "@import" not in text
        assert "innerHTML" not in text and "eval(" not in text and "insertAdjacentHTML" not in text
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert (
        "onclick" not in page
        and "<style" not in page
        and page.count("<script") == page.count('<script type="module" src=')
    )


def luminance(colour):
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_can_be_read_in_light_and_dark():
    style = (STATIC / "studio.css").read_text(encoding="utf-8")
    for block in re.findall(r":root[^{]*\{([^}]*--paper[^}]*)\}", style):
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        pairs = [(ink, paper) for ink in ("ink", "soft", "accent", "warn") for paper in ("paper", "raised")]
        for ink, paper in [*pairs, ("on-accent", "accent")]:
            low, high = sorted(luminance(colours[name]) for name in (ink, paper))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)
    assert style.count("--paper: ") == 2


@pytest.mark.parametrize(
    ("given", "name", "ending"),
    [
        ("a.csv", "a.csv", ".csv"),
        ("..%2f..%2fetc%2fpasswd", "passwd", ""),
        ("C:%5CUsers%5Cme%5Ca.CSV", "a.CSV", ".csv"),
        ("%3Cscript%3Ealert(1)%3C%2Fscript%3E.csv", "script_.csv", ".csv"),
        ("a.tar.gz", "a.tar.gz", ".tar.gz"),
        ("", "data", ""),
        ("%00%00.csv", "__.csv", ".csv"),
        ("-rf.csv", "rf.csv", ".csv"),
        ("..", "data", ""),
        ("x" * 999 + ".csv", "x" * 100, ""),
        ("a.csv%0d%0aset-cookie: x=1", "a.csv__set-cookie_ x_1", ""),
    ],
)
def test_the_name_of_an_upload_is_no_path(given, name, ending):
    assert upload_name(given) == (name, ending)


@pytest.mark.parametrize("name", ["../../evil.csv", "/etc/cron.d/evil", "..%2f..%2fevil.csv", "a\\..\\evil.csv"])
def test_an_upload_stays_in_its_room(own, tmp_path, name):
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    assert upload(own, TABLE.encode(), name).status == 200
    new = {p for p in tmp_path.rglob("*") if p.is_file()} - before
    assert {p.parent for p in new} == {tmp_path / "room"} and len(new) == 1


def test_a_second_upload_replaces_the_first(own, tmp_path):
    for text in ("a\n1\n", "a\n2\n", "a\n3\n"):
        upload(own, text.encode())
    assert [p.read_text() for p in (tmp_path / "room").iterdir()] == ["a\n3\n"]


def test_what_was_found_for_a_file_goes_with_it(own):
    """A page that is loaded later finds the results; a model of one file never predicts for another."""
    upload(own, TABLE.encode())
    assert own.ask("GET", "/start").json["number"] == 1
    own.studio.results["fit"] = {"verdict": "good"}
    made = [own.studio.room / name for name in ("model.mercer", "report.html")]
    for path in made:
        path.write_text("made")
    upload(own, TABLE.encode(), slot="second")
    assert own.ask("GET", "/done").json == {"fit": {"verdict": "good"}} and all(path.exists() for path in made)
    assert upload(own, b"y\nu\n", name="y.csv", slot="labels").status == 200
    assert own.studio.known({})["labels_name"] == "y.csv" and own.studio.known({})["labels"].endswith(".csv")
    upload(own, TABLE.encode())
    assert own.ask("GET", "/done").json == {} and own.ask("GET", "/start").json["number"] == 3
    assert own.studio.known({"labels": "/etc/passwd"})["labels"] == ""  # the targets belonged to the other file
    assert not any(path.exists() for path in made)


def test_a_file_that_is_too_large_is_refused_and_gone(own, tmp_path, monkeypatch):
    assert upload(own, b"", content_length=str(pages.LARGEST + 1)).status == 413
    assert own.studio.files == {} and not list((tmp_path / "room").iterdir())


class _Slow:
    """A request whose body comes in pieces, or not at all."""

    def __init__(self, pieces, wait=0.0):
        self.pieces, self.wait, self.headers = pieces, wait, {}

    async def stream(self):
        for piece in self.pieces:
            await asyncio.sleep(self.wait)
            yield piece


def test_a_body_that_says_no_length_is_counted(tmp_path):
    with pytest.raises(TooLarge):
        asyncio.run(pages.receive_file(_Slow([b"x" * 10] * 5), tmp_path / "a", largest=40))
    assert asyncio.run(pages.receive_file(_Slow([b"x" * 10] * 4), tmp_path / "a", largest=40)) == 40


def test_a_body_that_does_not_come_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "QUIET", 0.05)
    with pytest.raises(TimeoutError):
        asyncio.run(pages.receive_file(_Slow([b"x"], wait=5.0), tmp_path / "a"))


def test_a_body_that_drips_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "UPLOADING", 0.05)
    with pytest.raises(TimeoutError):
        asyncio.run(pages.receive_file(_Slow([b"x"] * 1000, wait=0.01), tmp_path / "a"))


@pytest.mark.parametrize("body", [b"[]", b"null", b"7", b'"x"', b"{", b"\xff\xfe", b"[" * 5000, b'{"points": NaN}'])
def test_what_is_no_form_is_refused_in_words(running, body):
    for path in ("/live/play", "/file/open"):
        reply = running.ask("POST", path, body)
        assert reply.status == 400 and reply.json["error"]


@pytest.mark.parametrize(
    "path", ["/live/warm", "/live/open", "/live/__init__", "/file/warm", "/upload/third", "/live/fit"]
)
def test_only_what_is_listed_can_be_asked(running, path):
    running.studio.files.setdefault("first", (STATIC / "index.html", "index.html"))
    try:
        assert running.ask("POST", path, b"{}").status == 404
    finally:
        running.studio.files.clear()


def test_paths_from_the_browser_are_lost(own, tmp_path):
    upload(own, TABLE.encode())
    sent = dict.fromkeys(("path", "room", "folder", "other", "name", "other_name"), "/etc")
    known = own.studio.known({**sent, "target": "y"})
    assert known["folder"] == str(tmp_path / "models") and known["room"] == str(tmp_path / "room")
    assert known["path"].startswith(str(tmp_path / "room")) and known["name"] == "a.csv" and known["target"] == "y"


@pytest.mark.slow
def test_files_through_the_child(own):
    upload(own, TABLE.replace("a,b", "<img src=x onerror=alert(1)>,b").encode())
    told = own.file("open", {}).json
    assert told["samples"] == 40 and told["targets"][0] == "<img src=x onerror=alert(1)>"
    for name, data in BROKEN.items():
        upload(own, data, name)
        reply = own.file("open", {})
        assert reply.status == 400 and reply.json["error"], name
    upload(own, TABLE.encode())
    assert own.file("open", {}).json["samples"] == 40


@pytest.mark.slow
def test_the_live_child_is_limited(own):
    pid = None
    for kernel in ("Gaussian(1.0)", "open('x')", "Gaussian(1.0)"):
        reply = own.live(
            "play", {"points": [[0, 0, 0], [1, 1, 1]], "task": "classes", "C": 1, "side": 8, "kernel": kernel}
        )
        assert reply.status == (400 if "open" in kernel else 200)
        pid, before = own.studio.live.pid, pid
        assert before in (None, pid)
    status = Path(f"/proc/{pid}/limits").read_text()
    assert (
        re.search(rf"Max address space\s+{6 * 2**30}\s", status) and "Max cpu time              unlimited" not in status
    )


def test_broken_files_and_bombs_are_refused(tmp_path):
    for name, data in BROKEN.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(MercerError):
            open_file({"path": str(tmp_path / name), "name": name})


def test_a_job_is_watched_and_stopped(own):
    upload(own, TABLE.encode())
    asked = json.dumps({"target": "y", "seconds": 600.0}).encode()
    assert own.ask("POST", "/file/fit", asked).json["state"] == "running"
    assert own.ask("POST", "/file/fit", asked).status == 409  # one at a time
    assert own.file("open", {}).status == 409
    before = dict(own.studio.files)
    assert upload(own, b"a,b\n1,2\n").status == 409 and own.studio.files == before  # nor is its file taken away
    assert own.ask("GET", "/start").json["job"] is True
    while own.studio.file.pid is None:
        time.sleep(0.01)
    pid = own.studio.file.pid
    assert own.ask("POST", "/stop", b"{}").json == {"stopped": True}
    told = own.ask("GET", "/job?since=0").json
    assert told["state"] == "stopped" and own.studio.file.pid != pid
    assert own.ask("GET", "/start").json["job"] is False and own.ask("GET", "/done").json == {}
    assert own.ask("GET", "/job?since=abc").status == 200 and own.ask("GET", "/job?since=999999999999").status == 200


def test_there_is_no_report_before_a_model(own):
    assert own.ask("GET", "/report").status == 404
    (own.studio.room / "report.html").write_text("<p>good</p>")
    reply = own.ask("GET", "/report")
    assert reply.status == 200 and "sandbox" in reply.headers["content-security-policy"]
    assert "script-src" not in reply.headers["content-security-policy"]
