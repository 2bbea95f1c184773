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
    limit = threading.TIMEOUT_MAX if time_limit is None else time_limit
    workers = [_Worker(waiting, rows, limit) for _ in range(min(jobs, len(batches)))]
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

    def __init__(self, waiting: deque[list[Run]], rows: "queue.SimpleQueue[Row | Exception]", limit: float) -> None:
        super().__init__(daemon=True)
        self.waiting, self.rows, self.limit = waiting, rows, limit
        self.process: Any = None
        self.is_over = False

    def run(self) -> None:
        try:
            with contextlib.suppress(IndexError):  # nothing is waiting any more
                while not self.is_over:
                    self._batch(self.waiting.popleft())
        except Exception as error:
            self.rows.put(error)
        finally:
            self._end()

    def stop(self) -> None:
        """End the process, and use no other; a run under way is lost."""
        self.is_over = True
        process = self.process
        if process is not None:
            process.kill()

    def _batch(self, runs: list[Run]) -> None:
        if self.process is None:  # in a session of its own: Ctrl-C is for the parent to handle
            environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
            self.process = subprocess.Popen(_COMMAND, env=environment, **pipes)  # noqa: S603
        process = self.process
        if self.is_over:  # looked at after the process is known, as `stop` looks for the process after it says so
            return
        with contextlib.suppress(OSError):  # where the process is gone, the first row does not come
            batch = cloudpickle.dumps(runs)
            process.stdin.write(len(batch).to_bytes(8, "big") + batch)
            process.stdin.flush()
            process.stdout.readline()  # it has the batch: time counts from here
        for place, run in enumerate(runs):
            clock, started = threading.Timer(self.limit, process.kill), time.monotonic()
            clock.start()
            line = process.stdout.readline()
            clock.cancel()
            if line.endswith(b"\n"):
                self.rows.put(json.loads(line))
                continue
            seconds, code, status = time.monotonic() - started, self._end(), "failed"
            reason = f"the worker process ended with exit code {code}"
            if seconds >= self.limit:
                status, reason = "timeout", f"longer than {self.limit:g} s"
            elif code < 0:
                reason = "the worker process was killed, perhaps for want of memory"
            if runs[place + 1 :]:
                self.waiting.appendleft(runs[place + 1 :])
            self.rows.put(run.row(status, reason=reason, seconds=seconds))
            return

    def _end(self) -> int:
        """End the process and return its exit code; only this thread closes the pipes it reads from."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        return int(process.wait())


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
