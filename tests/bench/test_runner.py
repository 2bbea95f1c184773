"""Sweeps: only what is missing, rows for what goes wrong, and nothing lost when killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from quietgraph.bench.engines import local as local_engine
from quietgraph.bench.engines.local import LocalEngine
from quietgraph.bench.engines.worker import carry_out
from quietgraph.bench.grid import Grid
from quietgraph.bench.protocol import Run, failure
from quietgraph.bench.record import Record
from quietgraph.bench.runner import Progress, run_sweep
from quietgraph.bench.store import Store
from quietgraph.bench.variant import parse_variant
from quietgraph.methods.low_rank.gcl_lrr import GCLLRR

QUICK = "gcn:epochs=5:hidden=8"
DIVERGING = "gcn:learning_rate=1e30"
ENDLESS = "gcn:epochs=1000000"
TINY_TWO_STAGE = "gcl-lrr:epochs=2:warm_up=0:dim=8:hidden=8:anchors=50"


def runs_of(variant: str, count: int) -> list[Run]:
    return [Run.parse("sbm", variant, "symmetric:0.3", seed) for seed in range(count)]


class InThisProcess:
    """An engine without workers that notes what it was given, and whether it was closed."""

    def __init__(self) -> None:
        self.given: list[Run] = []
        self.is_closed = False

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        self.given = list(runs)
        try:
            for run in runs:
                yield replace(carry_out(run), peak_memory_mb=1.0)
        finally:
            self.is_closed = True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


def test_what_the_store_has_is_not_run_again(store: Store) -> None:
    run_sweep(runs_of(QUICK, 2), store, InThisProcess())
    engine = InThisProcess()
    new = run_sweep(runs_of(QUICK, 4), store, engine)
    assert [run.seed for run in engine.given] == [2, 3]
    assert (len(new), len(store.records())) == (2, 4)


def test_failures_are_tried_again_unless_they_are_to_be_kept(store: Store) -> None:
    runs = runs_of(DIVERGING, 1)
    run_sweep(runs, store, InThisProcess())
    keeping, trying = InThisProcess(), InThisProcess()
    run_sweep(runs, store, keeping, retry_failures=False)
    run_sweep(runs, store, trying)
    assert (len(keeping.given), len(trying.given)) == (0, 1)


def test_progress_counts_and_estimates(store: Store) -> None:
    run_sweep(runs_of(QUICK, 1), store, InThisProcess())
    told: list[Progress] = []
    run_sweep(runs_of(QUICK, 3), store, InThisProcess(), tell=told.append)
    assert [(one.done, one.total) for one in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[0].seconds_left is None
    assert told[1].seconds_left >= told[1].last.seconds  # one is left, like the one before
    assert told[2].seconds_left == 0


def test_engine_is_closed_when_the_caller_is_interrupted(store: Store) -> None:
    engine = InThisProcess()

    def interrupt(progress: Progress) -> None:
        if progress.last is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run_sweep(runs_of(QUICK, 3), store, engine, tell=interrupt)
    assert caught.traceback  # the frames are still alive, and yet:
    assert engine.is_closed
    assert len(store.records()) == 1


def test_a_label_noise_row_of_a_two_stage_method_trains_once_per_seed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    embed = GCLLRR._embed

    def counting(self: GCLLRR, graph: object, seed: int) -> object:
        trained.append(seed)
        return embed(self, graph, seed)

    monkeypatch.setattr(GCLLRR, "_embed", counting)
    noises = ("none", "symmetric:0.2", "symmetric:0.4", "asymmetric:0.4")
    runs = [
        Run.parse("sbm", TINY_TWO_STAGE, noise, seed, cache=str(tmp_path / "cache"))
        for noise in noises
        for seed in range(2)
    ]
    new = run_sweep(runs, store, InThisProcess())
    assert [record.status for record in new] == ["done"] * 8
    assert sorted(trained) == [0, 1]


def test_cached_embeddings_change_no_result(tmp_path: Path) -> None:
    fresh = Run.parse("sbm", TINY_TWO_STAGE, "symmetric:0.4", 0)
    cached = replace(fresh, cache=str(tmp_path))
    carry_out(replace(cached, noise="none"))
    assert outcome(carry_out(cached)) == outcome(carry_out(fresh))


@pytest.mark.slow
@pytest.mark.data
def test_seven_label_noise_settings_cost_at_most_1_7_times_one(tmp_path: Path) -> None:
    noises = ["none", *(f"{kind}:0.{r}" for kind in ("symmetric", "asymmetric") for r in (2, 4, 6))]
    seconds = {}
    for count in (1, 7):
        runs = [
            Run.parse("cora", "gcl-lrr", noise, 0, cache=str(tmp_path / f"cache-{count}"))
            for noise in noises[:count]
        ]
        # Reads the dataset and loads libraries.
        carry_out(replace(runs[0], variant=parse_variant("gcn:epochs=1")))
        clock = time.perf_counter()
        with Store(tmp_path / f"{count}.sqlite") as store:
            new = run_sweep(runs, store, InThisProcess())
        seconds[count] = time.perf_counter() - clock
        assert [record.status for record in new] == ["done"] * count
    assert seconds[7] <= 1.7 * seconds[1]


@pytest.fixture(scope="module")
def mixed_records() -> dict[str, Record]:
    """What one engine of two workers makes of a good and a bad run."""
    records = list(LocalEngine(jobs=2).records([*runs_of(DIVERGING, 1), *runs_of(QUICK, 1)]))
    assert len(records) == 2
    return {record.key.method: record for record in records}


def test_a_worker_gives_the_numbers_of_this_process(mixed_records: dict[str, Record]) -> None:
    record = mixed_records[QUICK]
    assert outcome(record) == outcome(carry_out(runs_of(QUICK, 1)[0]))
    assert record.peak_memory_mb > 50


def test_a_failure_is_a_row_with_its_reason(mixed_records: dict[str, Record]) -> None:
    record = mixed_records[DIVERGING]
    assert record.status == "failed"
    assert record.reason.startswith("training diverged at epoch 1")


def test_a_run_beyond_its_time_is_a_row() -> None:
    (record,) = LocalEngine(time_limit=0.5).records(runs_of(ENDLESS, 1))
    assert (record.status, record.reason) == ("timeout", "longer than 0.5 s")
    assert record.seconds >= 0.5


def test_a_run_beyond_its_memory_is_a_row() -> None:
    (record,) = LocalEngine(memory_limit_mb=1.0).records(runs_of(ENDLESS, 1))
    assert (record.status, record.reason) == ("out-of-memory", "more than 1 MB")
    assert record.peak_memory_mb > 1


def test_the_largest_run_ends_when_the_machine_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "_RESERVE_MB", 1e12)
    (record,) = LocalEngine().records(runs_of(ENDLESS, 1))
    assert record.status == "out-of-memory"
    assert record.reason.startswith("the machine had only")


def test_a_worker_that_dies_costs_its_run_alone() -> None:
    with killing_the_first_worker():
        killed, done = LocalEngine().records([*runs_of(ENDLESS, 1), *runs_of(QUICK, 1)])
    assert killed.status == "out-of-memory"
    assert killed.reason.startswith("killed by the system")
    assert done.status == "done"


def test_an_error_of_memory_in_a_run_is_told_from_other_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def swell(run: Run) -> Record:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] not enough memory: you tried ...")

    monkeypatch.setattr("quietgraph.bench.engines.worker.execute", swell)
    record = carry_out(runs_of(QUICK, 1)[0])
    assert record.status == "out-of-memory"
    assert "test_runner.py" in record.reason


def test_ctrl_c_ends_the_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    options = ["--methods", ENDLESS, "--seeds", "2", "--jobs", "2"]
    with Sweep(tmp_path / "results.sqlite", options) as sweep:
        workers = sweep.wait_for_workers(2)
        sweep.process.send_signal(signal.SIGINT)
        assert sweep.process.wait(60) == 130
        assert all(has_ended(worker) for worker in workers)
        assert "the same command goes on from there" in sweep.said
    with Store(tmp_path / "results.sqlite") as store:
        assert store.records() == []


def test_a_sweep_killed_three_times_ends_with_the_rows_of_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    method, noises = "gcn:epochs=40:hidden=16", ("none", "symmetric:0.3", "asymmetric:0.3")
    grid = Grid.parse(datasets=["sbm"], methods=[method], noise=noises, seeds=range(20))
    with Store(tmp_path / "calm.sqlite") as store:
        run_sweep(grid.runs(), store, InThisProcess())
    options = ["--methods", method, "--noise", ",".join(noises), "--seeds", "20"]
    finished: list[dict[str, Record]] = []
    chance = random.Random(int(time.time()))
    for kill in range(3):
        with Sweep(tmp_path / "killed.sqlite", options) as sweep:
            sweep.wait_for_line(chance.randint(15 * kill + 1, 15 * kill + 14))
            time.sleep(0.1 * chance.random())
            workers = psutil.Process(sweep.process.pid).children(recursive=True)
            sweep.process.kill()
            sweep.process.wait(10)
            assert all(has_ended(worker) for worker in workers)
        finished.append(rows(tmp_path / "killed.sqlite"))
    with Sweep(tmp_path / "killed.sqlite", options) as sweep:
        assert sweep.process.wait(300) == 0
        assert f"{60 - len(finished[-1])} runs done (0 failed)" in sweep.process.stdout.read()
    calm, killed = rows(tmp_path / "calm.sqlite"), rows(tmp_path / "killed.sqlite")
    assert len(calm) == 60
    assert {key: outcome(row) for key, row in killed.items()} == {
        key: outcome(row) for key, row in calm.items()
    }
    # A second run of the same key would have replaced the row by one of another duration.
    for before in finished:
        assert 0 < len(before) < 60
        assert {key: killed[key].seconds for key in before} == {
            key: row.seconds for key, row in before.items()
        }


class Sweep:
    """A sweep in a process of its own, as people start it."""

    def __init__(self, store: Path, options: list[str]) -> None:
        command = [sys.executable, "-m", "quietgraph", "bench", "run", "--datasets", "sbm"]
        command += ["--store", str(store), "--no-cache", *options]
        self.log = store.with_suffix(f".{random.getrandbits(32)}.log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                # A test runner in the background ignores SIGINT, and children inherit that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
            )

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_for_line(self, count: int) -> None:
        within(300, lambda: f"[{count}/60]" in self.said)

    def wait_for_workers(self, count: int) -> list[psutil.Process]:
        return within(120, lambda: busy_children(self.process.pid, count))


def busy_children(parent: int, count: int) -> list[psutil.Process] | None:
    """The workers of a process, once so many of them have begun to compute."""
    children = [child for child in psutil.Process(parent).children() if worker_memory(child) > 200]
    return children if len(children) >= count else None


def worker_memory(process: psutil.Process) -> float:
    return 0.0 if has_ended(process, wait=0) else process.memory_info().rss / 2**20


@contextmanager
def killing_the_first_worker() -> Iterator[None]:
    """Kill a worker of this process once it computes, as the system does when memory is short."""

    def kill() -> None:
        within(60, lambda: busy_children(os.getpid(), 1))[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def has_ended(process: psutil.Process, wait: float = 60.0) -> bool:
    try:
        process.wait(wait)
    except psutil.TimeoutExpired:
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def within(seconds: float, happened):
    """What `happened` returns once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = happened()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(f"not within {seconds} s")


def rows(store: Path) -> dict[str, Record]:
    with Store(store) as opened:
        return {record.key.digest: record for record in opened.records()}


def outcome(record: Record) -> object:
    """What a run must give again, bit for bit: all but how long it took."""
    metrics = {name: value for name, value in record.metrics.items() if "seconds" not in name}
    assert metrics
    return record.key, record.status, {name: value.hex() for name, value in metrics.items()}


def test_failure_rows_have_no_metrics() -> None:
    assert failure(runs_of(QUICK, 1)[0], "failed", "why", 1.0).metrics == {}
