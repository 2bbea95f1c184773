"""What a worker does around a run."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from quietgraph.bench.engines import worker
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record


class _Circle:
    """Refers to itself, so that counting references never frees it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_a_run_leaves_no_memory_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[weakref.ref[_Circle]] = []

    def run_that_leaves_something(run: Run) -> Record:
        left.append(weakref.ref(_Circle()))
        raise ValueError("no result")

    monkeypatch.setattr(worker, "execute", run_that_leaves_something)
    found = worker.carry_out(Run.parse("sbm", "gcn", "none", 0))
    assert found.status == "failed"
    assert left[0]() is None
