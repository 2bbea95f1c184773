"""Labels in any type; every mistake in labels or validation has its sentence."""

import numpy as np
import pandas as pd
import pytest
import torch

from quietgraph.data.data import as_data
from quietgraph.data.labels import check_mask, encode_labels
from quietgraph.errors import InvalidLabelsError


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        ([2, -1, 0], [1, -1, 0], [0, 2]),
        (["b", None, "a"], [1, -1, 0], ["a", "b"]),
        (np.array(["b", "", "a"]), [1, -1, 0], ["a", "b"]),
        (np.array([1.0, np.nan, 0.0]), [1, -1, 0], [0, 1]),
        (torch.tensor([5, -1, 3]), [1, -1, 0], [3, 5]),
        (np.array([2**63 + 1, 1, 1], dtype=np.uint64), [1, 0, 0], [1, 2**63 + 1]),
        (pd.Series(["x", np.nan, "y"]), [0, -1, 1], ["x", "y"]),
        (pd.Series(["x", None, "y"], dtype="category"), [0, -1, 1], ["x", "y"]),
        (pd.Series([3, None, 4], dtype="Int64"), [0, -1, 1], [3, 4]),
        ([True, None, False], [1, -1, 0], [False, True]),
    ],
)
def test_labels_come_in_many_forms(labels, codes, classes) -> None:
    found, values = encode_labels(labels, 3)
    assert found.tolist() == codes
    assert values.tolist() == classes
    assert type(values.tolist()[0]) is type(classes[0])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1], r"one entry per node \(3\), got shape \(2,\)"),
        ([[0], [1], [2]], "one entry per node"),
        ([-1, None, np.nan], "at least two classes, got no label"),
        ([1, 1, -1], "at least two classes, got only '1'"),
        (["a", 1, None], "all numbers or all texts"),
        ([True, 1, 2], "all numbers or all texts"),
        ([0.5, 1, 2], r"fractions \(0\.5\)"),
        (pd.to_datetime(["2024-01-01"] * 3), r"Convert them with astype\(str\)"),
    ],
)
def test_bad_labels_get_their_sentence(labels, sentence: str) -> None:
    with pytest.raises(InvalidLabelsError, match=sentence):
        encode_labels(labels, 3)


def test_nearly_a_class_per_node_is_refused_at_once() -> None:
    with pytest.raises(InvalidLabelsError, match="30 different labels on 40 nodes are no classes"):
        encode_labels(np.arange(40) % 30, 40)
    assert len(encode_labels(np.arange(40) % 30, 40, classes_max=30)[1]) == 30
    assert len(encode_labels(np.arange(100) % 30, 100)[1]) == 30


def test_a_validation_mask_may_be_indices_each_once() -> None:
    assert check_mask([2, 0], 4).tolist() == [True, False, True, False]
    assert check_mask(torch.tensor([True, False]), 2).tolist() == [True, False]
    for wrong in ([0, 1, 1, 0], np.zeros(4), np.zeros(3, dtype=bool), [9], [-1]):  # the first looks like a mask
        with pytest.raises(InvalidLabelsError, match=r"True and False, or node indices|at most once"):
            check_mask(wrong, 4)


def test_pyg_data_shows_only_labels_inside_its_masks(problem) -> None:
    data = problem.graph.to_pyg()
    with pytest.raises(InvalidLabelsError, match="must have y"):
        as_data(data)
    data.y, data.train_mask, data.val_mask = problem.codes[:, None], problem.split.train, problem.split.validation
    found = as_data(data)
    assert torch.equal(found.known, problem.split.labelled)
    assert torch.equal(found.split.validation, problem.split.validation)
    data.train_mask = torch.ones(40, 10, dtype=torch.bool)
    data.val_mask = None
    with pytest.raises(InvalidLabelsError, match="Choose one split"):
        as_data(data)
    data.y, data.train_mask = torch.eye(40), torch.ones(40, dtype=torch.bool)
    with pytest.raises(InvalidLabelsError, match=r"Of one-hot rows take data\.y\.argmax"):
        as_data(data)
    with pytest.raises(InvalidLabelsError, match="fit needs a graph, got dict"):
        as_data({})
