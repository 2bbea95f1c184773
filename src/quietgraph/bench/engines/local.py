"""Runs on this machine: worker processes of one thread each, watched by the process that writes."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

from quietgraph.bench.engines.worker import BEGUN, ONE_THREAD, work
from quietgraph.bench.grid import RunQueue
from quietgraph.bench.protocol import Run, failure
from quietgraph.bench.record import Record, Status

_POLL_SECONDS = 0.1
_START_SECONDS = 60.0  # that a worker may take to start before the time of its run counts
_RESERVE_MB = 200.0  # of the machine's memory, below which its largest worker must end
_CONTEXT = multiprocessing.get_context("spawn")  # a forked torch may hang on its thread pool


@dataclass(frozen=True)
class LocalEngine:
    """Carries out runs in parallel processes; a run that fails, hangs or swells becomes a row."""

    jobs: int = 1
    time_limit: float | None = None  # seconds a run may take
    memory_limit_mb: float | None = None  # resident memory a worker may reach

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        """Yield the record of each run as it finishes; stop the workers when the caller stops."""
        queue = RunQueue(runs)
        seats = [_Seat() for _ in range(min(self.jobs, len(runs)))]
        try:
            while queue.waiting or any(seat.run for seat in seats):
                for seat in seats:
                    if seat.run is None and (run := queue.take()) is not None:
                        seat.start(run)
                for record, run in chain(_received(seats), self._stopped(seats)):
                    queue.finish(run, is_done=record.status == "done")
                    yield record
        finally:
            for seat in seats:
                seat.stop()

    def _stopped(self, seats: list["_Seat"]) -> Iterator[tuple[Record, Run]]:
        """Yield what becomes of runs that take too much time or memory, after stopping them."""
        busy = [seat for seat in seats if seat.run is not None]
        for seat in busy:
            run, memory = seat.current, seat.measure_memory()
            if self.time_limit is not None and seat.seconds > self.time_limit:
                yield seat.fail("timeout", f"longer than {self.time_limit:g} s"), run
            elif self.memory_limit_mb is not None and memory > self.memory_limit_mb:
                yield seat.fail("out-of-memory", f"more than {self.memory_limit_mb:g} MB"), run
        left = psutil.virtual_memory().available / 2**20
        largest = max(busy, key=lambda seat: seat.memory_mb, default=None)
        if left < _RESERVE_MB and largest is not None and largest.run is not None:
            run, used = largest.current, largest.memory_mb
            reason = f"the machine had only {left:.0f} MB left, this run used {used:.0f} MB"
            yield largest.fail("out-of-memory", reason), run


def _received(seats: list["_Seat"]) -> Iterator[tuple[Record, Run]]:
    """Yield what workers have finished, or died of, within a moment."""
    busy = {seat.pipe: seat for seat in seats if seat.run is not None and seat.pipe is not None}
    for pipe in wait(list(busy), timeout=_POLL_SECONDS):
        seat = busy[pipe]  # type: ignore[index]
        run = seat.current
        record = seat.receive()
        if record is not None:
            yield record, run


@dataclass
class _Seat:
    """A place for one worker process and the run it is busy with."""

    process: BaseProcess | None = None
    pipe: "Connection[Any, Any] | None" = None
    run: Run | None = None
    started: float = 0.0
    memory_mb: float = 0.0
    peak_mb: float = 0.0

    @property
    def current(self) -> Run:
        assert self.run is not None  # noqa: S101
        return self.run

    @property
    def seconds(self) -> float:
        return max(0.0, time.monotonic() - self.started)

    def start(self, run: Run) -> None:
        """Hand the run to a worker; a worker that died while it was idle is replaced."""
        self.run, self.peak_mb = run, 0.0
        self.started = time.monotonic() + _START_SECONDS  # corrected when the worker begins
        if self.process is not None and self._send():
            return
        self._end_process()
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=work, args=(theirs,), daemon=True)
        with _worker_surroundings():
            self.process.start()
        theirs.close()
        self._send()  # where it fails, the pipe is at its end, and `receive` tells why

    def receive(self) -> Record | None:
        """Return what the worker has sent: a record, or None when it only begins."""
        try:
            message = self.pipe.recv()  # type: ignore[union-attr]
        except (EOFError, OSError):
            return self.fail(*self._explain_death())
        self.measure_memory()
        if message == BEGUN:
            self.started = time.monotonic()
            return None
        self.run = None
        record: Record = message
        return replace(record, peak_memory_mb=round(self.peak_mb, 1))

    def fail(self, status: Status, reason: str) -> Record:
        """Stop the worker and return the record of its run."""
        run, seconds = self.current, self.seconds
        self.stop()
        return replace(failure(run, status, reason, seconds), peak_memory_mb=round(self.peak_mb, 1))

    def measure_memory(self) -> float:
        """Return the resident memory of the worker in MB, 0 where it has ended."""
        self.memory_mb = 0.0
        if self.process is not None:
            with contextlib.suppress(psutil.Error):
                self.memory_mb = psutil.Process(self.process.pid).memory_info().rss / 2**20
        self.peak_mb = max(self.peak_mb, self.memory_mb)
        return self.memory_mb

    def stop(self) -> None:
        """End the worker at once; stopping twice is harmless."""
        self._end_process()
        self.run = None

    def _send(self) -> bool:
        try:
            self.pipe.send(self.run)  # type: ignore[union-attr]
        except OSError:
            return False
        return True

    def _explain_death(self) -> tuple[Status, str]:
        code = None
        if self.process is not None:
            self.process.join(timeout=1)
            code = self.process.exitcode
        if code == -signal.SIGKILL:  # nobody else sends it to our children
            return "out-of-memory", "killed by the system, probably for want of memory"
        return "failed", f"the worker process ended with exit code {code}"

    def _end_process(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None


@contextlib.contextmanager
def _worker_surroundings() -> Iterator[None]:
    """Let a process that starts inside inherit one-thread libraries and deafness to Ctrl-C.

    The parent decides what Ctrl-C means; one that comes meanwhile reaches it afterwards.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
