"""What a method learns from, `Data`, and what scores it, `Truth`: kept apart."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import torch

from quietgraph.data.labels import check_mask, encode_labels, labels_of_pyg
from quietgraph.data.splits import Split, no_node
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import Graph
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask, MaskLike, ValuesLike

if TYPE_CHECKING:
    from quietgraph.data.annotations import Annotations
    from quietgraph.data.load import Source

DataLike: TypeAlias = Any  # a Data, a Graph, a PyG Data or HeteroData, a NetworkX graph


@dataclass(frozen=True, eq=False)
class Data:
    """A graph with observed labels, some of which may be wrong.

    Attributes:
        name: Of the dataset, or the last part of the path.
        graph: It carries no labels.
        codes: Observed class of each node, -1 = unknown [nodes] int64.
        classes: Label value of each code [classes].
        split: Which labels teach and which choose, where that is given; test nodes only where a benchmark has them.
        ids: The user's ids, or positions [nodes].
        verified: Labels that a person has confirmed or corrected [nodes] bool.
        before: Observed class of each node before people decided on labels [nodes]; `codes` where nobody did.
        annotations: Answers of several annotators; `codes` of their nodes are a majority vote then.
        source: Where own tables come from and how their columns became features; None for other graphs.
        notes: What was understood of the source, and what was done to the labels, one sentence each.
    """

    name: str
    graph: Graph
    codes: Labels
    classes: AnyArray
    split: Split
    ids: AnyArray = field(default=None, kw_only=True)  # type: ignore[assignment]
    verified: Mask = field(default=None, kw_only=True)  # type: ignore[assignment]
    before: Labels = field(default=None, kw_only=True)  # type: ignore[assignment]
    annotations: "Annotations | None" = field(default=None, kw_only=True)
    source: "Source | None" = field(default=None, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        nodes = self.graph.num_nodes
        usual = {"ids": np.arange(nodes), "verified": no_node(self.codes), "before": self.codes}
        for name, value in usual.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name in ("codes", "ids", "verified", "before"):
            if len(getattr(self, name)) != nodes:
                raise InvalidLabelsError(
                    f"{name} must have one entry per node ({nodes}), got {len(getattr(self, name))}."
                )

    @property
    def known(self) -> Mask:
        """Nodes with a label [nodes]."""
        return self.codes != UNKNOWN

    @property
    def labels(self) -> AnyArray:
        """Observed label values [nodes]; unknown ones are -1 among integers, None otherwise."""
        known, codes = self.known.numpy(), self.codes.numpy()
        if self.classes.dtype.kind == "i":
            return np.where(known, self.classes[codes], UNKNOWN)
        labels = np.full(len(codes), None, dtype=object)
        labels[known] = self.classes[codes[known]]
        return labels

    def with_codes(self, codes: Labels, note: str) -> Self:
        """Return it with other labels, and what was done in a sentence."""
        return replace(self, codes=codes, before=codes, notes=(*self.notes, note))

    def without_choice(self) -> Self:
        """Return it with all labels alike: none is marked for validation, so every method gets the same labels."""
        split = Split(self.known & ~self.split.test, no_node(self.codes), self.split.test)
        return replace(self, split=split)


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true of a benchmark dataset; only what scores a fitted model receives it.

    Attributes:
        graph: Without attribute noise.
        codes: True class of each node, in the codes of the data, -1 = unknown [nodes].
    """

    graph: Graph
    codes: Labels

    def wrong(self, data: Data) -> Mask:
        """Return which observed labels differ from the true ones [nodes]."""
        return data.known & (self.codes != UNKNOWN) & (data.codes != self.codes)


def as_data(graph: DataLike, labels: ValuesLike | None = None, validation: MaskLike | None = None) -> Data:
    """Return what a caller gave to `fit` as one object.

    Args:
        graph: A `Data` (alone, taken as it is), a `Graph`, a PyG graph (alone: with y, train_mask, val_mask), or a
            NetworkX graph (alone: with node attributes, one of them `label`).
        labels: One entry per node; -1, None or NaN = unknown.
        validation: Mask or indices of labelled nodes that the caller marks for choices; none without it.
    """
    if isinstance(graph, Data):
        if labels is not None or validation is not None:
            raise InvalidLabelsError(
                "the data have labels and validation nodes already. Give them alone, or give data.graph with others."
            )
        return graph
    if type(graph).__module__.startswith("networkx"):
        from quietgraph.data.load import load

        return as_data(load(graph)) if labels is None else as_data(load(graph).graph, labels, validation)
    if not isinstance(graph, Graph):
        if labels is None:
            labels, validation = labels_of_pyg(graph)
        graph = Graph.from_pyg(graph)
    codes, classes = encode_labels(labels, graph.num_nodes)
    marked = no_node(codes) if validation is None else check_mask(validation, graph.num_nodes)
    known = codes != UNKNOWN
    split = Split(known & ~marked, known & marked, torch.zeros_like(known))
    return Data("graph", graph, codes, classes, split)
