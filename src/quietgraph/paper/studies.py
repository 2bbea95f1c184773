"""Runs of which more is asked than an accuracy: bound terms, projections, five-fold scores."""

import datetime
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from quietgraph.bench.engines.worker import ONE_THREAD, release_memory
from quietgraph.bench.protocol import Run, failure, versions
from quietgraph.bench.record import Record
from quietgraph.bench.theory import Study, bound_numbers, study
from quietgraph.bench.tuning import Goal
from quietgraph.errors import QuietgraphError

FREE_SHARE = 0.2  # of min(N, d): the rank at which the paper reads off its concentration ratios


def theory_numbers(run: Run) -> dict[str, float]:
    """Return bound terms and the fractions of labels and label noise on the leading directions."""
    found = study(run)
    signal_held, noise_held = leading_shares(found)
    return bound_numbers(found) | {"labels_held": signal_held, "noise_held": noise_held}


def leading_shares(found: Study) -> tuple[float, float]:
    """Return what the first 0.2 min(N, d) directions hold of labels and of noise (NaN: none)."""
    diagnosis = found.diagnosis
    # Rounded as in the figure, so that both read off the same rank.
    rank = max(1, round(FREE_SHARE * min(diagnosis.num_nodes, diagnosis.dim)))
    noise = diagnosis.noise
    held = float("nan") if noise is None else noise.concentration_at(rank)
    return diagnosis.signal.concentration_at(rank), held


def fold_numbers(run: Run) -> dict[str, float]:
    """Return the five-fold accuracy on noisy training labels: no clean label is looked at."""
    goal = Goal(run.dataset, run.variant, run.noise, (run.seed,), "folds", run.split, run.data_root)
    return {"fold_accuracy": goal.score({})}


@dataclass(frozen=True)
class StudyEngine:
    """Carries out studies in processes of one thread each; what fails becomes a row."""

    numbers: Callable[[Run], dict[str, float]]
    jobs: int = 1

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        """Yield the record of each run as it finishes."""
        if not runs:
            return
        context, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
        with _one_thread(), ProcessPoolExecutor(self.jobs, context, _prepare) as pool:
            try:
                waiting = [pool.submit(carry_out, run, self.numbers) for run in runs]
                for future in as_completed(waiting):
                    yield future.result()
            except BrokenProcessPool as error:
                raise QuietgraphError(
                    "a worker process was ended from outside, probably for want of memory. "
                    "Start again with fewer --jobs: finished runs are kept."
                ) from error
            except BaseException:  # the caller stops: nobody waits for the runs under way
                pool.shutdown(wait=False, cancel_futures=True)
                for child in set(multiprocessing.active_children()) - set(others):
                    child.kill()
                raise


def carry_out(run: Run, numbers: Callable[[Run], dict[str, float]]) -> Record:
    """Return the record of a study; whatever it raises becomes a row."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.perf_counter()
    try:
        metrics = numbers(run)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        record = failure(run, "failed", words, time.perf_counter() - clock)
        return replace(record, peak_memory_mb=_peak_mb())
    finally:
        release_memory()
    return Record(
        key=run.key(),
        status="done",
        seconds=time.perf_counter() - clock,
        peak_memory_mb=_peak_mb(),
        started=started,
        metrics=metrics,
        versions=versions(),
    )


def _peak_mb() -> float:
    """Return the most memory that this process has held so far, in MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    torch.set_num_threads(1)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that start inside load their numerical libraries with one thread."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
