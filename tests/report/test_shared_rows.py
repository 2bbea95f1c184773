"""A fit by two processes: the same numbers as by one, each process writes its own rows."""

import json
import multiprocessing
import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from command_line import run_main
from quietgraph.classify import smoothing
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation, observe
from quietgraph.embed.scale import node_rows, node_sample
from quietgraph.embed.scale.checkpoint import Checkpoints, use_checkpoints
from quietgraph.embed.scale.distributed import join_world
from quietgraph.errors import UnreadableFileError
from quietgraph.methods import NodeClassifier
from quietgraph.methods.low_rank import encoder, large_features
from quietgraph.methods.quiet import features
from quietgraph.report import shared_rows
from quietgraph.report.fit_run import FitRun
from quietgraph.report.shared_rows import read_predictions
from quietgraph.report.write_run import write_run

NODES, LABELLED = 300, 90
ABOVE = "quiet above 50,000 nodes"
IN_BLOCKS = "quiet in blocks"  # as above 200,000 nodes
SAMPLE = 150  # nodes that folds score beside the labelled ones, as on a large graph


def problem() -> Observation:
    draws = np.random.default_rng(0)
    drawn = qg.block_model(NODES, num_classes=3, num_features=12, generator=draws)
    labels = np.full(NODES, -1)
    known = draws.permutation(NODES)[:LABELLED]
    labels[known] = np.where(draws.random(LABELLED) < 0.2, 0, drawn.classes[known])
    return observe(drawn.graph, labels)


def limits(method: str) -> list[tuple[object, str, int]]:
    """Return the limits of size under which this small graph is worked on as a large one is."""
    found: list[tuple[object, str, int]] = [(node_sample, "MOST_NODES", SAMPLE)]
    if method in (ABOVE, IN_BLOCKS):
        found += [(features, "_WHOLE_UP_TO", 100), (node_rows, "BLOCK", 30)]  # several of each
    if method == IN_BLOCKS:
        found += [(large_features, "LARGE", 100)]
        found += [(smoothing, "WHOLE_UP_TO", 100), (encoder, "WHOLE_UP_TO", 100)]
    return found


def fitted(observation: Observation, method: str) -> NodeClassifier:
    method = "quiet" if method in (ABOVE, IN_BLOCKS) else method
    quick = {"epochs": 12, "partitioner": "streaming"}
    if method != "quiet":
        quick |= {"warm_up": 4, "hidden": 16, "dim": 16}
    model = qg.get_method(method)(partitions=4, partitions_per_step=2, **quick)
    return model.fit(observation)


def write(observation: Observation, method: str, folder: Path) -> None:
    shown = shared_rows.sample_fit(observation, fitted(observation, method))
    run = FitRun(
        source="",
        noise=parse_noise("none"),
        model=shown.model,
        observation=shown.observation,
        reference=None,
        metrics={},
        beside={},
        command="",
        whole=shown.whole,
    )
    write_run(run, folder)


def take_part(rank: int, port: int, folder: str, method: str) -> None:
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared_rows.WHOLE_REPORT_UP_TO, shared_rows._DRAWN = 200, 80
    for module, name, value in limits(method):
        setattr(module, name, value)
    with join_world(), use_checkpoints(Checkpoints(Path(folder) / "kept")):
        write(problem(), method, Path(folder) / "run")


@pytest.fixture(
    scope="module",
    params=[
        "gcl-lr-attention",
        "quiet",
        pytest.param(ABOVE, marks=pytest.mark.slow),
        pytest.param(IN_BLOCKS, marks=pytest.mark.slow),
    ],
)
def method(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory, method: str) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=take_part, args=(n, port, str(folder), method)) for n in (0, 1)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join(timeout=300)
        assert one.exitcode == 0
    return folder / "run"


@pytest.fixture(scope="module")
def alone(method: str) -> NodeClassifier:
    with pytest.MonkeyPatch.context() as patch:
        for limit in limits(method):
            patch.setattr(*limit)
        model = fitted(problem(), method)
        model.quality()
    return model


def test_predictions_of_two_processes_are_those_of_one(run_folder: Path, alone) -> None:
    parts = sorted(path.name for path in (run_folder / "predictions").iterdir())
    assert parts == ["part-00000.parquet", "part-00001.parquet"]
    found = read_predictions(run_folder)
    assert found["node"].tolist() == list(range(NODES))
    assert found["predicted"].tolist() == alone.predict().tolist()
    columns = [f"p_{name}" for name in alone.classes_]
    np.testing.assert_allclose(found[columns], alone.predict_proba(), atol=1e-5)
    halves = [len(pd.read_parquet(run_folder / "predictions" / part)) for part in parts]
    assert halves == [NODES // 2, NODES // 2]


def test_quiet_has_the_digits_of_one_process(run_folder: Path, alone, method) -> None:
    """A digit decides whether a validation node counts for a candidate, and so its weight."""
    if method == "gcl-lr-attention":
        pytest.skip("rows of so few nodes are in blocks in two processes, and whole in one")
    found = read_predictions(run_folder)[[f"p_{name}" for name in alone.classes_]]
    np.testing.assert_allclose(found, alone.predict_proba(), atol=1e-14, rtol=0)
    assert np.array_equal(np.load(run_folder / "embeddings.npy"), alone.embeddings_)


def test_embeddings_are_one_file_of_all_rows(run_folder: Path, alone) -> None:
    found = np.load(run_folder / "embeddings.npy", mmap_mode="r")
    np.testing.assert_allclose(found, alone.embeddings_, atol=1e-5)


def test_suspects_and_quality_are_those_of_one_process(run_folder: Path, alone) -> None:
    table, ours = alone.suspects(), pd.read_csv(run_folder / "suspects.csv").set_index("node")
    ours = ours.loc[table["node"]]
    assert ours["suggested"].tolist() == table["suggested"].tolist()
    np.testing.assert_allclose(ours["p_wrong"], table["p_wrong"], atol=1e-5)
    facts = json.loads((run_folder / "run.json").read_text())
    assert facts["data"]["nodes"] == NODES
    for name in ("verdict", "accuracy", "unreached", "num_labels", "advice"):
        expected = getattr(alone.quality(), name)
        assert facts["quality"][name] == (list(expected) if name == "advice" else expected)


def test_model_and_report_are_of_the_labelled_nodes_and_a_sample(run_folder: Path, alone) -> None:
    model, ids = qg.load_model(run_folder / "model"), pd.read_csv(run_folder / "sample.csv")["node"]
    assert LABELLED < len(ids) == len(model.scores_) < NODES
    ids = ids.to_numpy().copy()
    assert set(alone.suspects()["node"]) <= set(ids)
    np.testing.assert_allclose(model.scores_, alone.scores_[ids], atol=1e-5)
    grown = model.predict_proba(problem().graph)
    np.testing.assert_allclose(grown, alone.predict_proba(), atol=1e-5)
    first = json.loads((run_folder / "evidence.jsonl").read_text().splitlines()[0])
    graph = problem().graph
    assert first["degree"] == int(graph.adjacency.row_counts[int(first["node"])])
    assert len(first["neighbours"]) == min(12, first["degree"])


@pytest.mark.parametrize("gone", [0, 1])
def test_a_missing_part_is_named(gone: int, run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "run")
    (tmp_path / "run" / "predictions" / f"part-{gone:05d}.parquet").unlink()
    with pytest.raises(UnreadableFileError, match=r"lacks a part: it holds .* nodes\. Fit"):
        read_predictions(tmp_path / "run")


def test_a_damaged_part_is_named(run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "run")
    part = tmp_path / "run" / "predictions" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-50])
    with pytest.raises(UnreadableFileError, match=r"part-00001\.parquet is no readable Parquet"):
        read_predictions(tmp_path / "run")


def test_a_folder_without_predictions_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no predictions"):
        read_predictions(tmp_path)


def test_one_process_writes_a_very_large_graph_in_parts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ("fit", "sbm", "--method", "s2gc", "--set", "epochs=5")
    assert run_main(*quick, "--out", "whole") == 0
    monkeypatch.setattr(shared_rows, "ALONE_UP_TO", 500)
    monkeypatch.setattr(shared_rows, "_DRAWN", 50)
    assert run_main(*quick, "--out", "parts") == 0
    assert not (tmp_path / "parts" / "predictions.csv").exists()

    found, expected = read_predictions(tmp_path / "parts"), pd.read_csv("whole/predictions.csv")
    assert found["predicted"].tolist() == expected["predicted"].tolist()
    for name in expected.filter(like="p_"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-4)
    assert len(np.load(tmp_path / "parts" / "embeddings.npy")) == len(expected)
    suspects = [pd.read_csv(f"{name}/suspects.csv") for name in ("parts", "whole")]
    pd.testing.assert_frame_equal(*suspects, atol=1e-4)
    ids = pd.read_csv("parts/sample.csv")["node"]
    assert len(suspects[0]) <= len(ids) <= len(suspects[0]) + 50
    assert (tmp_path / "parts" / "report.html").stat().st_size > 10_000
