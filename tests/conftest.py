"""What all tests share: one thread a process, and no real data unless they are there."""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

torch.set_num_threads(1)


# Folders and files whose tests start processes or a browser, or fit whole methods.
INTEGRATION = (
    *("browser", "contract", "docs", "golden/test_answers.py", "studies"),
    *("bench/engines", "bench/test_runner.py", "bench/test_tuning.py"),
    *("cli/test_app.py", "cli/test_own_data.py", "cli/test_review.py"),
    *("embed/scale/test_distributed.py", "methods/quiet", "paper/test_paper_smoke.py"),
    *("report/test_html.py", "review/test_server.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason="QUIETGRAPH_DATA names no folder of datasets")
    places = [Path(__file__).parent / name for name in INTEGRATION]
    for item in items:
        if any(item.path.is_relative_to(place) for place in places):
            item.add_marker(pytest.mark.integration)
        if item.get_closest_marker("data") and "QUIETGRAPH_DATA" not in os.environ:
            item.add_marker(missing)


@pytest.fixture
def data_root() -> Path:
    """The folder of real datasets; for tests marked `data`."""
    return Path(os.environ["QUIETGRAPH_DATA"])
