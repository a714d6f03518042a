"""Take the pictures of the tour of the studio: ``python -m docs.make_studio_pictures``, with Chromium.

Points are drawn from a fixed seed; look at the pictures before they are kept.
"""

import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from examples import demo_data
from mercer.studio.serving import address_of
from tests.browser.test_studio import CHROMIUM, FLAGS, LONG
from tests.unit.studio.web import Running

HERE = Path(__file__).parent / "_static"


def shoot(page, name):
    """Write a picture of the page: 900 pixels wide, in 200 colours."""
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(2500)
    path = HERE / f"studio-{name}.png"
    page.screenshot(path=path)
    whole = Image.open(path).convert("RGB")
    whole = whole.resize((900, round(900 * whole.height / whole.width)), Image.Resampling.LANCZOS)
    whole.quantize(200, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        demo_data.main(Path(folder, "data"))
        server = Running(Path(folder), Path(folder, "data", "patients.csv"))
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1364, "height": 900}, color_scheme="light")
        context.add_init_script("let s = 1; Math.random = () => (s = s * 16807 % 2147483647) / 2147483647;")
        page = context.new_page()
        page.set_default_timeout(5 * LONG)
        page.goto(address_of(server.keys))
        page.wait_for_selector("#file-view")
        for view in ("playground", "processes", "samples", "gram"):
            page.evaluate(f"location.hash = '#{view}'")
            page.wait_for_selector(f"#{view}-view[data-answers]")
            if view == "processes":
                page.get_by_role("button", name="Wave").click()
                page.wait_for_timeout(1500)
                page.get_by_role("button", name="Draw the evidence").click()
                page.wait_for_selector("#processes-view .side canvas:not(.hidden)")
            shoot(page, view)
        page.evaluate("location.hash = '#file'")
        page.get_by_label("What to predict").select_option("progression")
        page.get_by_label("Seconds at most").fill("600")
        page.wait_for_timeout(2000)
        page.get_by_role("button", name="Find a model").click()
        page.wait_for_selector("#file-view[data-job=done]")
        page.get_by_role("button", name="Score over cost and width").click()
        page.wait_for_selector("#file-view .middle figcaption:has-text('Best at')")
        page.get_by_role("button", name="Predict").click()
        page.set_viewport_size({"width": 1364, "height": 1250})
        shoot(page, "file")
        browser.close()
        server.end()


if __name__ == "__main__":
    main()
