"""What a method learns from, `Observation`, and what scores it, `Reference`: kept apart."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch

from quietgraph.data.folds import hold_out
from quietgraph.data.labels import check_mask, encode_labels, labels_of_pyg
from quietgraph.data.splits import Split, split_labelled
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import Graph
from quietgraph.graph.io import Corrections, Encoding, Understood
from quietgraph.types import UNKNOWN, Labels, Mask

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Observation:
    """A graph with observed labels, some of which may be wrong.

    Attributes:
        name: Of the dataset, or the last part of the path.
        graph: It carries no labels.
        codes: Observed class of each node, -1 = unknown [nodes] int64.
        classes: Label value of each code [classes].
        split: Training and validation labels; test nodes only where a benchmark has them.
        node_ids: The user's ids, or positions [nodes].
        verified: Labels that a person has confirmed [nodes] bool.
        understood: What the reader made of the files; None where there were none.
        encoding: How columns became features, to read a grown graph the same way.
        changes: What was done to the labels since they were observed, in words.
    """

    name: str
    graph: Graph
    codes: Labels
    classes: _Array
    split: Split
    node_ids: _Array = field(default=None, kw_only=True)  # type: ignore[arg-type]
    verified: Mask = field(default=None, kw_only=True)  # type: ignore[assignment]
    understood: Understood | None = field(default=None, kw_only=True)
    encoding: Encoding | None = field(default=None, kw_only=True)
    changes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        nodes = self.graph.num_nodes
        if self.node_ids is None:
            object.__setattr__(self, "node_ids", np.arange(nodes))
        if self.verified is None:
            object.__setattr__(self, "verified", torch.zeros(nodes, dtype=torch.bool))
        lengths = {
            "codes": len(self.codes),
            "split": len(self.split.train),
            "node_ids": len(self.node_ids),
            "verified": len(self.verified),
        }
        for name, length in lengths.items():
            if length != nodes:
                raise InvalidLabelsError(
                    f"{name} must have one entry per node ({nodes}), got {length}."
                )

    @property
    def known(self) -> Mask:
        """Nodes with a label [nodes]."""
        return self.codes != UNKNOWN

    @property
    def labels(self) -> _Array:
        """Observed label values [nodes]; unknown ones are -1 among integers, None otherwise."""
        known, codes = self.known.numpy(), self.codes.numpy()
        if self.classes.dtype.kind in "iu":
            return np.where(known, self.classes[codes], UNKNOWN)
        labels = np.full(len(codes), None, dtype=object)
        labels[known] = self.classes[codes[known]]
        return labels

    def relabel(self, codes: Labels, change: str) -> "Observation":
        """Return it with other labels, and what was done in words."""
        return replace(self, codes=codes, changes=(*self.changes, change))

    def correct(self, corrections: Corrections) -> "Observation":
        """Return it with the labels that a person kept or corrected, now verified."""
        codes = corrections.apply(self.codes, self.classes, self.node_ids)
        changed = codes != self.codes
        scored = changed & ~self.known & self.split.test
        if scored.any():
            raise InvalidLabelsError(
                f"{corrections.path} gives a label to the node {int(scored.nonzero()[0])}, which "
                f"is a test node of {self.name}. Correct only nodes of suspects.csv."
            )
        verified = torch.from_numpy(corrections.verified(self.node_ids)) & (codes != UNKNOWN)
        dropped = int((changed & (codes == UNKNOWN)).sum())
        words = [f"{int(changed.sum()) - dropped} labels corrected"]
        words += [f"{int((verified & ~changed).sum())} kept"] if (verified & ~changed).any() else []
        words += [f"{dropped} dropped"] if dropped else []
        corrected = self.relabel(codes, f"{', '.join(words)} by {corrections.path}")
        return replace(corrected, verified=(self.verified & ~changed) | verified)

    def drop(self, suspects: pd.DataFrame, count: int) -> "Observation":
        """Return it without the labels of the first suspects, two of each class at least kept.

        Args:
            suspects: Most suspicious first.
            count: How many labels to drop; never one for which no other label is suggested.
        """
        codes, dropped = self.codes.clone(), 0
        left = torch.bincount(codes[self.known], minlength=len(self.classes))
        for node in suspects["node"][suspects["suggested"] != suspects["given"]]:
            if dropped < count and left[codes[node]] > 2:
                left[codes[node]] -= 1
                codes[node] = UNKNOWN
                dropped += 1
        return self.relabel(codes, f"{dropped} of {count} suspicious labels dropped")


@dataclass(frozen=True, eq=False)
class Reference:
    """What is true of a benchmark dataset; only what scores a fitted model receives it.

    Attributes:
        graph: Without attribute noise.
        codes: True class of each node, in the codes of the observation, -1 = unknown [nodes].
    """

    graph: Graph
    codes: Labels

    def wrong(self, observation: Observation) -> Mask:
        """Return which observed labels differ from the true ones [nodes]."""
        return observation.known & (observation.codes != self.codes)


def observe(
    graph: Any, labels: Any = None, validation: Any = None, *, seed: int = 0
) -> Observation:
    """Return labels of any type on a graph as an observation.

    Args:
        graph: An `Observation` (taken as it is), a `Graph`, or a PyG `Data` (alone: with y,
            train_mask and val_mask).
        labels: One entry per node; -1, None or NaN = unknown.
        validation: Mask or indices of labelled nodes that are held out for choices; without it a
            stratified fifth of the labels is held out.
        seed: Decides which.
    """
    if isinstance(graph, Observation):
        if labels is not None or validation is not None:
            raise InvalidLabelsError(
                "an observation has labels and validation nodes already. Give it alone, or give "
                "its graph with other labels."
            )
        return graph
    if not isinstance(graph, Graph):
        if labels is None:
            labels, validation = labels_of_pyg(graph)
        graph = Graph.from_pyg(graph)
    codes, classes = encode_labels(labels, graph.num_nodes)
    if validation is None:
        mask = hold_out(codes, seed=seed)
    else:
        mask = check_mask(validation, graph.num_nodes)
    return Observation("graph", graph, codes, classes, split_labelled(codes, mask))
