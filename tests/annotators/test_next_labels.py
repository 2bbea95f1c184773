"""What to label next: uncertain nodes that stand for others, by those who have not answered."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from command_line import call, printed, refused
from quietgraph.annotators.next_labels import choose_nodes, next_labels
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise


def chosen_slowly(
    uncertainty: np.ndarray, rows: np.ndarray, budget: int, certain: list[int]
) -> list[int]:
    """Compute every gain anew, node by node; certain nodes count as chosen before."""
    unit = rows - rows.mean(axis=0)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    left, found = uncertainty.copy(), list(certain)

    def use_of(node: int) -> list[float]:
        return [
            1.0 if other == node else max(float(unit[node] @ unit[other]), 0.0) ** 16
            for other in range(len(rows))
        ]

    for node in certain:
        left *= 1 - np.array(use_of(node))
    for _ in range(budget):
        gains = [
            -1.0 if node in found else float(np.dot(use_of(node), left))
            for node in range(len(rows))
        ]
        found.append(int(np.argmax(gains)))
        left *= 1 - np.array(use_of(found[-1]))
    return found[len(certain) :]


@pytest.mark.parametrize("certain", [[], [2, 7]])
def test_the_choice_equals_its_definition(certain: list[int]) -> None:
    draws = np.random.default_rng(0)
    uncertainty, rows = draws.random(12), draws.normal(size=(12, 3))
    told = np.isin(np.arange(12), certain)
    fast, _ = choose_nodes(uncertainty, rows, 5, allowed=~told, cost=np.ones(12), certain=told)
    assert fast.tolist() == chosen_slowly(uncertainty, rows, 5, certain)


def test_the_next_batch_goes_where_verified_labels_do_not_reach() -> None:
    rows = np.repeat(np.eye(3), 5, axis=0)  # three dense regions
    beliefs = np.full((15, 2), 0.5)
    verified = np.arange(15) == 0
    table = next_labels(
        beliefs,
        rows,
        2,
        classes=np.arange(2),
        labelled=verified,
        among=~verified,
        verified=verified,
    )
    assert sorted(table["node"] // 5) == [1, 2]


def test_sure_mistakes_are_looked_for_too() -> None:
    # Few unsure outliers, and one large region of which the model is sure.
    rows = np.concatenate([np.eye(4)[:3], np.tile(np.eye(4)[3], (40, 1))])
    beliefs = np.full((43, 2), [0.99, 0.01])
    beliefs[:3] = 0.5
    table = next_labels(beliefs, rows, 1, classes=np.arange(2), labelled=np.ones(43, dtype=bool))
    assert table["node"][0] >= 3


def test_costly_and_forbidden_nodes_are_left() -> None:
    rows = np.eye(4)
    uncertainty = np.array([0.9, 0.8, 0.7, 0.6])
    allowed, cost = np.array([False, True, True, True]), np.array([1.0, 10.0, 1.0, 1.0])
    chosen, _ = choose_nodes(uncertainty, rows, 2, allowed=allowed, cost=cost)
    assert chosen.tolist() == [2, 3]


@pytest.fixture(scope="module")
def model() -> qg.NodeClassifier:
    clean, reference = load_benchmark("digits", seed=0)
    setting = parse_noise("annotators:2:0.95/0.6/spammer")
    return qg.S2GC(seed=0).fit(apply_noise(clean, setting, seed=0, reference=reference))


def test_nobody_is_asked_twice_and_the_best_annotator_most(model: qg.NodeClassifier) -> None:
    table = model.next_labels(60)
    assert len(table) == 60
    for row in table.itertuples():
        assert f"{row.annotator}:" not in str(row.given)
    assert table["annotator"].value_counts().index[0] == "0 (0.95)"
    assert {"label", "label again"} >= set(table["action"])
    assert (table["gain"].diff().dropna() <= 1e-9).mean() > 0.5


def test_an_annotator_can_be_named_and_nodes_be_limited(model: qg.NodeClassifier) -> None:
    among = np.arange(100)
    table = model.next_labels(10, annotator="Ann", among=among)
    assert set(table["annotator"]) == {"Ann"}
    assert set(table["node"]) <= set(among.tolist())


def test_costs_move_the_work_to_cheaper_annotators(model: qg.NodeClassifier) -> None:
    table = model.next_labels(30, costs={"0 (0.95)": 100.0})
    assert "1 (0.6)" in set(table["annotator"])
    with pytest.raises(qg.UnknownNameError, match="no annotator 'Eve'"):
        model.next_labels(3, costs={"Eve": 2.0})
    with pytest.raises(qg.InvalidParameterError, match="one label or more"):
        model.next_labels(0)


def test_the_command_line_writes_a_table_that_fit_takes_back(tmp_path: Path) -> None:
    clean, reference = load_benchmark("digits", seed=0)
    setting = parse_noise("annotators:2:0.8/0.6/spammer")
    answers = apply_noise(clean, setting, seed=0, reference=reference).annotations
    assert answers is not None
    answers.to_frame(clean.node_ids).to_csv(tmp_path / "crowd.csv", index=False)
    fit = ("fit", "digits", "--method", "s2gc", "--annotations", tmp_path / "crowd.csv")
    printed(*fit, "--out", tmp_path / "run")
    lines = (tmp_path / "run" / "evidence.jsonl").read_text().splitlines()
    queue = [json.loads(line)["node"] for line in lines]
    said = printed("label", "next", tmp_path / "run", "--budget", 20, "--annotator", "Ann")
    assert "20 labels to give" in said
    path = tmp_path / "run" / "next_labels.csv"
    table = pd.read_csv(path)
    again = table[table["action"] == "label again"]["node"].astype(str).tolist()
    assert set(again[:5]) <= set(queue[:50])  # review goes through the same nodes first
    assert not clean.split.test.numpy()[table["node"]].any()
    table.assign(label=reference.codes.numpy()[table["node"]]).to_csv(path, index=False)
    again = printed(*fit, "--labels", path, "--out", tmp_path / "again")
    assert "Ann" in again
    given = pd.read_csv(tmp_path / "again" / "annotators.csv").set_index("annotator")["answers"]
    assert given["Ann"] == 20  # of nodes without a label too
    verified = printed(*fit, "--verified", path, "--out", tmp_path / "sure")
    assert "report" in verified
    named = ("label", "next", tmp_path / "run", "--out", tmp_path / "other.csv", "--annotator")
    assert "new annotator; '2 (spammer)' has answered" in " ".join(
        call(*named, "2 (Spammer)").stderr.split()
    )
    assert "no run folder" in str(refused("label", "next", tmp_path))
