"""What a fit is given: labels forgotten and corrected, and who judges."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from quietgraph.bench.given import Given, given_of
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.own_data import OwnData, load
from quietgraph.graph.io import Corrections
from quietgraph.testing import small_problem


@pytest.fixture
def given(tmp_path: Path) -> Given:
    problem, labels, _ = small_problem()
    arrays = {"x": problem.graph.features, "edges": problem.graph.edge_index, "y": labels}
    np.savez(tmp_path / "g.npz", **arrays)
    data = load(tmp_path / "g.npz")
    assert isinstance(data, OwnData)
    return given_of(data, parse_noise("none"), seed=0)


def suspects(nodes: list[int], scores: list[float]) -> pd.DataFrame:
    suggested = ["b" if score > 0 else "a" for score in scores]
    return pd.DataFrame({"node": nodes, "given": "a", "suggested": suggested, "score": scores})


def test_only_accused_labels_are_dropped_in_their_order(given: Given) -> None:
    dropped = given.drop(suspects([4, 2, 7, 9], [0.9, 0.5, 0.1, -0.2]), 2)
    assert [node for node in range(60) if dropped.labels[node] is None] == [2, 4]
    every = given.drop(suspects([4, 2, 7, 9], [0.9, 0.5, 0.1, -0.2]), 10)
    assert every.changes == ("3 of 10 suspicious labels dropped",)
    assert given.labels[4] is not None
    assert every.judges[4] == given.labels[4]


def test_every_class_keeps_two_labels(given: Given) -> None:
    dropped = given.drop(suspects(list(range(60)), [1.0] * 60), 60)
    kept = [label for label in dropped.labels if label is not None]
    assert sorted(kept) == [0, 0, 1, 1, 2, 2]


def test_own_labels_are_never_known_to_be_wrong(given: Given) -> None:
    assert not given.wrong().any()


def test_corrections_may_label_unlabelled_nodes_of_own_data(given: Given) -> None:
    fixed = given.correct(Corrections(Path("fix.csv"), {"0": "", "100": "2"}))
    assert fixed.labels[0] is None
    assert fixed.labels[100] == 2
    assert fixed.changes == ("2 labels corrected by fix.csv",)


def test_a_dataset_keeps_its_noisy_labels_and_its_clean_ones_apart() -> None:
    data = load("sbm")
    given = given_of(data, parse_noise("symmetric:0.4"), seed=0)
    codes = torch.tensor([-1 if label is None else label for label in given.labels])
    assert torch.equal(codes >= 0, data.split.labelled)
    assert given.wrong().sum() == int((codes != data.labels).sum()) > 0
