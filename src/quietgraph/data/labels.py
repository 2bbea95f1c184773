"""Labels and masks as callers give them: checked, as class codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.data.label_values import check_kinds, label_array
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph.from_pyg import is_hetero
from quietgraph.graph.hetero import target_type
from quietgraph.graph.io.result import CodedLabels
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask

_AT_ONCE = 2**22  # labels counted at a time
_MIXTURE = (
    "labels must be all numbers or all texts (or all dates, bytes or tuples), got a mixture. "
    "Convert them to one type."
)


def encode_labels(labels: object, num_nodes: int) -> tuple[Labels, AnyArray]:
    """Return class codes [nodes] and the sorted label values; -1, None and NaN are unknown."""
    if isinstance(labels, CodedLabels) and len(labels) == num_nodes:
        return _encode_coded(labels)
    values, known = known_labels(labels, num_nodes)
    classes, found = _checked_classes(list(values[known]))
    codes = torch.full((num_nodes,), UNKNOWN, dtype=torch.int64)
    codes[torch.from_numpy(known)] = torch.from_numpy(found)
    return codes, classes


def _encode_coded(labels: CodedLabels) -> tuple[Labels, AnyArray]:
    """Return the same of labels that have codes; where these are in order, mapped as they are."""
    size = len(labels.classes)
    counts = np.zeros(size + 1, dtype=np.int64)  # unknown ones first
    for start in range(0, len(labels), _AT_ONCE):
        counts += np.bincount(labels.codes[start : start + _AT_ONCE] + 1, minlength=size + 1)
    values = [value for value, count in zip(labels.classes, counts[1:], strict=True) if count]
    classes, found = _checked_classes([value for value in values if not _is_minus_one(value)])
    table = np.full(size + 1, UNKNOWN, dtype=np.int64)  # -1 is the last one
    is_class = [not _is_minus_one(value) for value in labels.classes]
    table[:-1][is_class & (counts[1:] > 0)] = found
    if np.array_equal(table[:-1], np.arange(size)):
        return torch.from_numpy(labels.codes), classes
    return torch.from_numpy(table[labels.codes]), classes


def _checked_classes(values: list[Any]) -> tuple[AnyArray, AnyArray]:
    """Return the different values in order, and the place of each value among them [values]."""
    if not values:
        raise InvalidLabelsError("no node has a label. Give labels to some nodes of each class.")
    classes, found = _sorted_classes(values)
    check_kinds(classes)
    if len(classes) < 2:
        raise InvalidLabelsError(
            f"labels must have at least two classes, got only '{classes[0]}'. "
            "Label some nodes of another class."
        )
    return classes, found


def known_labels(labels: object, num_nodes: int) -> tuple[AnyArray, Any]:
    """Return labels as objects [nodes] and which of them are known [nodes] bool."""
    values = _label_array(labels)
    if values.ndim != 1 or len(values) != num_nodes:
        raise InvalidLabelsError(
            f"labels must have one entry per node ({num_nodes}), got shape {values.shape}. "
            "Mark unlabelled nodes with -1."
        )
    missing = pd.isna(values)
    known = ~missing
    known[~missing] = [not _is_minus_one(value) for value in values[~missing]]
    return values, known


def _sorted_classes(values: list[Any]) -> tuple[AnyArray, AnyArray]:
    """Return the different values in order, and the place of each value among them [values]."""
    if len({isinstance(value, str) for value in values}) > 1:
        raise InvalidLabelsError(_MIXTURE)
    try:
        array = label_array(values)
        if array.dtype.kind != "O":
            classes, found = np.unique(array, return_inverse=True)
            return classes, found.astype(np.int64)
        places = {value: place for place, value in enumerate(sorted(set(values)))}
    except TypeError as error:  # not hashable, or not comparable with each other
        raise InvalidLabelsError(_MIXTURE) from error
    return label_array(list(places)), np.array([places[value] for value in values])


def labels_of_pyg(data: Any) -> tuple[Tensor, Mask | None]:
    """Return labels and validation mask of PyG data; labels outside its masks are not read."""
    if is_hetero(data):
        data = data[target_type(data)]
    if not hasattr(data, "edge_index") and not hasattr(data, "y"):
        raise InvalidLabelsError(
            f"fit needs a graph, got {type(data).__name__}. Read tables with "
            "quietgraph.load(nodes=..., edges=...) and fit what it returns."
        )
    for name in ("y", "train_mask"):
        if getattr(data, name, None) is None:
            raise InvalidLabelsError(
                f"the PyG data must have {name} when it is given without labels. "
                "Set it, or call fit(graph, labels)."
            )
    allowed = data.train_mask
    validation = getattr(data, "val_mask", None)
    if allowed.dim() != 1:
        raise InvalidLabelsError(
            f"train_mask must have one entry per node, got shape {tuple(allowed.shape)}. "
            "Choose one split, for example data.train_mask[:, 0]."
        )
    if validation is not None:
        allowed = allowed | validation
    given = data.y.reshape(-1)
    if len(given) != len(allowed):
        raise InvalidLabelsError(
            f"y must have one class per node ({len(allowed)}), got shape {tuple(data.y.shape)}. "
            "Of one-hot rows take data.y.argmax(dim=1); several labels per node are not supported."
        )
    labels = torch.full_like(given, UNKNOWN)
    labels[allowed] = given[allowed]
    return labels, validation


def _label_array(labels: Any) -> AnyArray:
    if isinstance(labels, Tensor):
        return labels.detach().cpu().numpy().astype(object)
    if isinstance(labels, pd.Series):
        return np.asarray(labels.astype(object))
    if isinstance(labels, np.ndarray):
        return labels.astype(object) if labels.dtype.kind != "M" else _elements(list(labels))
    if any(isinstance(one, list | np.ndarray) for one in labels):
        return np.array(labels, dtype=object)  # a table: refused by its shape
    return _elements(list(labels))


def _elements(values: Sequence[object]) -> AnyArray:
    """Return one object per label; numpy would take tuples for rows of a table."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _is_minus_one(value: object) -> bool:
    return not isinstance(value, str) and bool(value == UNKNOWN)


def check_mask(mask: object, num_nodes: int) -> Mask:
    """Return a validation mask [nodes] of a mask or of node indices."""
    raw = torch.as_tensor(np.asarray(mask.cpu() if isinstance(mask, Tensor) else mask))
    if raw.dtype == torch.bool:
        if tuple(raw.shape) != (num_nodes,):
            raise InvalidLabelsError(
                f"validation must have one entry per node ({num_nodes}), "
                f"got shape {tuple(raw.shape)}."
            )
        return raw
    if raw.dim() != 1 or raw.dtype.is_floating_point:
        raise InvalidLabelsError("validation must be a mask of True and False, or node indices.")
    if len(raw) and (raw.min() < 0 or raw.max() >= num_nodes):
        raise InvalidLabelsError(f"validation indices must lie in 0 ... {num_nodes - 1}.")
    chosen = torch.zeros(num_nodes, dtype=torch.bool)
    chosen[raw.long()] = True
    return chosen
