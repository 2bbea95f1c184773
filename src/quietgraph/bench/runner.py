"""A sweep: only missing runs are run, and every finished one is stored at once."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from quietgraph.bench.costs import Costs, Plan, make_plan
from quietgraph.bench.embedding_groups import learned_groups
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
    plan = plan_sweep(runs, absent, store.to_frame())
    missing, clock = plan.runs, _Clock(plan)
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


def plan_sweep(runs: Sequence[Run], missing: Sequence[Run], finished: pd.DataFrame) -> Plan:
    """Return the missing runs in their order, with expected seconds.

    Args:
        runs: All runs of the sweep.
        missing: Those to carry out.
        finished: Runs that tell what others will cost, as a store gives them.
    """
    cache, waiting = (runs[0].cache if runs else None), set(missing)
    done = [run for run in runs if run not in waiting]
    there = learned_groups(missing, done, cache=cache)
    return make_plan(missing, Costs.of(finished, cache=cache), learned=there)


class _Clock:
    """Estimates what remains: expected seconds of what is left, at the pace of this sweep."""

    def __init__(self, plan: Plan) -> None:
        self.left = {run.key().digest: plan.seconds[run] for run in plan.runs}
        self.done = 0.0
        self.started = time.monotonic()

    def tick(self, record: Record) -> None:
        self.done += self.left.pop(record.key.digest, 0.0)

    def seconds_left(self) -> float:
        # Seconds of waiting for an expected second of work: below 1 with several workers.
        pace = (time.monotonic() - self.started) / max(self.done, 1e-9)
        return sum(self.left.values()) * pace
