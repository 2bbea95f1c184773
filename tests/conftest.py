"""What all tests share: one thread a process, and no real data unless they are there."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from paths import ROOT

if TYPE_CHECKING:
    from quietgraph.report.fit_run import FitRun

torch.set_num_threads(1)


# Folders and files whose tests start processes or a browser, or fit whole methods.
INTEGRATION = (
    *("browser", "contract", "docs", "install", "golden/test_answers.py", "studies"),
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


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Commands that tests call may set another number, by which later sums round otherwise."""
    yield
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture
def data_root() -> Path:
    """The folder of real datasets; for tests marked `data`."""
    return Path(os.environ["QUIETGRAPH_DATA"])


@pytest.fixture(scope="session")
def study() -> ModuleType:
    """The study whose slow twins of noise estimate and bound are tested against ours."""
    spec = importlib.util.spec_from_file_location(
        "benchmark_diagnostics", ROOT / "studies" / "diagnostics.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up here
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> "FitRun":
    """A fit on own data with awkward names."""
    from report_problem import own_run

    return own_run(tmp_path_factory.mktemp("own") / "graph")


@pytest.fixture(scope="session")
def written(run: "FitRun", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its run folder, which no test changes."""
    from quietgraph.report.write_run import write_run

    return write_run(run, tmp_path_factory.mktemp("written") / "run")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(written, tmp_path / "run"))
