"""However a command ends, no process, no temporary folder and no open file stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import quietgraph as qg
from fuzz.seeds import write_csv, write_npz
from fuzz.stored import records
from quietgraph.bench.store import Store
from quietgraph.graph.io import read_graph
from quietgraph.testing import small_problem

LONG = ["--set", "epochs=100000", "--set", "partitions=2", "--set", "dim=8", "--set", "hidden=8"]
COMMANDS = {
    "fit --workers 2": ["fit", "graph.npz", "--method", "gcl-lrr", *LONG, "--workers", "2"],
    "bench run --jobs 2": [
        *("bench", "run", "--datasets", "sbm", "--methods", "gcn:epochs=1000000"),
        *("--seeds", "2", "--jobs", "2", "--store", "r.sqlite", "--no-cache"),
    ],
}


def busy_children(parent: psutil.Process, count: int) -> list[psutil.Process]:
    """Wait until so many workers compute, and return all processes below."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        found = parent.children(recursive=True)
        if sum(one.cpu_times().user > 6 for one in found if one.is_running()) >= count:
            return found
        time.sleep(0.3)
    raise AssertionError("no worker came to work")


def check_end(words: list[str], sent: signal.Signals, folder: Path) -> str:
    draws = np.random.default_rng(0)
    drawn = qg.block_model(400, num_classes=3, num_features=8, generator=draws)
    labels = np.where(np.arange(400) < 90, drawn.classes, -1)
    graph = drawn.graph
    np.savez(folder / "graph.npz", x=graph.features, edge_index=graph.edge_index, y=labels)
    (folder / "tmp").mkdir()
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "quietgraph", *words],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
            # A shell starts jobs in the background with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        started = psutil.Process(running.pid)
        try:
            workers = busy_children(started, 2)
            running.send_signal(sent)
            running.wait(60)
        except BaseException:  # nothing goes on computing after a test that failed
            for one in (*started.children(recursive=True), started):
                one.kill()
            raise
    _, left = psutil.wait_procs(workers, timeout=30)
    assert left == []
    if sent != signal.SIGKILL:
        kept = [path.name for path in (folder / "tmp").iterdir()]
        assert [name for name in kept if not name.startswith("torchinductor_")] == []  # torch's own
    said = (folder / "log").read_text()
    assert "Traceback" not in said, said
    return said


@pytest.mark.integration
def test_ctrl_c_ends_workers_without_a_traceback(tmp_path: Path) -> None:
    assert "stopped" in check_end(COMMANDS["fit --workers 2"], signal.SIGINT, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_command(name: str, sent: signal.Signals, tmp_path: Path) -> None:
    check_end(COMMANDS[name], sent, tmp_path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_files_are_closed_and_temporary_ones_removed(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tables").mkdir()
    use_everything(tmp_path)  # the first time, libraries open files for good
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        use_everything(tmp_path)
    assert len(os.listdir("/proc/self/fd")) <= before
    assert list((tmp_path / "tmp").iterdir()) == []


def use_everything(folder: Path) -> None:
    read_graph(write_csv(folder / "tables"))
    read_graph(write_npz(folder))
    problem, labels, validation = small_problem()
    model = qg.get_method("gcn")(epochs=1).fit(problem.graph, labels, validation)
    qg.load_model(model.save(folder / "model")).predict()
    with Store(folder / "runs.sqlite") as store:
        store.add(records()[0])
        store.records()
    with pytest.raises(qg.QuietgraphError):
        qg.load_model(folder / "tables")
