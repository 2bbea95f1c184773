"""What a method is given, and what it gives back."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.classify import hold_out
from quietgraph.embed import History
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Mask, Scores

_HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Task:
    """A graph and the labels of its training and validation nodes; no other label exists here."""

    graph: Graph
    labels: Labels  # class codes; -1 outside train and validation
    train: Mask
    validation: Mask  # noisy like the training labels; for choices only
    num_classes: int
    seed: int

    @property
    def train_labels(self) -> Labels:
        """Class codes of the training nodes, -1 elsewhere [nodes]."""
        return torch.where(self.train, self.labels, torch.full_like(self.labels, UNKNOWN))

    def without(self, nodes: Mask) -> "Task":
        """Return the task with the labels of some nodes hidden and validation drawn anew."""
        labels = torch.where(nodes, torch.full_like(self.labels, UNKNOWN), self.labels)
        return _split_labels(self.graph, labels, None, self.num_classes, self.seed)

    def to(self, device: torch.device) -> "Task":
        """Return the task on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("labels", "train", "validation")}
        return replace(self, graph=self.graph.to(device), **moved)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method has learned about the nodes of its graph."""

    scores: Scores  # softmax of a row gives probabilities
    embeddings: Embeddings
    history: History = field(default_factory=list)
    state: dict[str, Tensor] = field(default_factory=dict)  # all that new graphs need
    notes: dict[str, float] = field(default_factory=dict)  # choices worth telling, by name


def make_task(
    graph: Graph, labels: Any, validation: Any, seed: int
) -> tuple[Task, np.ndarray[Any, Any]]:
    """Return the checked task and the label value of each class code."""
    codes, classes = encode_labels(labels, graph.num_nodes)
    mask = None if validation is None else _check_mask(validation, graph.num_nodes)
    return _split_labels(graph, codes, mask, len(classes), seed), classes


def encode_labels(labels: Any, num_nodes: int) -> tuple[Labels, np.ndarray[Any, Any]]:
    """Return class codes [nodes] and the sorted label values; -1, None and NaN are unknown."""
    values = _label_array(labels)
    if values.ndim != 1 or len(values) != num_nodes:
        raise InvalidLabelsError(
            f"labels must have one entry per node ({num_nodes}), got shape {values.shape}. "
            "Mark unlabelled nodes with -1."
        )
    missing = pd.isna(values)
    known = ~missing
    known[~missing] = [not _is_minus_one(value) for value in values[~missing]]
    if not known.any():
        raise InvalidLabelsError("no node has a label. Give labels to some nodes of each class.")
    try:
        classes, found = np.unique(np.array(list(values[known])), return_inverse=True)
    except TypeError as error:
        raise InvalidLabelsError(
            "labels must be all numbers or all texts, got a mixture. Convert them to one type."
        ) from error
    kinds = {isinstance(value, str) for value in values[known]}
    if len(kinds) > 1:
        raise InvalidLabelsError(
            "labels must be all numbers or all texts, got a mixture. Convert them to one type."
        )
    if len(classes) < 2:
        raise InvalidLabelsError(
            f"labels must have at least two classes, got only {classes[0]!r}. "
            "Label some nodes of another class."
        )
    codes = torch.full((num_nodes,), UNKNOWN, dtype=torch.int64)
    codes[torch.from_numpy(known)] = torch.from_numpy(found.astype(np.int64))
    return codes, classes


def labels_of_pyg(data: Any) -> tuple[Any, Mask | None]:
    """Return labels and validation mask of a PyG `Data`; labels outside its masks are not read."""
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
    labels = torch.full_like(data.y.reshape(-1), UNKNOWN)
    labels[allowed] = data.y.reshape(-1)[allowed]
    return labels, validation


def _label_array(labels: Any) -> np.ndarray[Any, Any]:
    if isinstance(labels, Tensor):
        return labels.detach().cpu().numpy().astype(object)
    if isinstance(labels, pd.Series):
        return np.asarray(labels.astype(object))
    return np.array(labels, dtype=object)


def _is_minus_one(value: Any) -> bool:
    return not isinstance(value, str) and bool(value == UNKNOWN)


def _check_mask(mask: Any, num_nodes: int) -> Mask:
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


def _split_labels(
    graph: Graph, codes: Labels, validation: Mask | None, num_classes: int, seed: int
) -> Task:
    known = codes != UNKNOWN
    if validation is None:
        validation = hold_out(codes, _HELD_OUT_SHARE, generator=torch_generator(seed, "hold out"))
    held_out, train = known & validation, known & ~validation
    if not train.any():
        raise InvalidLabelsError(
            "validation must leave labels to train on, but it holds all of them."
        )
    if not held_out.any():
        raise InvalidLabelsError(
            "validation must hold some labelled nodes, but it holds none. "
            "Leave it out to let the method hold out a fifth."
        )
    return Task(graph, codes, train, held_out, num_classes, seed)
