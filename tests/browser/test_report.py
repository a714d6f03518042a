"""The report in a real browser: it is laid out, read, measured, and asks nobody for anything.

Needs Chromium (the Debian package ``chromium``), otherwise the tests are skipped.
"""

import http.server
import json
import re
import shutil
import subprocess
import threading
from html import unescape

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mercer import KernelMeanClassifier
from mercer.kernels import Gaussian, Spectrum
from mercer.reports import report

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--hide-scrollbars",
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MEASURE = """<script>
const wide = document.documentElement.clientWidth;
const out = [...document.querySelectorAll("body *")].filter(e => !e.closest(".table, .formula, svg"))
  .filter(e => e.getBoundingClientRect().right > wide + 1).map(e => e.tagName + "." + e.className);
const figures = [...document.querySelectorAll(".drawing svg")].map(e => e.getBoundingClientRect().width);
document.title = JSON.stringify({width: wide, scroll: document.documentElement.scrollWidth, out, figures,
  fonts: getComputedStyle(document.body).fontSize, maths: document.querySelectorAll("math").length});
</script>"""
SCRIPT = "<script>document.title = 'script ran'</script>"
LABELS = ("<script>alert(1)</script>", "setosa", "x" * 200)


def browse(folder, *arguments):
    """Run Chromium once with a fresh profile and return what it prints."""
    profile = folder / "profile"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 90)
    table = pd.DataFrame(rng.normal(size=(90, 3)) + codes[:, None], columns=["length", "<b>width</b>", "y" * 300])
    table["gene"] = ["".join(rng.choice(list("ACGT"), 9)) for _ in codes]
    target = np.array(LABELS, dtype=object)[codes]
    kernel = Gaussian("median").on(list(table.columns[:3])) + Spectrum(2).normalized().on("gene")
    folder = tmp_path_factory.mktemp("browser")
    path = folder / "report.html"
    made = report(KernelMeanClassifier(kernel).fit(table, target), table, target, title="Iris & friends", path=path)
    return folder, path, made


def test_the_text_is_there(page):
    folder, path, _ = page
    dom = browse(folder, "--dump-dom", path.as_uri())
    text = unescape(re.sub(r"<(style|svg)\b.*?</\1>|<[^>]+>", " ", dom, flags=re.DOTALL))
    for words in ("Iris & friends", "Kernel", "90 samples", "accuracy", "Gram matrix", LABELS[0], "<b>width</b>"):
        assert words in text
    assert dom.count("<math") >= 4
    assert "<script" not in dom


@pytest.mark.parametrize(("width", "least"), [(400, 300), (1200, 350)])
def test_nothing_is_wider_than_the_window(page, width, least):
    # Measured in a frame, since a window may be given a least width by its surroundings; the policy would stop
    # the measuring script, hence a copy without it.
    folder, path, _ = page
    inner = folder / f"measured{width}.html"
    text = POLICY.sub("", path.read_text(encoding="utf-8"))
    inner.write_text(text.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    host = folder / f"host{width}.html"
    host.write_text(
        f"<!DOCTYPE html><body style='margin:0'><iframe style='border:0;width:{width}px;height:900px' "
        f"src='{inner.name}'></iframe><script>onload = () => {{ document.body.dataset.found = "
        "document.querySelector('iframe').contentDocument.title; }</script>",
        encoding="utf-8",
    )
    dom = browse(folder, "--allow-file-access-from-files", "--window-size=1300,1000", "--dump-dom", host.as_uri())
    found = re.search(r'data-found="([^"]*)"', dom)
    assert found, dom[:500]
    numbers = json.loads(unescape(found[1]))
    assert numbers["width"] == width
    assert numbers["scroll"] <= width
    assert numbers["out"] == []
    assert numbers["maths"] >= 4
    assert len(numbers["figures"]) >= 5
    assert all(least <= figure <= width for figure in numbers["figures"])


@pytest.mark.parametrize(("width", "height"), [(400, 1200), (1200, 1600)])
def test_a_screenshot_shows_ink_on_paper(page, width, height):
    folder, path, _ = page
    picture = folder / f"shot{width}.png"
    browse(folder, f"--window-size={width},{height}", f"--screenshot={picture}", path.as_uri())
    pixels = np.asarray(Image.open(picture).convert("L"), dtype=float)
    assert pixels.shape == (height, width)
    paper = np.median(pixels)
    assert paper > 240
    ink = np.abs(pixels - paper) > 60
    assert 0.005 < ink.mean() < 0.5
    assert not ink[:, -6:].any()  # nothing is cut off at the right
    assert not ink[:, :6].any()


def test_the_page_follows_a_dark_screen(page):
    folder, path, _ = page
    picture = folder / "dark.png"
    dark = ("--blink-settings=preferredColorScheme=0", "--window-size=800,800")
    browse(folder, *dark, f"--screenshot={picture}", path.as_uri())
    assert np.median(np.asarray(Image.open(picture).convert("L"), dtype=float)) < 60


def test_it_prints(page):
    folder, path, _ = page
    paper = folder / "report.pdf"
    browse(folder, "--no-pdf-header-footer", f"--print-to-pdf={paper}", path.as_uri())
    printed = paper.read_bytes()
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 15


class _Listener(http.server.BaseHTTPRequestHandler):
    asked: list[str] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def test_the_policy_lets_nothing_out_and_no_script_run(page):
    folder, path, _ = page
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    smuggled = (
        f'<img src="{place}/img"><link rel="stylesheet" href="{place}/css"><iframe src="{place}/frame"></iframe>'
        f'<script src="{place}/js"></script><style>@import "{place}/css2"; p {{ background: url({place}/bg) }}</style>'
        f'{SCRIPT}<svg onload="document.title=\'script ran\'"><image href="{place}/svg"/></svg></body>'
    )
    try:
        _Listener.asked.clear()
        guarded = folder / "guarded.html"
        guarded.write_text(path.read_text(encoding="utf-8").replace("</body>", smuggled), encoding="utf-8")
        dom = browse(folder, "--dump-dom", guarded.as_uri())
        assert _Listener.asked == []
        assert "<title>Iris &amp; friends</title>" in dom
        # the same page without its policy does ask: the listener and the smuggled tags work
        open_page = folder / "open.html"
        open_page.write_text(POLICY.sub("", (folder / "guarded.html").read_text(encoding="utf-8")), encoding="utf-8")
        dom = browse(folder, "--dump-dom", open_page.as_uri())
        assert "/img" in _Listener.asked
        assert "<title>script ran</title>" in dom
    finally:
        server.shutdown()
        server.server_close()
