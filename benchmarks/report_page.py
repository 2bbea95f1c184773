"""How large the report of a graph is, and how fast a browser opens it.

    python benchmarks/report_page.py [NODES]

Prints the size of report.html and the seconds from asking for it until the table and the map are
drawn, in headless Chromium, three times. Needs chromium, chromedriver and selenium.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from chromium import open_chromium
from quietgraph.report.write_run import write_run
from report_problem import large_run

DRAWN = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


def main(nodes: int) -> None:
    run = large_run(nodes)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        page = write_run(run, Path(folder) / "run") / "report.html"
        print(f"{nodes:,} nodes: {page.stat().st_size / 1e6:.2f} MB,", end=" ")
        print(f"run folder written in {time.perf_counter() - started:.1f} s")
        driver = open_chromium()
        for _ in range(3):
            started = time.perf_counter()
            driver.get(page.as_uri())
            driver.execute_async_script(DRAWN)
            print(f"opened and drawn in {time.perf_counter() - started:.2f} s")
        driver.quit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
