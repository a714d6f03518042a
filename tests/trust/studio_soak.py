"""Random clicking in the studio, for as long as wanted: ``python -m tests.trust.studio_soak 60`` (minutes).

Every click, key and drag is drawn from a seed. An error in the console of the browser, an answer of the server with a
status of 500, a word printed by the server, or memory that grows ends it with exit code 1. Memory is compared between
the second quarter of the run, when caches are filled, and the last: of the server, which has a process of its own
(Playwright keeps what it has seen in this one), of both its children, and of the page's heap.
"""

import contextlib
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import Error, sync_playwright

from tests.browser.test_studio import CHROMIUM, FLAGS

ALLOWED = 40.0  # MB between two quarters: what allocators keep, not what an hour of leaks would be
VIEWS = ("playground", "processes", "gram", "samples", "file")
KEYS = ("ArrowLeft", "ArrowUp", "Enter", ".", ",", "1", "2", "Delete")


def act(page, rng):
    """One random thing that a user may do."""
    what = rng.random()
    if what < 0.08:
        page.evaluate(f"location.hash = '#{rng.choice(VIEWS)}'")
    elif what < 0.1:
        page.reload()
        page.wait_for_selector("#view > .view")
    elif what < 0.12:
        page.evaluate("history.back()")
    elif what < 0.5:
        things = page.locator(
            "#view button:not([disabled]):visible, #view select:visible, #view input[type=range]:visible"
        )
        if not (count := things.count()):
            return
        thing = things.nth(rng.randrange(count))
        tag = thing.evaluate("e => e.tagName + (e.type || '')")
        if tag.startswith("SELECT"):
            if options := thing.locator("option").count():
                thing.select_option(index=rng.randrange(options))
        elif tag == "INPUTrange":
            thing.press(rng.choice(["ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"]))
        elif thing.inner_text() not in ("Find a model", "Save"):
            thing.click()
    else:
        canvas = page.locator("#view canvas:visible").first
        if not canvas.count():
            return
        box = canvas.bounding_box()
        if what < 0.6:
            canvas.press(rng.choice(KEYS))
            return
        page.mouse.move(box["x"] + rng.random() * box["width"], box["y"] + rng.random() * min(box["height"], 600))
        page.mouse.down()
        if what > 0.8:
            page.mouse.move(box["x"] + rng.random() * box["width"], box["y"] + rng.random() * 500, steps=5)
        page.mouse.up()


class Server:
    """``mercer studio`` in a process of its own, as a user starts it."""

    def __init__(self, data, folder):
        command = [sys.executable, "-m", "mercer", "studio", str(data), "--folder", str(folder), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.address = self.process.stdout.readline().split()[1]
        self.process.stdout.readline()  # where models are saved

    def pids(self):
        """The server, the live child and the child of the file; None for one that has not started."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error, IndexError):
                found[child.cmdline()[-1]] = child.pid
        return self.process.pid, found.get("live"), found.get("file")

    def end(self):
        """End the server as a user does; return what it has printed since it started, which should be nothing."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=30)[0]


def megabytes(pid):
    return psutil.Process(pid).memory_info().rss / 2**20 if pid and psutil.pid_exists(pid) else None


def heap(session):
    """The page's heap after its garbage was collected."""
    session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return found["JSHeapUsedSize"] / 2**20


def soak(minutes, seed=0):
    rng, wrong, seen, acts = random.Random(seed), [], [], 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        data = Path(folder) / "a.csv"
        rows = [
            f"{rng.gauss(0, 1):.3f},{rng.gauss(0, 9):.2f},{'pq'[i % 2]} {'rst'[i % 3]},{'uv'[i % 2]}" for i in range(60)
        ]
        data.write_text("\n".join(["a,b,words,y", *rows]) + "\n")
        server = Server(data, Path(folder))
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
        page.set_default_timeout(5000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("response", lambda r: wrong.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.goto(server.address)
        page.wait_for_selector("#file-view")
        page.evaluate("location.hash = '#playground'")
        page.wait_for_selector("#playground-view[data-answers]", timeout=300_000)
        begun = noted = time.monotonic()
        every = max(2.0, minutes * 60 / 40)
        while time.monotonic() < begun + 60 * minutes:
            try:
                act(page, rng)
            except Error as error:  # a thing went away before it was reached: not a fault of the page
                if "Timeout" not in str(error) and "detached" not in str(error) and "outside" not in str(error):
                    wrong.append(str(error)[:300])
            acts += 1
            if time.monotonic() > noted + every:
                noted = time.monotonic()
                seen.append((*map(megabytes, server.pids()), heap(session)))
        browser.close()
        if printed := server.end():
            wrong.append(f"the server printed: {printed[-2000:]}")
    return report(acts, seen, wrong)


def report(acts, seen, wrong):
    """How much memory grew, by what; printed and returned."""
    grown = {}
    for place, name in enumerate(("server", "live child", "file child", "page")):
        values = [row[place] for row in seen if row[place] is not None]
        early, late = values[len(values) // 4 : len(values) // 2], values[-max(1, len(values) // 4) :]
        if early:
            grown[name] = [round(statistics.median(early), 1), round(statistics.median(late), 1)]
    bad = [name for name, (before, after) in grown.items() if after > before + ALLOWED]
    print(json.dumps({"actions": acts, "megabytes": grown, "errors": wrong[:20], "grows": bad}))
    return not (bad or wrong)


if __name__ == "__main__":
    sys.exit(0 if soak(float(sys.argv[1]) if sys.argv[1:] else 60.0) else 1)
