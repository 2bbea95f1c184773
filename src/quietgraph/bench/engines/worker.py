"""What happens inside a worker process: one thread, one run after the other, rows for failures."""

import ctypes
import gc
import multiprocessing
import os
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

import torch

from quietgraph.bench.protocol import Run, execute, failure
from quietgraph.bench.record import Record, Status
from quietgraph.errors import QuietgraphError

BEGUN = "begun"  # said by a worker when it starts on a run, so that its own start is not counted
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)  # read by numerical libraries when they are loaded, so set before a worker starts


def work(pipe: "Connection[Any, Any]") -> None:
    """Carry out the runs that come through the pipe until the parent goes away."""
    end_with_parent()
    while True:
        try:
            run = pipe.recv()
            pipe.send(BEGUN)
            pipe.send(carry_out(run))
        except (EOFError, OSError):  # nobody is at the other end
            return


def carry_out(run: Run) -> Record:
    """Return the record of a run, on one thread; whatever it raises becomes a row."""
    torch.set_num_threads(1)
    clock = time.perf_counter()
    try:
        return execute(run)
    except MemoryError as error:
        return failure(run, "out-of-memory", _sentence(error), time.perf_counter() - clock)
    except Exception as error:
        is_memory = "not enough memory" in str(error)  # torch's allocator raises RuntimeError
        status: Status = "out-of-memory" if is_memory else "failed"
        return failure(run, status, _sentence(error), time.perf_counter() - clock)
    finally:
        release_memory()


def release_memory() -> None:
    """Give back what finished runs have left, or a worker grows by tens of MB a run.

    The C library keeps freed memory in pieces between others; on Linux it is told to return them.
    """
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not in every C library
        if trim is not None:
            trim(0)


def end_with_parent() -> None:
    """Let this process end when its parent is gone, also in the middle of a run."""
    threading.Thread(target=_wait_for_end_of_parent, daemon=True).start()


def _wait_for_end_of_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _sentence(error: Exception) -> str:
    if isinstance(error, QuietgraphError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words} ({os.path.basename(place.filename)}:{place.lineno})"
