"""Labels in any type; every mistake in labels or validation has its sentence."""

import numpy as np
import pandas as pd
import pytest
import torch

from quietgraph.data.labels import encode_labels
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, UnknownNameError
from quietgraph.graph.io.result import CodedLabels
from quietgraph.methods import get_method
from quietgraph.testing import small_problem


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        ([2, -1, 0], [1, -1, 0], [0, 2]),
        (["b", None, "a"], [1, -1, 0], ["a", "b"]),
        (np.array([1.0, np.nan, 0.0]), [1, -1, 0], [0.0, 1.0]),
        (torch.tensor([5, -1, 3]), [1, -1, 0], [3, 5]),
        (pd.Series(["x", np.nan, "y"]), [0, -1, 1], ["x", "y"]),
        (pd.Series(["x", None, "y"], dtype="category"), [0, -1, 1], ["x", "y"]),
        ([True, None, False], [1, -1, 0], [False, True]),
    ],
    ids=["ints", "texts", "floats", "tensor", "series", "category", "bools"],
)
def test_labels_come_in_many_forms(labels, codes, classes) -> None:
    found, values = encode_labels(labels, 3)
    assert found.tolist() == codes
    assert values.tolist() == classes


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1], r"one entry per node \(3\), got shape \(2,\)"),
        ([-1, None, np.nan], "no node has a label"),
        ([1, 1, -1], "at least two classes, got only"),
        (["a", 1, None], "all numbers or all texts"),
        ([[0], [1], [2]], "one entry per node"),
    ],
)
def test_bad_labels_get_their_sentence(labels, sentence: str) -> None:
    with pytest.raises(InvalidLabelsError, match=sentence):
        encode_labels(labels, 3)


@pytest.mark.parametrize(
    ("validation", "sentence"),
    [
        (np.ones(120, dtype=bool), "must leave labels to train on"),
        (np.arange(120) >= 60, "must hold some labelled nodes"),
        (np.zeros(7, dtype=bool), r"one entry per node \(120\), got shape \(7,\)"),
        ([500], "indices must lie in 0 ... 119"),
        (np.zeros(120), "mask of True and False, or node indices"),
    ],
)
def test_bad_validation_gets_its_sentence(validation, sentence: str) -> None:
    problem, labels, _ = small_problem()
    with pytest.raises(InvalidLabelsError, match=sentence):
        get_method("gcn")(epochs=1).fit(problem.graph, labels, validation)


def test_validation_may_be_indices() -> None:
    problem, labels, mask = small_problem()
    masked = get_method("gcn")(epochs=2).fit(problem.graph, labels, mask)
    indexed = get_method("gcn")(epochs=2).fit(problem.graph, labels, np.flatnonzero(mask))
    np.testing.assert_array_equal(masked.predict_proba(), indexed.predict_proba())


def test_pyg_data_without_labels_or_with_many_splits_says_so() -> None:
    problem, _, _ = small_problem()
    data = problem.graph.to_pyg()
    with pytest.raises(InvalidLabelsError, match="must have y"):
        get_method("gcn")().fit(data)
    data.y = torch.from_numpy(problem.classes)
    data.train_mask = torch.ones(120, 10, dtype=torch.bool)
    with pytest.raises(InvalidLabelsError, match="Choose one split"):
        get_method("gcn")().fit(data)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"rank_ratio": 1.5}, "rank_ratio must be between 0 and 1, got 1.5"),
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"hidden": 2.5}, "hidden must be int, got 2.5"),
        ({"classifier": "svm"}, "classifier must be one of ridge, gradient-descent"),
        ({"temperature": float("nan")}, "temperature must be at least 0.001, got nan"),
        ({"epochs": True}, r"epochs must be int.*, got True"),
    ],
)
def test_bad_parameters_get_their_sentence(parameters, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        get_method("gcl-lrr")(**parameters)


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'gcl-lrr'"):
        get_method("gcl-lr")
    with pytest.raises(UnknownNameError, match="Did you mean 'rank_ratio'"):
        get_method("gcl-lrr")().set_params(rank_ration=0.1)


@pytest.mark.parametrize("classes", [["a", "b", "c"], [3, 1, 2], ["b", "a", "unused"], [-1, 4, 7]])
def test_codes_of_a_mapped_folder_give_the_codes_of_their_values(classes) -> None:
    codes = np.random.default_rng(0).integers(-1, 2 if "unused" in classes else 3, size=50)
    labels = CodedLabels(codes, classes)
    assert labels[:].tolist() == labels.tolist() == list(labels)
    found, names = encode_labels(labels, 50)
    expected, wanted = encode_labels(np.asarray(labels), 50)
    assert torch.equal(found, expected)
    assert names.tolist() == wanted.tolist()
    assert names.dtype == wanted.dtype


def test_codes_that_are_in_order_are_not_copied() -> None:
    codes = np.array([0, -1, 1, 1, 0])
    found, _ = encode_labels(CodedLabels(codes, ["a", "b"]), 5)
    assert found.numpy().ctypes.data == codes.ctypes.data


@pytest.mark.parametrize("codes", [[-1, -1], [0, -1], [0, 0]])
def test_too_few_codes_are_refused_like_values(codes) -> None:
    with pytest.raises(InvalidLabelsError, match=r"no node has a label|at least two classes"):
        encode_labels(CodedLabels(np.array(codes), ["a", "b"]), 2)
