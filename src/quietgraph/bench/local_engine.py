"""Runs on this machine: worker processes of one thread each, watched by the process that writes."""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import psutil
import torch

from quietgraph.bench.grid import embedding_group
from quietgraph.bench.protocol import Run, execute, failure
from quietgraph.bench.record import Record
from quietgraph.errors import QuietgraphError

_POLL_SECONDS = 0.1
_CONTEXT = multiprocessing.get_context("spawn")  # a forked torch may hang on its thread pool


@dataclass(frozen=True)
class LocalEngine:
    """Carries out runs in parallel processes; a run that fails, hangs or swells becomes a row."""

    jobs: int = 1
    time_limit: float | None = None  # seconds a run may take
    memory_limit_mb: float | None = None  # resident memory a worker may reach

    def records(self, runs: Sequence[Run]) -> Iterator[Record]:
        """Yield the record of each run as it finishes; stop the workers when the caller stops."""
        waiting = list(runs)
        seats = [_Seat() for _ in range(min(self.jobs, len(waiting)))]
        warmed: set[str] = set()
        try:
            while waiting or any(seat.run for seat in seats):
                self._seat(waiting, seats, warmed)
                busy = {seat.pipe: seat for seat in seats if seat.run}
                for pipe in wait([p for p in busy if p], timeout=_POLL_SECONDS):
                    seat = busy[pipe]  # type: ignore[index]
                    warmed |= embedding_group(seat.current)
                    yield seat.receive()
                yield from self._watch(seats)
        finally:
            for seat in seats:
                seat.stop()

    def _seat(self, waiting: list[Run], seats: list["_Seat"], warmed: set[str]) -> None:
        """Give free workers the next runs; one whose embeddings are being computed waits."""
        for seat in seats:
            if seat.run or not waiting:
                continue
            cold = {group for s in seats if s.run for group in embedding_group(s.run)} - warmed
            for index, run in enumerate(waiting):
                if not (cold & embedding_group(run)):
                    seat.start(waiting.pop(index))
                    break

    def _watch(self, seats: list["_Seat"]) -> Iterator[Record]:
        """Yield the records of runs that must be stopped or whose worker died."""
        for seat in seats:
            if not seat.run:
                continue
            memory = seat.measure_memory()
            if self.time_limit is not None and seat.seconds > self.time_limit:
                yield seat.fail("timeout", f"longer than {self.time_limit:g} s")
            elif self.memory_limit_mb is not None and memory > self.memory_limit_mb:
                yield seat.fail("out-of-memory", f"more than {self.memory_limit_mb:g} MB")
            elif not seat.is_alive() and not (seat.pipe and seat.pipe.poll()):
                yield seat.fail(*seat.explain_death())


@dataclass
class _Seat:
    """A place for one worker process and the run it is busy with."""

    process: BaseProcess | None = None
    pipe: "Connection[Any, Any] | None" = None
    run: Run | None = None
    started: float = 0.0
    peak_mb: float = field(default=0.0)

    @property
    def current(self) -> Run:
        assert self.run is not None  # noqa: S101
        return self.run

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def start(self, run: Run) -> None:
        if self.process is None or not self.process.is_alive():
            self.pipe, theirs = _CONTEXT.Pipe()
            self.process = _CONTEXT.Process(target=_work, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        self.run, self.started, self.peak_mb = run, time.monotonic(), 0.0
        if self.pipe is not None:
            self.pipe.send(run)

    def receive(self) -> Record:
        run = self.current
        try:
            record: Record = self.pipe.recv()  # type: ignore[union-attr]
        except (EOFError, OSError):
            return self.fail(*self.explain_death())
        self.measure_memory()
        self.run = None
        return replace(record, key=run.key(), peak_memory_mb=round(self.peak_mb, 1))

    def fail(self, status: str, reason: str) -> Record:
        run, seconds = self.current, self.seconds
        self.stop()
        return replace(failure(run, status, reason, seconds), peak_memory_mb=round(self.peak_mb, 1))

    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_alive()

    def explain_death(self) -> tuple[str, str]:
        code = None
        if self.process is not None:
            self.process.join(timeout=1)
            code = self.process.exitcode
        if code == -signal.SIGKILL:  # nobody else sends it to our children
            return "out-of-memory", "killed by the system, most likely for want of memory"
        return "failed", f"the worker ended with exit code {code}"

    def measure_memory(self) -> float:
        try:
            resident = psutil.Process(self.process.pid).memory_info().rss / 2**20  # type: ignore[union-attr]
        except psutil.Error:
            resident = 0.0
        self.peak_mb = max(self.peak_mb, resident)
        return float(resident)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = self.run = None


def _work(pipe: "Connection[Any, Any]") -> None:
    """Carry out runs until the parent goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    while True:
        try:
            run = pipe.recv()
        except EOFError:
            return
        clock = time.perf_counter()
        try:
            record = execute(run)
        except MemoryError as error:
            record = failure(run, "out-of-memory", str(error), time.perf_counter() - clock)
        except Exception as error:  # whatever a method raises becomes a row
            record = failure(run, "failed", _sentence(error), time.perf_counter() - clock)
        pipe.send(record)


def _sentence(error: Exception) -> str:
    if isinstance(error, QuietgraphError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"
