"""Grids: what is run, under which key, and what a file makes of it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from tiny_methods import LabelFree, Nearest, Unlucky, tiny_data

from quietgraph.bench import Grid, parse_seeds, read_runs
from quietgraph.bench.execute import execute_batch
from quietgraph.bench.grid import method_of
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods.base import NodeClassifier

FACTS = ["dataset", "noise", "method", "seed", "status", "test_accuracy", "test_calibration_error"]
BOOT = """
from dataclasses import dataclass
from quietgraph.methods.base import Fitted, NodeClassifier
from quietgraph.params import param

@dataclass(kw_only=True, eq=False, repr=False)
class BootSGC(NodeClassifier):
    power: int = param(2, "hops", low=1)

    def _fit(self, graph, observed):
        return Fitted(graph.features[:, : observed.num_classes] * self.power, graph.features)
"""


def rows_of(grid: Grid) -> pd.DataFrame:
    """Rows of a grid carried out in this process."""
    return pd.DataFrame([row for run in grid.runs() for row in execute_batch([run])])


def test_a_run_is_determined_by_data_method_parameters_revision_seed_split_and_protocol() -> None:
    def key(data: object = None, method: NodeClassifier | str = "gcn", **more: object) -> tuple[object, ...]:
        (run,) = Grid(data or tiny_data(), method, seeds=[0], **more).runs()
        return run.key

    plain, grown = key(), tiny_data()
    grown = replace(grown, codes=torch.roll(grown.codes, 1))
    others = [
        key(grown), key(tiny_data(66)), key(method="gcn:hidden=8"), key(noise="symmetric:0.2"), key(protocol="paper")
    ]  # fmt: skip
    assert len({plain, *others}) == 6
    assert key() == plain
    assert key(method="gcn:hidden=64")[4] == plain[4]  # the default written out: same settings, other text


def test_the_revision_of_a_method_and_the_code_of_ones_own_are_part_of_the_key(tmp_path: Path) -> None:
    def settings(text: str) -> object:
        (tmp_path / "boot.py").write_text(text)
        (run,) = Grid(tiny_data(), f"{tmp_path}/boot.py:BootSGC", seeds=[0]).runs()
        return run.settings

    assert len({settings(BOOT), settings(BOOT.replace("* self.power", "")), settings(BOOT)}) == 2
    revised = type("Nearest", (Nearest,), {"revision": 2})
    assert (
        Grid(tiny_data(), revised, seeds=[0]).runs()[0].settings
        != Grid(tiny_data(), Nearest, seeds=[0]).runs()[0].settings
    )


def test_methods_are_texts_classes_or_estimators() -> None:
    assert method_of("gcn:hidden=8")[0] == "gcn:hidden=8"
    assert method_of("gcn:hidden=8")[1].get_params()["hidden"] == 8
    assert method_of(Nearest)[0] == "nearest"
    assert method_of(Nearest(softness=2.0, seed=7))[0] == "nearest:softness=2.0"
    with pytest.raises(InvalidParameterError, match="name:key=value"):
        method_of("gcn:hidden")
    with pytest.raises(UnknownNameError, match="Did you mean 'gcn'"):
        method_of("gcnn")


def test_mistakes_are_told_before_anything_runs(tmp_path: Path) -> None:
    for grid, words in {
        Grid("my_grpah", "gcn"): "dataset or folder",
        Grid(tiny_data(), "gcn", protocol="both"): "protocol",
        Grid(tiny_data(), "gcn", measures=["speed"]): "measure",
        Grid(tiny_data(), [], seeds=[1]): "empty",
        Grid(tiny_data(), "gcn", noise="symetric:0.4"): "symmetric",
        Grid(tiny_data(), "nowhere.py:Boot"): "no Python file",
    }.items():
        with pytest.raises(Exception, match=words):
            grid.run(tmp_path / "runs.jsonl")
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize(("text", "seeds"), [("9100", [9100]), ("0-3", [0, 1, 2, 3]), ("3,5,7-8", [3, 5, 7, 8])])
def test_seeds_are_draws_never_counts(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "ten", "5-3", "-1", "99999999999"])
def test_other_texts_are_no_seeds(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="ten of them"):
        parse_seeds(text)


def test_every_label_teaches_by_default_and_the_papers_protocol_marks_validation_labels() -> None:
    for protocol, marked in (("same labels", 0), ("paper", 12)):
        (run,) = Grid(tiny_data(), "gcn", "symmetric:0.3", [3], protocol=protocol).runs()
        data, truth = run.observe()
        assert int(data.split.validation.sum()) == marked
        assert int((data.known & ~data.split.test).sum()) == 48
        assert not bool((data.known & data.split.test).any())  # test labels are hidden
        assert 0 < int(truth.wrong(data).sum()) < 40
        assert bool((truth.codes >= 0).all())


def test_a_folder_is_a_dataset_whose_labels_are_true(tmp_path: Path) -> None:
    names = [f"{node},{node % 7},{'ab'[node % 2]}" for node in range(40)]
    (tmp_path / "nodes.csv").write_text("id,size,label\n" + "\n".join(names))
    edges = "\n".join(f"{node},{(node + 2) % 40}" for node in range(40))
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    rows = rows_of(Grid(tmp_path, "gcn:epochs=2", ["none", "symmetric:0.4"], [0]))
    assert rows["status"].tolist() == ["done", "done"]
    assert rows["dataset"].unique().tolist() == [tmp_path.name]


def test_controls_and_measures_are_columns_of_a_run() -> None:
    grid = Grid(
        "digits", ["gcn:epochs=20", "gcn:epochs=20:class_prior=adjusted"], "symmetric:0.4", [0], measures=["theory"]
    )
    plain, adjusted = rows_of(grid).to_dict("records")
    assert plain["measures"] == "theory"
    assert plain["KC"] > 0
    assert 0 < plain["labels_held"] <= 1
    assert 0 < plain["noise_held"] <= 1
    assert plain["test_accuracy"] != adjusted["test_accuracy"]


def test_own_data_are_split_afresh_for_every_seed() -> None:
    tests = [run.observe()[0].split.test for run in Grid(tiny_data(), "gcn", seeds=[0, 1]).runs()]
    assert [int(test.sum()) for test in tests] == [12, 12]
    assert not torch.equal(*tests)


def test_runs_that_share_embeddings_learn_them_once_and_each_counts_their_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    noises = ["none", "symmetric:0.2", "asymmetric:0.4"]
    grid = Grid(tiny_data(), LabelFree(log=str(log), work=0.3), noises, [0])
    together = pd.DataFrame(execute_batch(grid.runs()))
    assert log.read_text().count("trained") == 1
    assert (together["seconds_fit"] >= 0.25).all()
    alone = rows_of(grid)
    pd.testing.assert_frame_equal(together[FACTS], alone[FACTS])
    assert len({run.group for run in grid.runs()}) == 1
    attributes = Grid(tiny_data(), LabelFree, ["none", "attribute:0.4"], [0]).runs()
    assert len({run.group for run in attributes}) == 2  # another graph


def test_a_method_that_raises_becomes_a_row_and_the_others_go_on() -> None:
    rows = rows_of(Grid(tiny_data(), Unlucky(end="raise"), seeds=range(3)))
    assert rows["status"].tolist() == ["done", "failed", "done"]
    assert rows["reason"][1].startswith("RuntimeError: no luck (tiny_methods.py:")


def test_a_killed_or_hanging_worker_costs_its_run_alone(tmp_path: Path) -> None:
    methods = [Unlucky(end=end, once=str(tmp_path / end)) for end in ("kill", "hang")]
    grid, path = Grid(tiny_data(), methods, ["none", "symmetric:0.2"], [0, 1]), tmp_path / "runs.jsonl"
    done, failed = grid.runs()[0], grid.runs()[2]
    before = [done.row("done", test_accuracy=0.5), failed.row("failed", reason="no luck")]
    path.write_text("".join(json.dumps(row) + "\n" for row in before))
    told: list[tuple[int, int]] = []
    rows = grid.run(path, time_limit=3.0, on_run=lambda *at: told.append(at))
    assert told == [(number, 8) for number in range(1, 9)]  # what is done is not run again, failures are
    assert rows["test_accuracy"][0] == 0.5
    lost = rows[rows["status"] != "done"].set_index("status")
    assert len(rows) == 8
    assert lost["noise"].tolist() == ["none", "none"]  # the other run of each batch went to another worker
    assert lost["seed"].tolist() == [1, 1]
    assert "was killed" in lost.loc["failed", "reason"]
    assert "longer than 3 s" in lost.loc["timeout", "reason"]


def test_a_killed_sweep_goes_on_and_ends_with_the_same_rows(tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            from tiny_methods import Nearest, tiny_data
            from quietgraph.bench import Grid

            class Slow(Nearest):  # a class of this script alone
                def _fit(self, graph, observed):
                    time.sleep(0.1)
                    return super()._fit(graph, observed)

            grid = Grid(tiny_data(), Slow(spread=0.3), ["none", "symmetric:0.4"], range(6))
            grid.run(sys.argv[1])
            """
        )
    )
    path = tmp_path / "runs.jsonl"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    sweep = subprocess.Popen([sys.executable, script, path], env=environment)
    while sweep.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 4):
        time.sleep(0.02)
    sweep.send_signal(signal.SIGKILL)
    sweep.wait()
    kept = path.read_bytes()
    first = read_runs(path)
    assert 4 <= len(first) < 12
    path.write_bytes(kept + b'{"dataset": "gra')  # a line that was torn
    subprocess.run([sys.executable, script, path], env=environment, check=True)
    assert path.read_bytes().startswith(kept)
    found = read_runs(path)
    assert len(path.read_bytes().splitlines()) == len(found) == 12
    whole = rows_of(Grid(tiny_data(), Nearest(spread=0.3), ["none", "symmetric:0.4"], range(6)))
    names = ["noise", "seed", "test_accuracy", "test_calibration_error"]
    ordered = [frame[names].sort_values(["noise", "seed"], ignore_index=True) for frame in (found, whole)]
    pd.testing.assert_frame_equal(*ordered)


def test_a_ray_cluster_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    grid = Grid(tiny_data(), [Nearest(spread=0.3), LabelFree()], ["none", "symmetric:0.4"], [0, 1])
    found = grid.run(tmp_path / "ray.jsonl", ray="local")
    pd.testing.assert_frame_equal(found[FACTS], rows_of(grid)[FACTS])
