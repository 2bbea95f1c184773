"""Runs on this machine: worker processes of one thread each, which end with the process that started them."""

import contextlib
import json
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import cloudpickle
import torch

from quietgraph.bench.execute import Row, Run, execute_batch

_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_COMMAND: Final = (sys.executable, "-c", "from quietgraph.bench.workers import serve; serve()")


def carry_out(batches: Sequence[list[Run]], *, jobs: int, time_limit: float | None) -> Iterator[Row]:
    """Give a row for each run of the batches as it finishes.

    A run that takes longer than the time limit, or whose worker is killed, becomes a row; the others of its batch go
    to another worker. Closing the iterator ends the workers at once.
    """
    waiting, rows = deque(batches), queue.SimpleQueue[Row | Exception]()
    workers = [_Worker(waiting, rows, time_limit) for _ in range(min(jobs, len(batches)))]
    for worker in workers:
        worker.start()
    try:
        for _ in range(sum(map(len, batches))):
            row = rows.get()
            if isinstance(row, Exception):
                raise row
            yield row
    finally:
        waiting.clear()
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()


class _Worker(threading.Thread):
    """Hands batches to a process of its own, one after the other, and takes its rows."""

    def __init__(
        self, waiting: deque[list[Run]], rows: "queue.SimpleQueue[Row | Exception]", limit: float | None
    ) -> None:
        super().__init__(daemon=True)
        self.waiting, self.rows, self.limit = waiting, rows, limit
        self.process: Any = None
        self.lock, self.is_over = threading.Lock(), False

    def run(self) -> None:
        try:
            with contextlib.suppress(IndexError):  # nothing is waiting any more
                while True:
                    self._batch(self.waiting.popleft())
        except Exception as error:
            self.rows.put(error)
        finally:
            self._end()

    def stop(self) -> None:
        """End the process, and start no other; a run under way is lost."""
        with self.lock:
            self.is_over = True
            if self.process is not None:
                self.process.kill()

    def _batch(self, runs: list[Run]) -> None:
        with self.lock:
            if self.is_over:
                return
            if self.process is None:  # in a session of its own: Ctrl-C is for the parent to handle
                environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
                pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
                self.process = subprocess.Popen(_COMMAND, env=environment, **pipes)  # noqa: S603
            process = self.process
        with contextlib.suppress(OSError):  # where the process is gone, the first row does not come
            batch = cloudpickle.dumps(runs)
            process.stdin.write(len(batch).to_bytes(8, "big") + batch)
            process.stdin.flush()
            process.stdout.readline()  # it has the batch: time counts from here
        for place, run in enumerate(runs):
            clock, started = threading.Timer(self.limit or 0, process.kill), time.monotonic()
            if self.limit is not None:
                clock.start()
            line = process.stdout.readline()
            clock.cancel()
            if not line.endswith(b"\n"):
                if runs[place + 1 :]:
                    self.waiting.appendleft(runs[place + 1 :])
                self.rows.put(self._loss(run, time.monotonic() - started, self._end()))
                return
            self.rows.put(json.loads(line))

    def _end(self) -> int:
        """End the process and return its exit code; only this thread closes the pipes it reads from."""
        with self.lock:
            process, self.process = self.process, None
        if process is None:
            return 0
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        return int(process.wait())

    def _loss(self, run: Run, seconds: float, code: int) -> Row:
        if self.limit is not None and seconds >= self.limit:
            return run.row("timeout", reason=f"longer than {self.limit:g} s", seconds=seconds)
        words = "was killed, perhaps for want of memory" if code < 0 else f"ended with exit code {code}"
        return run.row("failed", reason=f"the worker process {words}", seconds=seconds)


def serve() -> None:
    """Carry out batches from standard input, a row a line on standard output, until the parent is gone."""
    torch.set_num_threads(1)
    output, batches = os.fdopen(os.dup(1), "w"), queue.SimpleQueue[bytes]()
    os.dup2(2, 1)  # what a method prints is no row
    threading.Thread(target=_receive, args=(batches,), daemon=True).start()
    while True:
        runs = pickle.loads(batches.get())  # noqa: S301 (written by the parent)
        print(file=output, flush=True)
        for row in execute_batch(runs):
            print(json.dumps(row), file=output, flush=True)


def _receive(batches: "queue.SimpleQueue[bytes]") -> None:
    while header := sys.stdin.buffer.read(8):
        batches.put(sys.stdin.buffer.read(int.from_bytes(header, "big")))
    os._exit(0)
