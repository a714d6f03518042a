"""From the slider to the picture: ``python -m benchmarks.studio_latency`` with Chromium, for 200 and 1 000 points.

Each figure is the time from the moment a slider moves to the end of drawing, in the browser, the median of 15 moves.
"""

import json
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.test_studio import CHROMIUM, FLAGS, answers, until
from tests.unit.studio.web import Running

MOVES = 15
PROMISED = {200: 100.0, 1000: 400.0}  # milliseconds


def moved(page, count):
    """The milliseconds of some moves of the slider of the width."""
    page.get_by_label("How many points").fill(str(count))
    page.get_by_role("button", name="Moons").click()
    page.wait_for_timeout(3000)
    found, work = [], []
    for i in range(MOVES):
        last = answers(page)
        page.get_by_role("slider", name="width").press("ArrowRight" if i % 2 else "ArrowLeft")
        until(page, lambda last=last: answers(page) > last)
        found.append(float(page.get_attribute("#playground-view", "data-milliseconds")))
        work.append(float(page.locator(".facts").inner_text().split(": ")[1].split(" ms")[0]))
        page.wait_for_timeout(1200)  # the pictures at the side are asked for when nothing moves
    return {"to the picture": statistics.median(found), "of work": statistics.median(work), "promised": PROMISED[count]}


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        server = Running(Path(folder), warm=True)
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"http://127.0.0.1:{server.port}/#token={server.keys.token}")
        page.wait_for_selector("#playground-view[data-answers]", timeout=300_000)
        print(json.dumps({count: moved(page, count) for count in PROMISED}))
        browser.close()
        server.end()


if __name__ == "__main__":
    main()
