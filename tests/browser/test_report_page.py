"""The report in a real browser: from disk and from `quietgraph review`, as people use it."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.base import clone

from quietgraph.graph.io import read_corrections
from quietgraph.report.fit_run import FitRun
from quietgraph.report.run_files import DECISIONS_FILE
from quietgraph.report.write_run import write_run
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run
from report_problem import AWKWARD, CLASSES, distrusted, large_run, wide_run

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from chromium import IS_HERE, open_chromium

pytestmark = pytest.mark.skipif(not IS_HERE, reason="chromium and chromedriver are not installed")

# Empties what the page keeps in this browser, and answers how much that was.
FORGET = """
    const kept = localStorage.length;
    localStorage.clear();
    indexedDB.open("quietgraph").onsuccess = ({ target: { result } }) => {
      const change = result.transaction("kept", "readwrite");
      const counted = change.objectStore("kept").count();
      change.objectStore("kept").clear();
      change.oncomplete = () => { result.close(); arguments[0](kept + counted.result); };
    };
"""


class Page:
    """The browser with the words that the tests use."""

    def __init__(self, driver, downloads: Path) -> None:
        self.driver, self.downloads = driver, downloads

    def open(self, address: str | Path, *, scripts: bool = True) -> None:
        self.driver.get(address.as_uri() if isinstance(address, Path) else address)
        if scripts:
            wait_for(lambda: self.every("html[data-started]"))

    def forget(self, address: Path) -> None:
        """Open a page for which this browser has kept nothing.

        One order to forget is not enough: some loads of a page from disk get a local storage that
        is not the one of the next load.
        """
        self.open(address)
        while self.driver.execute_async_script(FORGET):
            self.open(address)

    def leave(self) -> list[str]:
        """Leave the page and return what the console said."""
        said = self.complaints()
        self.driver.get("about:blank")
        return said

    def the(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def every(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def column(self, name: str) -> list[str]:
        script = (
            "return [...document.querySelectorAll(arguments[0])].map((cell) => cell.textContent)"
        )
        return self.driver.execute_script(script, f'#suspects tbody [data-is="{name}"]')

    def sort(self, name: str) -> str:
        button = self.the(f'#suspects th button[data-sort="{name}"]')
        button.click()
        return button.find_element(By.XPATH, "..").get_attribute("aria-sort")

    def choose(self, row: int, choice: str) -> None:
        where = f'#suspects tbody [data-choice="{choice}"]'
        wait_for(lambda: len(self.every(where)) > row)  # the table is filled by the page itself
        self.every(where)[row].click()

    def select(self, name: str, value: str) -> None:
        before = self.the("#shown").text
        Select(self.the(f"#filter-{name}")).select_by_value(value)
        wait_for(lambda: self.the("#shown").text != before)

    def pressed(self) -> list[str]:
        script = (
            "return [...document.querySelector('#suspects tbody').rows].map((r) => r.dataset.mine)"
        )
        return self.driver.execute_script(script)

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def background(self) -> str:
        return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def downloaded(self, name: str) -> Path:
        wait_for((self.downloads / name).exists)
        return self.downloads / name


def wait_for(condition: Callable[[], object], seconds: float = 15) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    downloads = tmp_path_factory.mktemp("downloads")
    driver = open_chromium(downloads=str(downloads))
    yield Page(driver, downloads)
    driver.quit()


@pytest.fixture(scope="module")
def folder(run: FitRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(run, tmp_path_factory.mktemp("browser") / "run")


@pytest.fixture
def page(browser: Page, folder: Path) -> Iterator[Page]:
    for left in browser.downloads.iterdir():
        left.unlink()
    browser.forget(folder / "report.html")
    yield browser
    assert browser.leave() == []


@contextmanager
def reviewed(folder: Path) -> Iterator[str]:
    """Serve a run as `quietgraph review` does, and give the link."""
    from quietgraph.review.server import Review
    from tests.review.serving import serving

    review = Review(open_run(folder), DecisionStore(folder / DECISIONS_FILE), "127.0.0.1")
    with serving(review) as port:
        yield review.link(port)


@pytest.fixture
def served(browser: Page, folder: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a copy of the run; the link and the folder."""
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    with reviewed(copy) as link:
        yield link, copy
        browser.leave()


def test_awkward_ids_are_shown_as_they_are(page: Page, run: FitRun) -> None:
    ids = run.observation.node_ids[run.queue["node"]].tolist()
    assert page.column("node") == ids[:25]
    assert any(name.startswith(AWKWARD[0]) for name in ids)
    assert set(page.column("observed")) <= set(CLASSES)


def test_the_table_sorts_both_ways(page: Page) -> None:
    assert page.sort("p_wrong") == "descending"
    assert page.sort("p_wrong") == "ascending"
    scores = [percents(text) for text in page.column("p_wrong")]
    assert scores == sorted(scores)
    assert page.sort("observed") == "ascending"
    assert page.column("observed") == sorted(page.column("observed"), key=CLASSES_IN_ORDER.index)
    header = page.the('#suspects th[aria-sort="descending"], #suspects th[aria-sort="ascending"]')
    assert header.text.startswith("observed")


def percents(text: str) -> float:
    """Return the number of an estimate such as 57 %, > 99 % or < 1 %."""
    number = int(re.search(r"\d+", text)[0])
    return number + 0.5 * (">" in text) - 0.5 * ("<" in text)


CLASSES_IN_ORDER = ("</script>", "big, red", "snö\u2028☃")


def test_the_table_filters_by_class_probability_and_decision(page: Page) -> None:
    page.select("class", "1")
    pairs = zip(page.column("observed"), page.column("suggested"), strict=True)
    assert all("big, red" in pair for pair in pairs)
    page.the("#clear").click()
    before = len(page.column("node"))
    page.driver.execute_script(
        "const field = document.getElementById('filter-p_wrong'); field.value = 10;"
        "field.dispatchEvent(new Event('input'))"
    )
    assert all(percents(text) >= 10 for text in page.column("p_wrong"))
    page.the("#clear").click()
    assert len(page.column("node")) == before
    page.choose(0, "keep")
    page.select("decided", "keep")
    assert len(page.column("node")) == 1
    page.select("decided", "no")
    assert page.column("node")
    assert "keep" not in page.pressed()


def test_search_finds_a_node(page: Page) -> None:
    wanted = page.column("node")[3]
    page.the("#filter-search").send_keys(wanted.upper())
    assert wanted in page.column("node")
    assert all(wanted in node for node in page.column("node"))
    page.the("#filter-search").send_keys("nowhere")
    assert page.column("node") == []
    assert "no label fits" in page.the("#shown").text


def test_pages_of_rows_hold_every_suspect_once(page: Page, run: FitRun) -> None:
    found = page.column("node")
    while page.the("#next").is_enabled():
        page.the("#next").click()
        found += page.column("node")
    assert found == run.observation.node_ids[run.queue["node"]].tolist()


def test_decisions_outlive_a_reload(page: Page, folder: Path) -> None:
    page.choose(0, "accept")
    page.choose(1, "keep")
    page.choose(2, "unsure")
    page.choose(3, "keep")
    page.choose(3, "keep")  # taken back
    page.open(folder / "report.html")
    assert page.pressed()[:4] == ["accept", "keep", "unsure", ""]
    assert "3 of " in page.the("#progress-words").text


def test_decisions_outlive_a_local_storage_that_forgets(page: Page, folder: Path) -> None:
    page.choose(0, "accept")
    page.driver.execute_script("localStorage.clear()")
    page.open(folder / "report.html")
    page.choose(1, "keep")
    page.driver.execute_script("localStorage.clear()")
    page.open(folder / "report.html")
    assert page.pressed()[:2] == ["accept", "keep"]


def test_the_export_goes_back_into_fit(page: Page, run: FitRun) -> None:
    assert not page.the("#export").is_enabled()
    for row, choice in enumerate(("accept", "keep", "unsure", "accept", "accept")):
        page.choose(row, choice)
    page.the("#export").click()
    found = read_corrections(page.downloaded("verified.csv")).decisions
    suspects = run.suspects_with_ids().set_index("node")
    nodes = page.column("node")[:5]
    given, suggested = (suspects[name][nodes].tolist() for name in ("given", "suggested"))
    labels = [suggested[0], given[1], "", suggested[3], suggested[4]]
    assert [found[node].label for node in nodes] == labels
    assert [found[node].decision for node in nodes] == ["accept", "keep", "unsure"] + 2 * ["accept"]
    assert "--verified verified.csv" in page.the("#next-command").text


def test_keys_alone_are_enough_to_review(page: Page) -> None:
    page.the("body").click()
    page.press("a")
    page.press("k")
    page.press("u")
    assert page.pressed()[:4] == ["accept", "keep", "unsure", ""]
    assert page.the("#suspects tr.current").get_attribute("data-row") == "3"
    page.press("z")
    assert page.pressed()[:3] == ["accept", "keep", ""]
    page.press("/")
    page.press("snö a k")  # typing in the search decides nothing
    assert page.pressed().count("accept") <= 1
    page.press(Keys.ESCAPE)
    assert page.driver.switch_to.active_element.tag_name == "body"


def test_single_keys_can_be_switched_off(page: Page, folder: Path) -> None:
    page.the("#keys summary").click()
    page.the("#use-keys").click()
    page.press("n", "a")
    assert "accept" not in page.pressed()
    page.open(folder / "report.html")
    assert not page.the("#use-keys").is_selected()


def test_dark_and_light_are_remembered(page: Page, folder: Path) -> None:
    first = page.background()
    page.the("#theme").click()
    second = page.background()
    assert first != second
    page.open(folder / "report.html")
    assert page.background() == second
    page.the("#theme").click()
    assert page.background() == first


def test_the_system_decides_on_dark_until_somebody_does(page: Page) -> None:
    seen = set()
    for value in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": value}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        seen.add(page.background())
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(seen) == 2


def test_a_row_is_explained_and_marked_on_the_map(page: Page) -> None:
    before = page.driver.execute_script("return document.getElementById('map').toDataURL()")
    page.every("#suspects tbody th")[1].click()
    assert page.column("node")[1] in page.the("#node-title").text
    assert "All evidence together" in page.the("#node-why").text
    wait_for(lambda: len(page.every("#node-columns dt")) == 3)
    assert page.every("#node-neighbours li")
    changed = "return document.getElementById('map').toDataURL() !== arguments[0]"
    wait_for(lambda: page.driver.execute_script(changed, before))


def test_a_label_is_called_wrong_uncertain_or_right_and_not_judged_where_nothing_is_known(
    browser: Page, page: Page, run: FitRun, tmp_path: Path
) -> None:
    estimates = {}
    for place in range(25):
        page.every("#suspects tbody th")[place].click()
        score = page.the("#node-score").text
        found = percents(page.column("p_wrong")[place])
        estimates.setdefault(score.split(" (")[0], []).append(found)
    assert set(estimates) <= {"probably wrong", "uncertain", "probably right"}
    assert min(estimates["probably wrong"]) >= 50
    assert max(estimates.get("probably right", [0])) <= 10
    browser.open(write_run(distrusted(run), tmp_path / "doubtful") / "report.html")
    assert set(page.column("p_wrong")) == {"not known"}
    page.every("#suspects tbody th")[0].click()
    assert page.the("#node-score").text == "not judged"
    assert "The model cannot judge this label." in page.the("#node-why").text


def test_the_map_zooms_by_keys_and_names_the_node_under_the_pointer(page: Page) -> None:
    canvas = page.the("#map")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    picture = "return document.getElementById('map').toDataURL()"
    wait_for(lambda: page.driver.execute_script(picture) != "data:,")
    before = page.driver.execute_script(picture)
    canvas.send_keys("+", Keys.ARROW_LEFT)
    wait_for(lambda: page.driver.execute_script(picture) != before)
    canvas.send_keys("0")
    sweep = """
        const [map, tip] = ["map", "tip"].map((id) => document.getElementById(id));
        const box = map.getBoundingClientRect();
        for (let x = 0; x < box.width; x += 6) for (let y = 0; y < box.height; y += 6) {
          const place = {clientX: box.x + x, clientY: box.y + y};
          map.dispatchEvent(new PointerEvent("pointermove", place));
          if (!tip.hidden) return tip.textContent;
        }
        return "";
    """
    assert page.driver.execute_script(sweep).startswith("node ")


def test_the_legend_hides_a_class(page: Page) -> None:
    picture = "return document.getElementById('map').toDataURL()"
    before = page.driver.execute_script(picture)
    button = page.the("#legend button")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    wait_for(lambda: page.driver.execute_script(picture) != before)


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
def test_nothing_sticks_out_at_any_width(page: Page, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wide = page.driver.execute_script("return document.documentElement.scrollWidth")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width


def test_every_control_has_a_name(page: Page) -> None:
    unnamed = page.driver.execute_script("""
        const named = (e) => e.ariaLabel || e.textContent.trim() || e.labels?.length;
        return [...document.querySelectorAll("button, input, select, canvas[tabindex], progress")]
          .filter((e) => !named(e)).map((e) => e.outerHTML);
    """)
    assert unnamed == []
    landmarks = ("header", "nav", "main", '[role="search"]')
    assert all(page.every(selector) for selector in landmarks)


def test_without_javascript_the_suspects_are_readable(browser: Page, folder: Path) -> None:
    off = {"value": True}
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", off)
    browser.open(folder / "report.html", scripts=False)
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.every("#suspects tbody tr")
    assert not browser.the("#map").is_displayed()
    assert browser.every("svg")


def test_a_review_saves_at_once_and_shows_what_others_say(
    browser: Page, served: tuple[str, Path]
) -> None:
    link, folder = served
    browser.open(link)
    assert "token" not in browser.driver.current_url
    browser.choose(0, "accept")
    assert "name first" in browser.the("#problem").text
    browser.the("#reviewer").send_keys("Ann", Keys.TAB)
    browser.choose(0, "accept")
    browser.choose(1, "keep")
    store = DecisionStore(folder / DECISIONS_FILE)
    wait_for(lambda: len(store.after()) == 2)
    node = browser.column("node")[0]
    assert [store.after()[0].node, store.after()[0].reviewer] == [node, "Ann"]
    given = browser.column("observed")[0]
    store.add(node, "Bob <b>", "keep", given)
    wait_for(lambda: "conflict · Bob <b>: keep" in browser.column("others")[0])
    browser.select("decided", "conflict")
    assert browser.column("node") == [node]
    browser.the("#export").click()
    kept = read_corrections(browser.downloaded("verified.csv")).decisions
    assert kept[node].decision == "unsure"
    browser.open(link)
    wait_for(lambda: browser.pressed()[:2] == ["accept", "keep"])
    assert browser.complaints() == []


def test_any_class_is_found_by_typing_a_part_of_its_name(page: Page) -> None:
    page.the("body").click()
    page.press("o")
    page.press("sn")
    options = [item.get_attribute("textContent") for item in page.every("#other-list li")]
    assert options == [CLASSES[2]]
    page.press(Keys.ENTER)
    assert page.pressed()[0] == "other"
    assert CLASSES[2] in page.column("others")[0]
    page.press("d")
    assert page.pressed()[:2] == ["other", "drop"]
    page.press("z")
    page.press("z")
    assert page.pressed()[:2] == ["", ""]


def test_fifty_decisions_go_round_and_none_is_lost_or_asked_twice(
    browser: Page, run: FitRun, folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    link, copy = request.getfixturevalue("served")
    for left in browser.downloads.iterdir():
        left.unlink()
    browser.open(link)
    browser.the("#reviewer").send_keys("Ann", Keys.ENTER)  # and the keys of the review work
    queue = run.observation.node_ids[run.queue["node"]].tolist()
    differs = (run.queue["suggested"] != run.queue["observed"]).tolist()
    assert len(queue) == 50
    for place in range(50):
        wait_for(lambda place=place: queue[place] in browser.the("#node-title").text)
        key = "kdoua"[place % 5] if differs[place] else "kdouk"[place % 5]
        browser.press(key)
        if key == "o":
            browser.press("big", Keys.ENTER)
    store = DecisionStore(copy / DECISIONS_FILE)
    wait_for(lambda: len(store.after()) == 50)
    browser.the("#export").click()
    exported = browser.downloaded("verified.csv")
    decided = read_corrections(exported).decisions
    assert list(decided) == queue
    assert {one.by for one in decided.values()} == {"Ann"}
    assert "--verified verified.csv" in browser.the("#next-command").text
    again = fit_again(run, exported)
    unsure = [node for node, one in decided.items() if one.decision == "unsure"]
    asked = again.observation.node_ids[again.queue["node"]].tolist()
    assert set(asked) & set(queue) == set(unsure)
    assert set(asked[-len(unsure) :]) == set(unsure)  # last, and marked as unsure
    second = write_run(again, tmp_path / "second")
    assert read_corrections(second / "verified.csv").decisions == decided
    browser.open(second / "report.html")
    wait_for(lambda: f"{len(unsure)} unsure" in browser.the("#progress-words").text)
    browser.the("h1").click()
    browser.press("k")
    browser.the("#export").click()
    wait_for(lambda: len(list(browser.downloads.glob("verified*.csv"))) == 2)
    (newer,) = set(browser.downloads.glob("verified*.csv")) - {exported}
    last = read_corrections(newer).decisions
    assert {node: last[node] for node in decided} == decided
    assert len(last) == 51


def fit_again(run: FitRun, verified: Path) -> FitRun:
    decisions = read_corrections(verified)
    observation = run.observation.correct(decisions.within(run.observation.node_ids))
    model = clone(run.model).fit(observation)
    model.suspects()
    return replace(run, model=model, observation=observation, decisions=decisions)


def test_what_a_dead_server_did_not_take_waits_in_the_browser(
    browser: Page, served: tuple[str, Path]
) -> None:
    link, folder = served
    browser.open(link)
    browser.the("#reviewer").send_keys("Ann", Keys.TAB)
    browser.driver.set_network_conditions(offline=True, latency=0, throughput=0)
    browser.choose(0, "accept")
    wait_for(lambda: "Not saved yet" in browser.the("#problem").text)
    browser.driver.delete_network_conditions()
    store = DecisionStore(folder / DECISIONS_FILE)
    wait_for(lambda: len(store.after()) == 1)
    wait_for(lambda: not browser.the("#problem").is_displayed())


def test_150_classes_and_texts_of_10000_characters_stay_usable(
    browser: Page, tmp_path: Path
) -> None:
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    folder = write_run(wide_run(tmp_path / "graph"), tmp_path / "run")
    assert (folder / "report.html").stat().st_size < 3_000_000
    cells = (
        "return [...document.querySelectorAll('#node-columns dd')].map((one) => one.textContent)"
    )
    with reviewed(folder) as link:
        browser.open(link)
        browser.the("#reviewer").send_keys("Ann", Keys.TAB)
        browser.the("#suspects tbody [data-is=node]").click()
        # The page holds the beginning alone; the server has the whole text.
        wait_for(lambda: 10_000 in map(len, browser.driver.execute_script(cells)))
        assert browser.driver.execute_script("return document.body.scrollHeight") < 12_000
        browser.press("o")
        browser.press("149")
        options = [item.get_attribute("textContent") for item in browser.every("#other-list li")]
        assert options == ["kind 149 of something with a long name"]
        browser.press(Keys.ENTER)
        store = DecisionStore(folder / DECISIONS_FILE)
        wait_for(lambda: len(store.after()) == 1)
        assert store.after()[0].label == options[0]
        Select(browser.the("#filter-class")).select_by_visible_text(options[0])
        assert browser.leave() == []


def test_a_graph_of_20000_nodes_opens(browser: Page, tmp_path: Path) -> None:
    path = write_run(large_run(), tmp_path / "run") / "report.html"
    assert path.stat().st_size < 3_000_000
    browser.open(path)
    assert len(browser.column("node")) == 25
    assert re.search(r"25 of \d,\d{3}$", browser.the("#shown").text)
    assert browser.leave() == []


def test_a_desk_of_1280_pixels_shows_all_columns_where_the_truth_is_known(
    browser: Page, tmp_path: Path
) -> None:
    browser.open(write_run(large_run(1_000), tmp_path / "run") / "report.html")
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    script = (
        "const box = document.querySelector('.rows'); return [box.scrollWidth, box.clientWidth]"
    )
    needed, there = browser.driver.execute_script(script)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert "yes" in browser.column("wrong"), "the run has the widest set of columns"
    assert needed <= there
    assert browser.leave() == []
