"""The report and the review in Chromium, as people use them."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import uvicorn

from quietgraph.data.decisions import read_decisions
from quietgraph.review.decisions import open_run
from quietgraph.review.server import review_app
from report.problem import CLASSES, fit_once

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed")
FIND = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations));
"""


class Page:
    """A browser with the words that the tests use."""

    def __init__(self) -> None:
        os.environ["SE_OFFLINE"] = "true"  # the driver is given: nothing is fetched
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def open(self, address: str | Path) -> None:
        self.driver.get(address.as_uri() if isinstance(address, Path) else address)
        wait_for(lambda: self.every("html[data-started]"))

    def look(self, width: int, scheme: str) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})

    def the(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def every(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def column(self, place: int) -> list[str]:
        rows = "[...document.querySelectorAll('#suspects tbody tr')]"
        return self.driver.execute_script(f"return {rows}.map((row) => row.cells[{place}].textContent)")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def decided(self) -> list[str]:
        script = "return [...document.querySelectorAll('#suspects .decided')].map((cell) => cell.textContent)"
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


def wait_for(condition: Callable[[], object], seconds: float = 15) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    page = Page()
    yield page
    page.driver.quit()


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.look(1280, "light")
    yield browser
    assert browser.complaints() == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browser")
    return fit_once(place / "tables").write(place / "run")


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve the review of a run; give the link."""
    app = review_app(open_run(folder), token="secret", reviewer="Ann")
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_for(lambda: server.started)
    bound = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{bound}/?token=secret"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


@pytest.fixture
def served(folder: Path, tmp_path: Path, page: Page) -> Iterator[tuple[str, Path]]:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    with serving(copy) as link:
        yield link, copy
        page.driver.get("about:blank")


def test_the_report_opens_from_disk_and_decides_nothing(page: Page, folder: Path) -> None:
    page.open(folder / "report.html")
    assert "</script><script>alert(1)</script>" in "".join(page.column(0))
    assert set(page.column(1)) <= set(CLASSES)
    assert not page.the("#node-choices").is_displayed()
    assert page.the("#node-why").text
    page.press("a")
    assert page.decided() == [""] * 20
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_table_sorts_searches_and_turns_pages(page: Page, folder: Path) -> None:
    page.open(folder / "report.html")
    page.the('th button[data-sort="given"]').click()
    assert page.column(1) == sorted(page.column(1), key=CLASSES.index)
    first = page.column(0)
    page.the("#next").click()
    assert not set(page.column(0)) & set(first)
    page.the("#filter-search").send_keys("quoted")
    assert page.column(0)
    assert all("quoted" in cell for cell in page.column(0))
    page.press(Keys.ESCAPE, "n")
    assert page.every("#suspects tr.current")


def test_decisions_by_keys_outlive_a_reload_and_reach_the_folder(page: Page, served: tuple[str, Path]) -> None:
    link, run = served
    page.open(link)
    assert "secret" not in page.driver.current_url
    page.press("a", "k", "u", "d", "z", "o")
    page.press(CLASSES[1], Keys.ENTER)
    suggested, given = page.column(2), page.column(1)
    held = [suggested[0], given[1], "unsure", CLASSES[1]]
    assert page.decided()[:5] == [*held, ""]
    wait_for(lambda: (run / "decisions.sqlite").exists() and len(read_decisions(run)) == 4)
    page.open(link)
    wait_for(lambda: page.decided()[:4] == held)
    page.the("#done").click()
    wait_for(lambda: page.the("#next-step").is_displayed())
    assert page.the("#outlook").text.startswith("You decided on 3 of ")
    assert page.the("#next-command").text.endswith(f"--verified {run}")


def test_reviewers_see_each_other_and_where_they_disagree(page: Page, served: tuple[str, Path]) -> None:
    link, run = served
    page.open(link)
    page.press("a")
    wait_for((run / "decisions.sqlite").exists)
    node = next(iter(read_decisions(run).by_node))
    open_run(run).decide(node, "keep", "", "Bo")
    wait_for(lambda: page.decided()[0] == "conflict")
    page.press("p")
    wait_for(lambda: "Bo: " in page.the("#node-others").text)


def test_done_waits_for_decisions_that_are_not_sent(browser: Page, folder: Path, tmp_path: Path) -> None:
    browser.look(1280, "light")
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    with serving(run) as link:
        browser.open(link)
    port = int(link.split(":")[2].split("/")[0])
    browser.press("k")
    wait_for(lambda: browser.the("#problem").is_displayed())
    browser.the("#done").click()
    time.sleep(0.3)
    assert not browser.the("#next-step").is_displayed()
    browser.complaints()
    with serving(run, port) as link:  # of a new start, so with a new cookie
        browser.open(link)
        wait_for(lambda: (run / "decisions.sqlite").exists() and len(read_decisions(run)) == 1)
        wait_for(lambda: browser.decided()[0] == browser.column(1)[0])
        browser.driver.get("about:blank")
    browser.complaints()


def test_the_page_asks_for_a_name(page: Page, served: tuple[str, Path]) -> None:
    page.open(served[0])
    field = page.the("#reviewer")
    field.clear()
    page.press(Keys.TAB)
    page.the('[data-choice="keep"]').click()
    assert "name" in page.the("#problem").text
    page.driver.execute_script("localStorage.clear()")
    assert page.decided()[0] == ""


def test_dark_colours_can_be_chosen_and_stay(page: Page, folder: Path) -> None:
    page.open(folder / "report.html")
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = page.driver.execute_script(colour)
    page.the("#theme").click()
    dark = page.driver.execute_script(colour)
    assert dark != light
    page.the("#theme").click()
    page.look(1280, "dark")
    page.driver.execute_script("localStorage.clear()")
    page.open(folder / "report.html")
    assert page.driver.execute_script(colour) == dark


def test_the_map_answers_to_keys_and_clicks(page: Page, folder: Path) -> None:
    page.open(folder / "report.html")
    canvas = page.the("#map")
    ink = "const c = arguments[0]; return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean)"
    wait_for(lambda: page.driver.execute_script(ink, canvas))
    canvas.send_keys("+", Keys.ARROW_LEFT, "0")
    canvas.click()
    assert page.every("#legend li")


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core."""
    package = find_spec("axe_core_python")
    if package is None or package.origin is None:
        pytest.skip("axe-core is not installed (extra `dev`)")
    (source,) = Path(package.origin).parent.rglob("axe.min.js")
    return source.read_text(encoding="utf-8")


@pytest.mark.parametrize("look", [(1280, "light"), (390, "dark")])
def test_nothing_serious_is_found_on_report_and_review(
    page: Page, served: tuple[str, Path], folder: Path, axe: str, look: tuple[int, str]
) -> None:
    page.look(*look)
    for address in (folder / "report.html", served[0]):
        page.open(address)
        page.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        page.driver.execute_script(axe)
        found = [
            f"{one['id']}: {node['html'][:160]} {node['failureSummary']}"
            for one in page.driver.execute_async_script(FIND)
            if one["impact"] in {"serious", "critical"}
            for node in one["nodes"][:3]
        ]
        assert found == []
        assert page.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
