"""axe-core finds nothing serious in the report, the review and the site, on a desk and on a phone.

axe-core comes with the package axe-core-python; AXE_CORE may name a newer axe.min.js.
"""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from paths import ROOT
from quietgraph.report.write_run import write_run
from report_problem import own_run

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from chromium import IS_HERE, open_chromium

pytestmark = pytest.mark.skipif(not IS_HERE, reason="chromium and chromedriver are not installed")
LOOKS = [(1400, "light"), (390, "dark")]
PAGES = ("index", "start", "coming-from", "own-data", "methods", "theory", "reference/quietgraph")
FIND = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations));
"""
# What moves from one colour to another would be caught half-way.
REST = """
const style = document.createElement("style");
style.textContent = "*, *::before, *::after { transition: none !important; }";
document.head.append(style);
"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core."""
    given, package = os.environ.get("AXE_CORE"), find_spec("axe_core_python")
    if given:
        return Path(given).read_text(encoding="utf-8")
    if package is None or package.origin is None:
        pytest.skip("axe-core is not installed (extra `dev`)")
    (source,) = Path(package.origin).parent.rglob("axe.min.js")
    return source.read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def driver(request: pytest.FixtureRequest) -> Iterator[object]:
    """Open a browser of this width and these colours."""
    width, scheme = request.param
    found = open_chromium()
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    colours = [{"name": "prefers-color-scheme", "value": scheme}]
    found.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
    yield found
    found.quit()


def findings(driver, axe: str, address: str) -> list[str]:
    """Return what is serious or critical on a page, and whether it is wider than the screen."""
    driver.get(address)
    driver.execute_script(REST)
    driver.execute_script(axe)
    found = [
        f"{address} {one['impact']} {one['id']}: {node['html'][:160]} {node['failureSummary']}"
        for one in driver.execute_async_script(FIND)
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"][:3]
    ]
    wide = "return document.documentElement.scrollWidth > window.innerWidth"
    return [*found, f"{address} is wider than the screen"] if driver.execute_script(wide) else found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("accessible")
    return write_run(own_run(place / "graph"), place / "run")


def test_the_report_has_no_serious_finding(driver, axe: str, folder: Path) -> None:
    assert findings(driver, axe, (folder / "report.html").as_uri()) == []


def test_the_review_has_no_serious_finding(driver, axe: str, folder: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    words = ["review", str(folder), "--port", "0", "--no-browser", "--reviewer", "Ann"]
    with subprocess.Popen(
        [sys.executable, "-m", "quietgraph", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            link = server.stdout.readline().removeprefix("review: ").strip()
            assert findings(driver, axe, link) == []
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    pytest.importorskip("mkdocs", reason="the site is built by mkdocs: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(out)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return out


@pytest.fixture(scope="module")
def site(site_folder: Path) -> Iterator[str]:
    """Serve the site; its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=site_folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_site_has_no_serious_finding(driver, axe: str, site: str) -> None:
    assert [one for page in PAGES for one in findings(driver, axe, f"{site}/{page}.html")] == []


@pytest.mark.slow
def test_no_page_of_the_site_has_a_serious_finding(
    driver, axe: str, site: str, site_folder: Path
) -> None:
    pages = [page.relative_to(site_folder) for page in sorted(site_folder.rglob("*.html"))]
    assert len(pages) > len(PAGES)
    assert [one for page in pages for one in findings(driver, axe, f"{site}/{page}")] == []
