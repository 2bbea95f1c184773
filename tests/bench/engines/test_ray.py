"""The same grid on Ray: a local cluster of two workers, as in the local engine."""

import gc
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quietgraph.bench.engines import ray as ray_engine
from quietgraph.bench.engines.ray import RayEngine, UnreachableClusterError
from quietgraph.bench.engines.worker import carry_out
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record
from quietgraph.bench.runner import run_sweep
from quietgraph.bench.store import Store
from quietgraph.extras import MissingExtraError

QUICK = "gcn:epochs=5:hidden=8"
DIVERGING = "gcn:learning_rate=1e30"
ENDLESS = "gcn:epochs=1000000"


def run_of(variant: str, seed: int = 0) -> Run:
    return Run.parse("sbm", variant, "symmetric:0.3", seed)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of two workers on this machine, started by somebody else than the engine."""
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")  # a busy machine takes its time
    module = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves its processes to others
        module.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield module
        module.shutdown()
        gc.collect()


@pytest.fixture(scope="module")
def records(ray: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """What two workers make of four good runs, one that diverges and one that never ends."""
    runs = [run_of(DIVERGING), *(run_of(QUICK, seed) for seed in range(4))]
    with Store(tmp_path_factory.mktemp("ray") / "results.sqlite") as store:
        run_sweep(runs, store, RayEngine())
        run_sweep([run_of(ENDLESS)], store, RayEngine(time_limit=0.5))
        return store.records()


def test_every_run_is_a_row(records: list[Record]) -> None:
    assert sorted(record.status for record in records) == ["done"] * 4 + ["failed", "timeout"]


def test_numbers_are_those_of_this_process_bit_for_bit(records: list[Record]) -> None:
    for record in (one for one in records if one.key.method == QUICK):
        here = carry_out(run_of(QUICK, record.key.seed))
        assert record.key == here.key
        assert without_time(record) == without_time(here)
        assert record.peak_memory_mb > 50


def test_a_failure_has_its_reason(records: list[Record]) -> None:
    (record,) = (one for one in records if one.key.method == DIVERGING)
    assert record.reason.startswith("training diverged at epoch 1")


def test_a_run_beyond_its_time_is_cancelled(records: list[Record]) -> None:
    (record,) = (one for one in records if one.key.method == ENDLESS)
    assert (record.status, record.reason) == ("timeout", "longer than 0.5 s")
    assert record.seconds >= 0.5


def test_a_cluster_that_was_there_is_left_running(ray: Any, records: list[Record]) -> None:
    assert ray.is_initialized()


def test_a_worker_that_crashes_costs_its_run_alone(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash_on_seed_0(run: Run) -> Iterator[Record]:
        if run.seed == 0:
            os._exit(3)
        yield replace(carry_out(run), peak_memory_mb=1.0)

    monkeypatch.setattr(ray_engine, "_task", crash_on_seed_0)
    runs = [run_of(QUICK, 0), run_of(QUICK, 1)]
    by_seed = {record.key.seed: record for record in RayEngine(jobs=1).records(runs)}
    assert by_seed[0].status == "failed"
    assert by_seed[0].reason.startswith("the task ended early: WorkerCrashedError")
    assert by_seed[1].status == "done"


def test_stopping_early_frees_the_cluster(ray: Any) -> None:
    records = RayEngine().records([run_of(QUICK), run_of(ENDLESS)])
    assert next(records).status == "done"
    records.close()
    end = time.monotonic() + 60
    while ray.available_resources().get("CPU") != 2:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_nothing_but_the_result_goes_to_stdout(ray: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quietgraph", "bench", "run", "--datasets", "sbm"]
    command += ["--methods", QUICK, "--noise", "none", "--seeds", "1", "--no-cache"]
    command += ["--engine", "ray", "--address", "local", "--jobs", "1"]
    command += ["--store", str(tmp_path / "results.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.startswith("1 runs done (0 failed), 0 were there")
    assert len(done.stdout.splitlines()) == 1


def test_a_cluster_that_does_not_answer_is_named(ray: Any) -> None:
    with pytest.raises(UnreachableClusterError, match=r"no Ray cluster answers at '127.0.0.1:9'"):
        ray_engine._join(ray, "127.0.0.1:9")


def test_a_missing_ray_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'quietgraph\[ray\]'"):
        list(RayEngine().records([run_of(QUICK)]))


def without_time(record: Record) -> dict[str, float]:
    return {name: value for name, value in record.metrics.items() if "seconds" not in name}
