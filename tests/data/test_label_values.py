"""Labels of any kind stay what they are."""

import datetime
import decimal
import json
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.data.label_values import classes_from_json, classes_to_json
from quietgraph.data.labels import encode_labels
from quietgraph.errors import InvalidLabelsError
from quietgraph.testing import small_problem

DAY = datetime.date(2020, 1, 1)
PAIRS = {
    "bool": (False, True),
    "float": (0.5, 1.5),
    "beyond float": (2**53, 2**53 + 1),
    "beyond int64": (1, 2**63 + 1),
    "negative and beyond int64": (-5, 2**64 + 1),
    "text with NUL": ("a", "a\0"),
    "date": (DAY, DAY.replace(year=2021)),
    "datetime": (datetime.datetime(2020, 1, 1, 3), datetime.datetime(2020, 1, 1, 4)),
    "timestamp": (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 00:00:00.000000001")),
    "datetime64": (np.datetime64("2020-01-01T00"), np.datetime64("2020-01-02T00")),
    "time": (datetime.time(1), datetime.time(2)),
    "bytes": (b"a", b"a\0"),
    "tuple": ((1, "a"), (2, "b")),
    "tuple of dates": ((DAY,), (DAY.replace(year=2021),)),
    "decimal": (decimal.Decimal("0.1"), decimal.Decimal("0.2")),
    "uuid": (uuid.UUID(int=1), uuid.UUID(int=2)),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_labels_keep_their_values_through_codes_and_json(kind: str) -> None:
    low, high = PAIRS[kind]
    codes, classes = encode_labels([high, low, None, high], 4)
    assert codes.tolist() == [1, 0, -1, 1]
    again = classes_from_json(json.loads(json.dumps(classes_to_json(classes))))
    for found in (classes, again):
        assert list(found) == [low, high]
    assert again.dtype.kind == classes.dtype.kind


@pytest.mark.parametrize("kind", PAIRS)
def test_a_saved_model_answers_in_labels_of_any_kind(kind: str, tmp_path: Path) -> None:
    problem, codes, validation = small_problem()
    pair = PAIRS[kind]
    labels = [None if code < 0 else pair[int(code > 0)] for code in codes]
    model = qg.get_method("s2gc")(epochs=2).fit(problem.graph, labels, validation)
    suspects = model.suspects()
    assert set(suspects["given"]) <= set(pair)
    loaded = qg.load_model(model.save(tmp_path / "model"))
    assert list(loaded.predict()) == list(model.predict())
    assert set(loaded.predict()) <= set(pair)
    assert loaded.suspects().equals(suspects)


@pytest.mark.parametrize(
    "labels", [[{1}, {2}], [1, "a"], [DAY, 1], [frozenset([1]), frozenset([2])]]
)
def test_what_cannot_be_a_label_is_refused_in_one_sentence(labels) -> None:
    with pytest.raises(InvalidLabelsError, match="Convert them"):
        encode_labels(labels, 2)


def test_arrays_of_every_kind_are_taken() -> None:
    days = np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]")
    for labels in (days, pd.Series(days), torch.tensor([0, -1, 1]), np.array([0.5, np.nan, 1.5])):
        assert encode_labels(labels, 3)[0].tolist() == [0, -1, 1]
