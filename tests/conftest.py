"""What all tests share: one thread a process, and no real data unless they are there."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "QUIETGRAPH_DATA" in os.environ:
        return
    missing = pytest.mark.skip(reason="QUIETGRAPH_DATA names no folder of datasets")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(missing)
