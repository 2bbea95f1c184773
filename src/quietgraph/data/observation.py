"""What a method learns from, `Observation`, and what scores it, `Reference`: kept apart."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pandas as pd
import torch

from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import Annotations, AnnotationsLike, one_annotator
from quietgraph.data.folds import hold_out
from quietgraph.data.labels import check_mask, encode_labels, labels_of_pyg
from quietgraph.data.splits import Split, no_node, split_labelled
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import Graph
from quietgraph.graph.io import Corrections, Encoding, Understood
from quietgraph.graph.io.labels import FEW_LABELS
from quietgraph.html import facts_html
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask, MaskLike, ValuesLike

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, HeteroData

OBSERVED: Final = "observed"  # the annotator who gave the labels of the graph itself
_KEPT: Final = (
    "name",
    "node_ids",
    "verified",
    "before_review",
    "understood",
    "encoding",
    "changes",
)
_SHOWN_CLASSES: Final = 10


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
        before_review: Observed class of each node before people decided on labels [nodes]; None
            where they did not, or where it is not known.
        understood: What the reader made of the files; None where there were none.
        encoding: How columns became features, to read a grown graph the same way.
        changes: What was done to the labels since they were observed, in words.
        annotations: Answers of several annotators, where there are any; the codes of their nodes
            are a majority vote then, and `fit` learns from a consensus in its place.
    """

    name: str
    graph: Graph
    codes: Labels
    classes: AnyArray
    split: Split
    node_ids: AnyArray = field(default=None, kw_only=True)  # type: ignore[arg-type]
    verified: Mask = field(default=None, kw_only=True)  # type: ignore[assignment]
    before_review: Labels | None = field(default=None, kw_only=True)
    understood: Understood | None = field(default=None, kw_only=True)
    encoding: Encoding | None = field(default=None, kw_only=True)
    changes: tuple[str, ...] = field(default=(), kw_only=True)
    annotations: Annotations | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        nodes = self.graph.num_nodes
        if self.node_ids is None:
            object.__setattr__(self, "node_ids", np.arange(nodes))
        if self.verified is None:
            object.__setattr__(self, "verified", no_node(self.split.train))
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
    def labels(self) -> AnyArray:
        """Observed label values [nodes]; unknown ones are -1 among integers, None otherwise."""
        known, codes = self.known.numpy(), self.codes.numpy()
        if self.classes.dtype.kind in "iu":
            return np.where(known, self.classes[codes], UNKNOWN)
        labels = np.full(len(codes), None, dtype=object)
        labels[known] = self.classes[codes[known]]
        return labels

    @property
    def rare_classes(self) -> dict[str, int]:
        """Classes with too few labels to learn them from, and how many they have."""
        counts = torch.bincount(self.codes[self.known], minlength=len(self.classes)).tolist()
        named = zip((str(name) for name in self.classes), counts, strict=True)
        return {name: count for name, count in named if 0 < count < FEW_LABELS}

    def __repr__(self) -> str:
        train, validation = (self.split.train & self.known, self.split.validation & self.known)
        return (
            f"Observation({self.name!r}, {self.graph}, classes={len(self.classes)}, "
            f"training_labels={int(train.sum())}, validation_labels={int(validation.sum())})"
        )

    def _repr_html_(self) -> str:
        counts = torch.bincount(self.codes[self.known], minlength=len(self.classes)).tolist()
        named = zip((str(name) for name in self.classes), counts, strict=True)
        each = sorted(named, key=lambda pair: -pair[1])
        shown = ", ".join(f"{name} ({count:,})" for name, count in each[:_SHOWN_CLASSES])
        more = ", ..." if len(each) > _SHOWN_CLASSES else ""
        facts = {
            **self.graph.facts(),
            "labels": f"{int(self.known.sum()):,}: {shown}{more}",
            "of these for training": int((self.split.train & self.known).sum()),
            "of these for validation": int((self.split.validation & self.known).sum()),
        }
        return facts_html(f"Observation {self.name}", facts, (*self.graph.notes, *self.changes))

    def relabel(self, codes: Labels, change: str) -> "Observation":
        """Return it with other labels, and what was done in words."""
        answers = self.annotations
        if answers is not None:  # a label that is dropped takes the answers on its node along
            answers = answers.within(codes != UNKNOWN)
        return replace(self, codes=codes, changes=(*self.changes, change), annotations=answers)

    def annotate(self, source: "AnnotationsLike") -> "Observation":
        """Return it with the answers of several annotators.

        Labels of a benchmark dataset are true ones, so the answers take their place, but for those
        on test nodes, which are not used; labels of one's own count as those of an annotator
        `observed`.

        Args:
            source: What `read_annotations` takes.
        """
        answers = read_annotations(source, self.node_ids, self.classes)
        if not self.split.test.any():
            own = one_annotator(self.codes, self.classes, OBSERVED)
            return replace(
                observe_annotations(self.graph, own.joined(answers), self.split.validation),
                **{name: getattr(self, name) for name in _KEPT},
            )
        answers = answers.within(~self.split.test)
        if not len(answers):
            raise InvalidLabelsError(
                f"every answer is about a test node of {self.name}, and these are not used. "
                "Answer others."
            )
        names = "1 annotator" if len(answers.names) == 1 else f"{len(answers.names)} annotators"
        change = f"{len(answers)} answers of {names} in place of the labels"
        split = replace(self.split, train=answers.answered & ~self.split.validation)
        relabelled = self.relabel(answers.majority(), change)
        return replace(relabelled, annotations=answers, split=split)

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
        corrected = int(changed.sum()) - dropped
        words = [f"{corrected} label{'' if corrected == 1 else 's'} corrected"]
        words += [f"{int((verified & ~changed).sum())} kept"] if (verified & ~changed).any() else []
        words += [f"{dropped} dropped"] if dropped else []
        fixed = self.relabel(codes, f"{', '.join(words)} by {corrections.path.name}")
        before = corrections.observed(self.codes, self.classes, self.node_ids)
        if self.before_review is not None:
            before = torch.where(self.verified, self.before_review, before)
        verified |= self.verified & ~changed
        return replace(fixed, verified=verified, before_review=before)

    def drop(self, suspects: pd.DataFrame, count: int) -> "Observation":
        """Return it without the labels of the first suspects, two of each class at least kept.

        Args:
            suspects: Most suspicious first.
            count: How many labels to drop; never one that is no issue, and so none where the
                predictions cannot be trusted.
        """
        codes, dropped = self.codes.clone(), 0
        left = torch.bincount(codes[self.known], minlength=len(self.classes))
        for node in suspects["node"][suspects["is_issue"]]:
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


GraphLike: TypeAlias = "Graph | Observation | Data | HeteroData | nx.Graph"  # what `fit` takes


def observe(
    graph: "GraphLike",
    labels: ValuesLike | None = None,
    validation: MaskLike | None = None,
    *,
    annotations: "AnnotationsLike | None" = None,
    seed: int = 0,
    node_ids: AnyArray | None = None,
) -> Observation:
    """Return labels of any type on a graph as an observation.

    Args:
        graph: An `Observation` (taken as it is), a `Graph`, or a PyG `Data` (alone: with y,
            train_mask and val_mask).
        labels: One entry per node; -1, None or NaN = unknown.
        validation: Mask or indices of labelled nodes that are held out for choices; without it a
            stratified fifth of the labels is held out.
        annotations: Answers of several annotators, as `read_annotations` takes them.
        seed: Decides which labels are held out.
        node_ids: The user's ids [nodes]; positions without them.
    """
    if isinstance(graph, Observation):
        if labels is not None or validation is not None:
            raise InvalidLabelsError(
                "an observation has labels and validation nodes already. Give it alone, or give "
                "its graph with other labels."
            )
        return graph if annotations is None else graph.annotate(annotations)
    if not isinstance(graph, Graph):
        if labels is None and annotations is None:
            labels, validation = labels_of_pyg(graph)
        graph = Graph.from_pyg(graph)
    if labels is None and annotations is not None:
        answers = read_annotations(annotations, range(graph.num_nodes))
        mask = None if validation is None else check_mask(validation, graph.num_nodes)
        return observe_annotations(graph, answers, mask, seed=seed)
    codes, classes = encode_labels(labels, graph.num_nodes)
    if validation is None:
        mask = hold_out(codes, seed=seed)
    else:
        mask = check_mask(validation, graph.num_nodes)
    split = split_labelled(codes, mask)
    found = Observation("graph", graph, codes, classes, split, node_ids=node_ids)  # type: ignore[arg-type]
    return found if annotations is None else found.annotate(annotations)


def observe_annotations(
    graph: Graph, answers: Annotations, validation: Mask | None = None, *, seed: int = 0
) -> Observation:
    """Return a graph whose labels are the answers of several annotators.

    Args:
        graph: Without labels.
        answers: On its nodes.
        validation: Nodes that are held out for choices [nodes]; without it, or where it holds
            none of the answered nodes, a stratified fifth of these.
        seed: Decides which.
    """
    codes = answers.majority()
    if int((codes != UNKNOWN).sum()) < 2:
        raise InvalidLabelsError(
            "annotations must be about two nodes at least, got one. Label some more nodes."
        )
    if validation is None or not (validation & (codes != UNKNOWN)).any():
        validation = hold_out(codes, seed=seed)
    split = split_labelled(codes, validation)
    return Observation("graph", graph, codes, answers.classes, split, annotations=answers)
