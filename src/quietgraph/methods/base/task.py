"""What a method is given, and what it gives back."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from quietgraph.data.folds import hold_out
from quietgraph.data.labels import check_mask, encode_labels
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
    mask = None if validation is None else check_mask(validation, graph.num_nodes)
    return _split_labels(graph, codes, mask, len(classes), seed), classes


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
