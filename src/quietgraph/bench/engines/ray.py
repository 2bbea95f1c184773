"""Runs on a Ray cluster: one task a run, rows written by the process that asked."""

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import ModuleType
from typing import Any

import psutil

from quietgraph.bench.engines.worker import BEGUN, carry_out
from quietgraph.bench.grid import RunQueue
from quietgraph.bench.protocol import Run, failure
from quietgraph.bench.record import Record, Status
from quietgraph.errors import QuietgraphError
from quietgraph.extras import import_extra

_POLL_SECONDS = 0.1
_WAIT_SECONDS = 5.0  # for a cluster to answer
_QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else every task without a GPU warns
}


class UnreachableClusterError(QuietgraphError):
    """No Ray cluster answers at the given address."""


@dataclass(frozen=True)
class RayEngine:
    """Carries out runs as tasks of one CPU each; a run that fails, hangs or swells becomes a row.

    The machines of the cluster need this version of quietgraph and, under the same paths, the
    data; they share embeddings where they share the cache folder.

    Attributes:
        address: Of the cluster; `local` starts one on this machine. Without it the cluster that
            Ray finds (RAY_ADDRESS, or one started here) is used, else one is started.
        time_limit: Seconds a run may take, not counting the wait for a free CPU.
        jobs: Most runs at a time; as many as the cluster has CPUs by default.
    """

    address: str | None = None
    time_limit: float | None = None
    jobs: int | None = None

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        """Yield the record of each run as it finishes; cancel the tasks when the caller stops."""
        ray = _import_ray()
        is_ours = _connect(ray, self.address, self.jobs)
        task = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_task)
        queue, flights = RunQueue(runs), dict[Any, _Flight]()
        try:
            while queue.waiting or flights:
                while len(flights) < self._seats(ray) and (run := queue.take()) is not None:
                    flights[task.remote(run)] = _Flight(run)
                landed = chain(_received(ray, flights), self._overdue(ray, flights))
                for record, run in landed:
                    queue.finish(run, is_done=record.status == "done")
                    yield record
        finally:
            for stream in flights:
                ray.cancel(stream, force=True)
            if is_ours:
                ray.shutdown()

    def _seats(self, ray: ModuleType) -> int:
        return self.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _overdue(
        self, ray: ModuleType, flights: dict[object, "_Flight"]
    ) -> Iterator[tuple[Record, Run]]:
        for stream, flight in list(flights.items()):
            if self.time_limit is not None and flight.seconds > self.time_limit:
                ray.cancel(stream, force=True)
                del flights[stream]
                yield flight.fail("timeout", f"longer than {self.time_limit:g} s"), flight.run


@dataclass
class _Flight:
    """A task that was sent off."""

    run: Run
    began: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self.began is None else time.monotonic() - self.began

    def fail(self, status: Status, reason: str) -> Record:
        return replace(failure(self.run, status, reason, self.seconds), peak_memory_mb=0.0)


def _received(ray: ModuleType, flights: dict[object, _Flight]) -> Iterator[tuple[Record, Run]]:
    """Yield what tasks have finished, or died of, within a moment."""
    if not flights:
        return
    ready, _ = ray.wait(list(flights), num_returns=1, timeout=_POLL_SECONDS, fetch_local=False)
    for stream in ready:
        flight = flights[stream]
        record = _receive(ray, stream, flight)
        if record is not None:
            del flights[stream]
            yield record, flight.run


def _receive(ray: ModuleType, stream: Any, flight: _Flight) -> Record | None:
    """Return what a task has sent: a record, or None when it only begins."""
    try:
        message = ray.get(next(stream))
    except ray.exceptions.OutOfMemoryError:
        return flight.fail("out-of-memory", "stopped by Ray for want of memory")
    except (ray.exceptions.RayError, StopIteration) as error:
        return flight.fail("failed", f"the task ended early: {_words(error)}")
    if message == BEGUN:
        flight.began = time.monotonic()
        return None
    record: Record = message
    if record.key != flight.run.key():
        return flight.fail("failed", "the cluster runs another version of quietgraph than this")
    return record


def _task(run: Run) -> Iterator[str | Record]:
    yield BEGUN
    with _PeakMemory() as memory:
        record = carry_out(run)
    yield replace(record, peak_memory_mb=round(memory.peak_mb, 1))


class _PeakMemory:
    """Measures the resident memory of this process every now and then, inside a `with` block."""

    def __enter__(self) -> "_PeakMemory":
        self.peak_mb = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process()
        while True:
            self.peak_mb = max(self.peak_mb, process.memory_info().rss / 2**20)
            if self._is_over.wait(_POLL_SECONDS):
                return


def _import_ray() -> ModuleType:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    return import_extra("ray", "the engine ray")


def _connect(ray: ModuleType, address: str | None, jobs: int | None) -> bool:
    """Return whether a connection was made here; one that is there already is used and kept."""
    if ray.is_initialized():
        return False
    if address not in {None, "local"}:
        _join(ray, str(address))
        return True
    if address is None:
        try:
            ray.init(address="auto", **_QUIET)
        except ConnectionError:
            pass  # none is running: start one
        else:
            return True
    ray.init(address="local", num_cpus=jobs, _node_ip_address="127.0.0.1", **_QUIET)
    return True


def _join(ray: ModuleType, address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdecimal():  # ray itself waits minutes for an address where nobody is
            socket.create_connection((host, int(port)), timeout=_WAIT_SECONDS).close()
        ray.init(address=address, **_QUIET)
    except (OSError, ValueError, RuntimeError) as error:
        raise UnreachableClusterError(
            f"no Ray cluster answers at '{address}' ({_words(error)}). "
            "Start one with `ray start --head`, or leave --address out."
        ) from error


def _words(error: Exception) -> str:
    """Return the error on one line, without the colours that Ray gives it."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", f"{type(error).__name__}: {error}")
    return " ".join(plain.split())[:300]
