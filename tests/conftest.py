"""What all tests share: one thread a process, real data only where they are, a small problem."""

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from quietgraph.data.data import Data

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason="QUIETGRAPH_DATA names no folder of datasets")
    for item in items:
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
def problem() -> Data:
    """Forty nodes of three classes; one has no edges, one no features."""
    from quietgraph.testing import small_data

    return small_data()
