"""Several processes: the same numbers as one process, and recovery after a kill."""

import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from command_line import printed, refused
from quietgraph.embed import ContrastSettings, GCNEncoder, Schedule, ViewRates, train
from quietgraph.embed.contrast_trainer import ContrastTrainer
from quietgraph.embed.scale.distributed import ALONE, World, current_world, join_world, meet
from quietgraph.embed.scale.partitions import make_plan
from quietgraph.embed.scale.streaming import cut_by_streaming
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import block_model
from quietgraph.report.shared_rows import read_predictions
from quietgraph.rng import torch_generator

SETTINGS = ContrastSettings(
    temperature=0.5,
    intra_view=False,
    anchors=60,
    prototype_weight=0.5,
    prototype_counts=(4, 60),  # so many that some get empty
    prototype_temperature=0.3,
    rank_weight=1.0,
    rank_ratio=0.2,
    rank_scale="mean",
    warm_up=1,
    first_view=ViewRates(0.2, 0.3),
    second_view=ViewRates(0.4, 0.4),
)


def train_four_partitions(world: World) -> dict[str, torch.Tensor]:
    """Return Gram matrix, prototypes, losses, weights after three epochs, two partitions a step."""
    torch.set_num_threads(1)
    graph = block_model(240, num_features=20, generator=np.random.default_rng(0)).graph
    encoder = GCNEncoder(20, 24, 16, generator=torch_generator(0, "encoder"))
    plan = make_plan(graph, 4, per_step=2, world=world, seed=0)
    trainer = ContrastTrainer(graph, encoder, SETTINGS, plan, "l2")
    schedule = Schedule(3, 1e-2, 1e-5, steps=plan.steps)
    history = train(encoder, trainer.losses, schedule, world=world)
    prototypes = [level.prototypes for level in trainer.prototypes.levels]
    losses = [record[name] for record in history for name in record if name != "seconds"]
    return {
        "clusters": cut_by_streaming(graph.adjacency, 12, world=world),
        "gram": trainer.gram.total(),
        "prototypes": torch.cat(prototypes),
        "losses": torch.tensor(losses),
        **encoder.state_dict(),
    }


def take_part(rank: int, port: int, folder: str) -> None:
    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    with join_world() as world:
        torch.save(train_four_partitions(world), Path(folder) / f"{rank}.pt")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_processes_compute_what_one_does_on_the_same_partitions(tmp_path) -> None:
    context, port = multiprocessing.get_context("spawn"), free_port()
    others = [
        context.Process(target=take_part, args=(rank, port, str(tmp_path))) for rank in (0, 1)
    ]
    for one in others:
        one.start()
    alone = train_four_partitions(ALONE)
    for one in others:
        one.join(timeout=120)
        assert one.exitcode == 0
    for rank in (0, 1):
        together = torch.load(tmp_path / f"{rank}.pt")
        for name, value in alone.items():
            off = 1e-6 if name == "losses" else 0.0  # a mean of losses in another precision
            torch.testing.assert_close(together[name], value, atol=off, rtol=off, msg=name)


def test_without_torchrun_a_distributed_run_says_how_to_start_it(monkeypatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InvalidParameterError, match="--workers 2"), join_world():
        pass


def test_a_process_is_alone_unless_it_joins_others() -> None:
    assert current_world() == World(0, 1)
    assert ALONE.is_first
    value = torch.ones(3)
    assert ALONE.total(value) is value
    assert ALONE.agree("anything") == "anything"


def write_graph(path: Path) -> np.ndarray:
    drawn = block_model(500, num_classes=3, num_features=16, generator=np.random.default_rng(0))
    labels = np.where(np.arange(500) < 120, drawn.classes, -1)
    np.savez(path, x=drawn.graph.features, edge_index=drawn.graph.edge_index, y=labels)
    return drawn.classes


def workers_of(parent: psutil.Process) -> list[psutil.Process]:
    try:
        children = parent.children()
        return [one for one in children if any("spawn_main" in part for part in one.cmdline())]
    except psutil.Error:
        return []


def hits(folder: Path, classes: np.ndarray) -> float:
    predicted = read_predictions(folder)["predicted"].to_numpy()
    return float((predicted[120:] == classes[120:]).mean())


def fit_command(source: Path, out: Path, *more: str, method: str = "gcl-lr-attention") -> list[str]:
    quick = {"epochs": 30, "partitions": 4, "partitions_per_step": 2}
    if method != "quiet":
        quick |= {"warm_up": 5, "dim": 32, "hidden": 32}
    pairs = [part for name, value in quick.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "quietgraph", "fit", str(source), "--out", str(out)]
    command += ["--method", method]
    return [*command, *pairs, "--checkpoint-minutes", "0", *more]


STAGES = {  # a file that appears in each, and the most seconds that are waited then
    "training": ("run.checkpoint/training.safetensors", 0.5),
    "embedding": ("run.checkpoint/rows/hidden-*.npy", 0.0),
    "smoothing": ("run.checkpoint/rows/hop-*.npy", 0.2),
    "classifying": ("run.checkpoint/rows/fold scores-*.npy", 0.0),
    "choosing": ("run.checkpoint/rows/centred-*.npy", 3.0),  # candidates of the fit and of folds
    "writing": (".quietgraph-*/run/predictions/part-*.parquet", 0.0),
}
# Stages of `quiet`, worked on in blocks as above 50,000 nodes.
KILLED = [("gcl-lr-attention", stage) for stage in STAGES if stage not in ("smoothing", "choosing")]
KILLED += [("quiet", stage) for stage in STAGES if stage != "classifying"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("method", "stage"),
    [KILLED[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in KILLED[1:])],
)
def test_a_killed_worker_is_replaced_and_the_run_ends_as_if_nothing_had_happened(
    method: str, stage: str, tmp_path
) -> None:
    classes = write_graph(tmp_path / "graph.npz")
    command = fit_command(tmp_path / "graph.npz", tmp_path / "run", "--workers", "2", method=method)
    script = "small_blocks.py" if method == "quiet" else "slow_files.py"
    command[1:3] = [str(Path(__file__).with_name(script))]
    file, most = STAGES[stage]
    slow = {"SLOW_FILES": Path(file).name.partition("*")[0]}
    with (tmp_path / "log").open("w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | slow)
        parent, deadline = psutil.Process(running.pid), time.monotonic() + 400
        while not any(tmp_path.glob(file)) and running.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(np.random.default_rng().random() * most)
        victims = workers_of(parent)
        if victims:  # a quick machine may be done already
            random.choice(victims).send_signal(signal.SIGKILL)
        running.wait(timeout=400)
    said = (tmp_path / "log").read_text()
    assert running.returncode == 0, said
    assert victims, said
    assert "continuing from the checkpoint" in said
    assert not any(tmp_path.glob("run.checkpoint/[!.]*"))
    printed(*fit_command(tmp_path / "graph.npz", tmp_path / "alone", method=method)[3:])
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["data"]["nodes"] == 500
    parts = [path.name for path in (tmp_path / "run" / "predictions").iterdir()]
    assert sorted(parts) == ["part-00000.parquet", "part-00001.parquet"]
    assert abs(hits(tmp_path / "run", classes) - hits(tmp_path / "alone", classes)) < 0.05


def test_a_users_mistake_ends_all_workers_with_one_sentence(tmp_path) -> None:
    command = fit_command(tmp_path / "nothing.npz", tmp_path / "run", "--workers", "2")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--method", "gcn", "--distributed"], "gcl-lrr or gcl-lr-attention"),
        (["--beside", "gcn", "--distributed"], "Leave out --beside"),
        (["--beside", "gcn", "--checkpoint", "kept"], "of one training"),
        (["--partitions", "many"], "auto or a number"),
        (["--method", "s2gc", "--partitions", "2"], "does not apply"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, sentence: str) -> None:
    error = refused("fit", "digits", *options)
    assert isinstance(error, InvalidParameterError)
    assert sentence in str(error)


def test_the_old_name_of_the_option_still_works_and_warns() -> None:
    with pytest.warns(FutureWarning, match="now called --partitions"):
        error = refused("fit", "digits", "--parts", "many")
    assert "--partitions must be auto or a number" in str(error)


def test_processes_meet_although_the_store_holds_the_words_of_dead_ones() -> None:
    store = torch.distributed.HashStore()
    names = []
    for _ in range(3):  # an attempt each, all on one store
        with ThreadPoolExecutor(3) as pool:
            names.append(set(pool.map(lambda rank: meet(store, rank, 3), range(3))))
    assert all(len(name) == 1 for name in names)
    assert len(set.union(*names)) == 3
    store.set("asks 1", "a process that died")
    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(meet, store, 0, 2)
        assert pool.submit(meet, store, 1, 2).result() == late.result()
