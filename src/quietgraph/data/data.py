"""What a method learns from, `Data`, and what scores it, `Truth`: kept apart."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
import torch

from quietgraph.data.labels import check_mask, encode_labels, enumerate_words, labels_of_pyg
from quietgraph.data.splits import Split, no_node
from quietgraph.errors import InvalidLabelsError, UnknownNameError
from quietgraph.graph import Graph
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask, MaskLike, ValuesLike

if TYPE_CHECKING:
    from quietgraph.data.annotations import Annotations
    from quietgraph.data.tables import Source

OBSERVED: Final = "observed"  # the annotator who gave the labels of the graph itself
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
    ids: AnyArray = field(default=None, kw_only=True)  # type: ignore[arg-type]
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

    def annotate(self, answers: Any) -> Self:
        """Return it with the answers of several annotators; the codes of their nodes are a majority vote.

        Labels of one's own count as the answers of an annotator `observed`. Labels of a benchmark dataset are true
        ones, so the answers take their place; those on test nodes are not used.

        Args:
            answers: What `read_annotations` takes.
        """
        from quietgraph.data.annotations import read_annotations

        found = read_annotations(answers, self.ids, self.classes if len(self.classes) else None)
        is_benchmark = bool(self.split.test.any())
        if is_benchmark:
            found = found.within(~self.split.test)
        elif self.known.any():
            found = found.joined(self.codes, OBSERVED)
        if len(found) < 2:
            raise InvalidLabelsError(
                f"annotations must be about two nodes of {self.name} that are no test nodes. Answer others."
            )
        codes = torch.where(self.split.test, self.codes, found.majority()) if is_benchmark else found.majority()
        marked = self.split.validation
        split = Split(found.answered & ~marked, found.answered & marked, self.split.test)
        note = f"{len(found):,} answers of {len(found.names)} annotators" + (
            " in place of the labels" if is_benchmark else ""
        )
        return replace(
            self,
            codes=codes,
            before=codes,
            classes=found.classes,
            split=split,
            annotations=found,
            notes=(*self.notes, note),
        )

    def correct(self, decisions: Any) -> Self:
        """Return it with what people decided about labels: those they kept or corrected are verified.

        Args:
            decisions: What `read_decisions` takes: a file, a run folder, or `Decisions`.
        """
        from quietgraph.data.decisions import VERIFYING, read_decisions
        from quietgraph.graph.io.tables import id_keys

        found, codes = read_decisions(decisions), self.codes.clone()
        before, decided = self.before.clone(), torch.zeros_like(self.known)
        places = {key: place for place, key in enumerate(id_keys(self.ids))}
        known = {key: code for code, key in enumerate(id_keys(self.classes))}
        for node, one in found.by_node.items():
            if node not in places:
                raise InvalidLabelsError(
                    f"{found.name} decides on '{node}', which is no node of {self.name}. Check its id."
                )
            place = places[node]
            if one.label and one.label not in known:
                raise UnknownNameError(f"class (node '{node}' of {found.name})", one.label, known)
            if one.decision == "drop":
                codes[place] = UNKNOWN
            elif one.label:
                codes[place] = known[one.label]
            decided[place] = one.decision in VERIFYING
            if one.given and not self.verified[place]:
                before[place] = known.get(one.given, UNKNOWN)
        changed = codes != self.codes
        if (changed & ~self.known & self.split.test).any():
            raise InvalidLabelsError(
                f"{found.name} labels test nodes of {self.name}. Correct only nodes of suspects.csv."
            )
        verified = (codes != UNKNOWN) & (decided | (self.verified & ~changed))
        dropped, kept = int((changed & (codes == UNKNOWN)).sum()), int((decided & ~changed & (codes != UNKNOWN)).sum())
        counts = {"corrected": int(changed.sum()) - dropped, "kept": kept, "dropped": dropped}
        words = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "none changed"
        answers = None if self.annotations is None else self.annotations.within(codes != UNKNOWN)
        marked, free = self.split.validation, (codes != UNKNOWN) & ~self.split.test
        return replace(
            self,
            codes=codes,
            before=before,
            verified=verified,
            split=Split(free & ~marked, free & marked, self.split.test),
            annotations=answers,
            notes=(*self.notes, f"labels by {found.name}: {words}"),
        )

    def describe(self) -> list[str]:
        """Return what was understood of the source and done to the labels, one sentence each."""
        from quietgraph.data.homophily import measure_homophily

        graph, count = self.graph, int(self.known.sum())
        form = self.name if self.source is None else self.source.form or self.name
        lines = [f"{form}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {graph.num_features:,} features"]
        if count:
            sizes = torch.bincount(self.codes[self.known], minlength=len(self.classes))
            order = sizes.argsort(descending=True, stable=True)
            named = [f"{self.classes[code]} {int(sizes[code]):,}" for code in order.tolist()]
            column = self.source.columns.label if self.source is not None and self.source.columns is not None else None
            alike = measure_homophily(graph, self.codes).observed
            lines.append(
                f"labels: {count:,} of {graph.num_nodes:,} nodes ({100 * count / graph.num_nodes:.1f} %)"
                f"{f' in {column}' if column else ''}, {len(named)} classes: {enumerate_words(named)}; homophily among "
                f"labelled nodes {'unknown' if alike != alike else f'{alike:.2f}'}"  # noqa: PLR0124
            )
        return [*lines, *(one if one.startswith(("features: ", "edges: ")) else f"note: {one}" for one in self.notes)]


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
        from quietgraph.data.load import load, make_source

        if labels is None:
            return load(graph)
        graph = make_source(graph).read().graph
    if not isinstance(graph, Graph):
        if labels is None:
            labels, validation = labels_of_pyg(graph)
        graph = Graph.from_pyg(graph)
    codes, classes = encode_labels(labels, graph.num_nodes)
    marked = no_node(codes) if validation is None else check_mask(validation, graph.num_nodes)
    known = codes != UNKNOWN
    split = Split(known & ~marked, known & marked, torch.zeros_like(known))
    return Data("graph", graph, codes, classes, split)
