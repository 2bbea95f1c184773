"""A sweep that survives: only what is missing is run, every finished run is kept at once."""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from quietgraph.bench.grid import longest_first
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record
from quietgraph.bench.store import Store


class Engine(Protocol):
    """Where runs are carried out."""

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        """Yield the record of each run as it finishes; closing it ends what is under way."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    done: int
    total: int
    seconds_left: float | None
    last: Record | None


def run_sweep(
    runs: Sequence[Run],
    store: Store,
    engine: Engine,
    *,
    retry_failures: bool = True,
    tell: Callable[[Progress], None] | None = None,
) -> list[Record]:
    """Carry out what the store does not have yet and return the new records.

    Stopping at any moment loses at most the runs under way: each record is written in a
    transaction of its own, by this process alone.
    """
    keys = {run: run.key() for run in runs}
    finished = store.finished(keys.values(), keep_failures=not retry_failures)
    absent = [run for run in runs if keys[run].digest not in finished]
    missing = longest_first(absent, _durations(store))
    clock = _Clock(missing)
    new: list[Record] = []
    tell = tell or (lambda _: None)
    tell(Progress(len(runs) - len(missing), len(runs), None, None))
    # Closed at once when anything is raised here, Ctrl-C included: no worker outlives the sweep.
    with closing(engine.records(missing)) as finished_runs:
        for record in finished_runs:
            store.add(record)
            new.append(record)
            clock.tick(record)
            done = len(runs) - len(missing) + len(new)
            tell(Progress(done, len(runs), clock.seconds_left(), record))
    return new


class _Clock:
    """Estimates what remains: mean durations of what is left, at the pace of this sweep so far."""

    def __init__(self, runs: list[Run]) -> None:
        self.left = Counter((run.dataset, str(run.variant)) for run in runs)
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.started = time.monotonic()

    def tick(self, record: Record) -> None:
        cell = (record.key.dataset, record.key.method)
        self.left[cell] -= 1
        self.seconds.setdefault(cell, []).append(record.seconds)

    def seconds_left(self) -> float:
        every = [value for values in self.seconds.values() for value in values]
        overall = sum(every) / len(every)
        means = {cell: sum(values) / len(values) for cell, values in self.seconds.items()}
        expected = sum(count * means.get(cell, overall) for cell, count in self.left.items())
        # Seconds of waiting for a second of work: below 1 with several workers.
        pace = (time.monotonic() - self.started) / max(sum(every), 1e-9)
        return expected * pace


def _durations(store: Store) -> dict[tuple[str, str], float]:
    sums: dict[tuple[str, str], list[float]] = {}
    for record in store.records(status="done"):
        sums.setdefault((record.key.dataset, record.key.method), []).append(record.seconds)
    return {key: sum(values) / len(values) for key, values in sums.items()}
