"""The studio in a real browser: clicks, drags, keys, sliders, uploads, stops, reloads, two tabs, the back button.

Needs Chromium (the Debian package ``chromium``), otherwise the tests are skipped.
"""

import http.server
import re
import shutil
import threading

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.unit.studio.web import Running

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-dev-shm-usage",
]
HOSTILE = "<img src=x onerror=document.title='ran'>"
TABLE = f"a,{HOSTILE},y\n" + "".join(f"{i},{i * i % 7},{'u' if i % 3 else 'v'}\n" for i in range(60))
LONG = 120_000  # milliseconds, on a busy machine
expect.set_options(timeout=LONG)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("studio"))
    yield running
    running.end()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def context(browser):
    made = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    made.set_default_timeout(LONG)
    yield made
    made.close()


@pytest.fixture
def page(context, server):
    """A page that was let in; any error or breach of the policy in its console fails the test."""
    made, wrong = context.new_page(), []
    made.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.goto(f"http://127.0.0.1:{server.port}/#token={server.keys.token}")
    made.wait_for_selector("#playground-view[data-answers]")
    yield made
    assert [text for text in wrong if "400 (Bad Request)" not in text] == []


def answers(page, view="playground"):
    return int(page.get_attribute(f"#{view}-view", "data-answers") or 0)


def after(page, before, view="playground"):
    until(page, lambda: answers(page, view) > before)


def until(page, holds):
    """Wait until something holds; the policy of the page lets nobody evaluate texts in it, not even a test."""
    for _ in range(LONG // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it took too long")


def test_points_sliders_keys_and_copies(page, server):
    assert "token" not in page.url and server.keys.token not in page.content()
    plane = page.locator("#playground-view canvas").first
    box = plane.bounding_box()
    count = lambda: page.evaluate("JSON.parse(sessionStorage['mercer.playground']).points.length")  # noqa: E731
    first, n = answers(page), count()
    plane.click(position={"x": 5, "y": 5})
    after(page, first)
    assert count() == n + 1
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 80, steps=4)
    page.mouse.up()
    until(page, lambda: page.evaluate("JSON.parse(sessionStorage['mercer.playground']).points.at(-1)[0]") > -4.9)
    assert count() == n + 1  # it was moved, not added
    plane.focus()
    before = page.evaluate("JSON.parse(sessionStorage['mercer.playground']).points.at(-1)")
    page.keyboard.press("ArrowRight")
    moved = page.evaluate("JSON.parse(sessionStorage['mercer.playground']).points.at(-1)")
    assert moved[0] == pytest.approx(before[0] + 0.1) and moved[1:] == before[1:]
    page.keyboard.press("Delete")
    assert count() == n
    page.get_by_role("slider", name="width").press("End")
    expect(page.get_by_label("Kernel as an expression")).to_have_value(re.compile(r"Gaussian\(length_scale=20\.0\)"))
    page.get_by_role("button", name="Add another kernel").click()
    expect(page.get_by_label("Kernel as an expression")).to_have_value(re.compile(r"\) \+ Linear\(\)$"))
    last = answers(page)
    page.get_by_label("What to learn").select_option("region")
    after(page, last)
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.locator("pre")).to_contain_text("OneClassSVM(")


def test_what_is_typed_wrong_is_said_and_mended(page):
    field = page.get_by_label("Kernel as an expression")
    field.fill("Gausian(1.0)")
    field.press("Enter")
    expect(page.locator("#playground-view .error").first).to_contain_text("Gaussian")
    field.fill("2.0*Gaussian(1.0)**2")
    field.press("Enter")
    expect(field).to_have_value("2.0 * Gaussian(1.0) ** 2")
    expect(page.locator(".block")).to_have_count(3)


def test_without_the_token_there_is_no_data(browser, server):
    stranger = browser.new_context()
    page = stranger.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/")
    expect(page.locator(".error")).to_contain_text("Open the address")
    page.goto(f"http://127.0.0.1:{server.port}/#token=wrong")
    page.reload()
    expect(page.locator(".error")).to_contain_text("not of this run")
    stranger.close()


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of somebody else on this machine: another port is another origin, but gets the cookies."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title>")

    def log_message(self, *arguments):
        pass


ATTACK = """async (place) => {
  const post = (path, mode) => fetch(place + path, {method: "POST", mode, credentials: "include", body: "{}"})
    .then((r) => r.type === "opaque" ? "sent" : r.status, () => "blocked");
  const read = await fetch(place + "/start", {credentials: "include"}).then((r) => r.text(), () => "blocked");
  const socket = await new Promise((done) => {
    const made = new WebSocket(place.replace("http", "ws") + "/live/play");
    made.onopen = () => done("open"); made.onerror = () => done("blocked"); });
  const frame = await new Promise((done) => {
    const made = document.createElement("iframe"); made.src = place + "/";
    made.onload = () => { try { done(made.contentDocument ? "readable" : "blocked"); } catch { done("blocked"); } };
    document.body.append(made); });
  return {read, socket, frame, posts: [await post("/upload/first", "no-cors"), await post("/stop", "cors")]};
}"""


def test_another_page_on_this_machine_reaches_nothing(page, context, server):
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        before, stranger = dict(server.studio.files), context.new_page()
        stranger.goto(f"http://127.0.0.1:{other.server_port}/")
        found = stranger.evaluate(ATTACK, f"http://127.0.0.1:{server.port}")
        assert found["read"] == found["socket"] == found["frame"] == found["posts"][1] == "blocked"
        assert server.studio.files == before
        stranger.close()
    finally:
        other.shutdown()
        other.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("task", ["curve", "region", "clusters", "components"])
def test_each_task_is_drawn(page, task):
    last = answers(page)
    page.get_by_label("What to learn").select_option(task)
    after(page, last)
    expect(page.locator("#playground-view .error").last).to_have_text("")
    words = page.locator("figcaption").first.inner_text()
    assert {"curve": "tube", "region": "Region", "clusters": "clusters", "components": "component"}[task] in words


@pytest.mark.slow
def test_views_back_reload_and_two_tabs(page, context, server):
    for view in ("processes", "gram", "samples"):
        page.locator(f"#tabs a[href='#{view}']").click()
        page.wait_for_selector(f"#{view}-view[data-answers]")
        assert page.locator("figcaption").first.inner_text()
    page.go_back()
    page.wait_for_selector("#gram-view")
    page.reload()  # the cookie is enough
    page.wait_for_selector("#gram-view[data-answers]")
    second = context.new_page()
    second.goto(f"http://127.0.0.1:{server.port}/#samples")
    second.wait_for_selector("#samples-view[data-answers]")
    page.locator("#gram-view canvas").hover(position={"x": 200, "y": 30})
    expect(page.locator("#gram-view .side")).to_contain_text("k = ")
    second.close()


@pytest.mark.slow
def test_observations_and_the_evidence(page):
    page.locator("#tabs a[href='#processes']").click()
    page.wait_for_selector("#processes-view[data-answers]")
    last = answers(page, "processes")
    page.get_by_role("button", name="Wave").click()
    after(page, last, "processes")
    page.get_by_role("button", name="Draw the evidence").click()
    expect(page.locator("#processes-view .side figcaption")).to_contain_text("optimum")
    page.get_by_role("button", name="Copy as Python: the evidence").click()
    expect(page.locator("#processes-view .side pre")).to_contain_text("model.log_marginal_likelihood(theta)")
    last = answers(page, "processes")
    page.get_by_role("button", name="Go to the optimum").click()
    after(page, last, "processes")


@pytest.mark.slow
def test_a_file_with_hostile_names_is_checked_fitted_stopped_and_saved(page, server, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    page.locator("#tabs a[href='#file']").click()
    page.get_by_label("A data file").set_input_files(path)
    expect(page.locator("#file-view")).to_contain_text("60 samples")
    page.locator("#file-view summary").first.click()
    expect(page.locator("#file-view")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Find a model").click()
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("#file-view[data-job=stopped]")
    page.get_by_label("Seconds at most").fill("900")
    page.get_by_role("button", name="Find a model").click()
    page.wait_for_selector("#file-view[data-job=running]")
    page.locator("#tabs a[href='#gram']").click()  # the job goes on while another view is looked at
    page.go_back()
    page.wait_for_selector("#file-view[data-job=done]", timeout=5 * LONG)
    expect(page.locator("#file-view .middle table").first).to_contain_text("=")
    page.get_by_role("button", name="Score over cost and width").click()
    expect(page.locator("#file-view .middle figcaption")).to_contain_text("Best at width")
    expect(page.locator("#file-view .middle table").first).to_contain_text("=")  # the leaderboard stays
    page.reload()  # and so does what was found, as another tab has it
    expect(page.locator("#file-view .middle figcaption")).to_contain_text("Best at width")
    page.get_by_role("button", name="Copy as command line: the surface").click()
    expect(page.locator("#file-view .middle pre")).to_contain_text("--folds 5")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#file-view .verdict").last).to_contain_text("y: ")
    page.get_by_label("Name of the model").fill("../evil")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#file-view .side")).to_contain_text("letters, digits")
    page.get_by_label("Name of the model").fill("mine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#file-view .side")).to_contain_text("Saved as mine.mercer")
    assert [found.name for found in server.studio.folder.iterdir()] == ["mine.mercer"]
    assert page.title() != "ran" and page.locator("img[src=x]").count() == 0
    trees = tmp_path / "trees.penn"
    trees.write_text("(S (A a) (B b))\n(S (B a) (A b))\n" * 8)
    page.get_by_label("A data file").set_input_files(trees)
    expect(page.locator("#file-view")).to_contain_text("16 samples")
    expect(page.get_by_role("button", name="Predict")).to_be_disabled()  # the model was that of another file
    expect(page.get_by_role("button", name="Find a model")).to_be_disabled()
    (tmp_path / "y.csv").write_text("kind\n" + "left\nright\n" * 8)
    page.get_by_label("A table of targets").set_input_files(tmp_path / "y.csv")
    expect(page.get_by_role("button", name="Find a model")).to_be_enabled()
    expect(page.get_by_label("What to predict")).to_have_value("kind")


# what can be pressed and is too small; sliders are as wide as their card, checkboxes have their label
SMALL = """(least) => [...document.querySelectorAll("button, select, nav a, input:not([type=range], [type=checkbox])")]
  .map((e) => [e.textContent || e.name, e.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < least || box.height < least))
  .map(([name, box]) => `${name} ${box.height}`)"""
# what is wider than the part it stands in
CUT = """() => [...document.querySelectorAll("button, select, label, legend, h2, figcaption, nav a")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map((e) => e.textContent)"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 390, 768, 1280, 2560])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser, server, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/#token={server.keys.token}")
    for view in ("playground", "processes", "file", "gram", "samples"):
        page.evaluate(f"location.hash = '#{view}'")
        page.wait_for_selector(f"#{view}-view" + ("" if view == "file" else "[data-answers]"), timeout=LONG)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("canvas:not([aria-label]), img:not([alt])").count() == 0
        assert page.evaluate(SMALL, 44 if width < 720 else 24) == []
        assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()
