"""A graph read from disk, and what was understood of it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quietgraph.graph.graph import Graph
from quietgraph.graph.readers.encoding import Encoding


@dataclass(frozen=True)
class Understood:
    """What a file was taken to mean, to be shown before anything is learned from it.

    Attributes:
        form: The format in words.
        nodes: Number of nodes.
        edges: Number of undirected edges kept.
        features: Number of feature columns.
        columns: What each column became, in words.
        label_column: Where the labels come from; None without labels.
        classes: Labelled nodes of each class, largest first, by the label as text.
        labelled: Nodes with a label.
        isolated: Nodes without edges.
        self_loops: Edges from a node to itself, removed.
        duplicates: Edges given twice in the same direction, removed.
        opposite: Edges given in both directions, counted once.
        homophily: Share of edges between labelled nodes that join equal labels; None without.
        notes: What else a user should know.
    """

    form: str
    nodes: int
    edges: int
    features: int
    columns: tuple[str, ...]
    label_column: str | None
    classes: dict[str, int]
    labelled: int
    isolated: int
    self_loops: int
    duplicates: int
    opposite: int
    homophily: float | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return everything in words, one line each."""
        share = 100 * self.labelled / self.nodes
        largest = ", ".join(f"{name} {count:,}" for name, count in list(self.classes.items())[:8])
        more = ", ..." if len(self.classes) > 8 else ""
        alike = "unknown" if self.homophily is None else f"{self.homophily:.2f}"
        return [
            f"{self.form}: {self.nodes:,} nodes, {self.edges:,} edges, {self.features:,} features, "
            f"{len(self.classes)} classes",
            f"labels: {self.labelled:,} of {self.nodes:,} nodes ({share:.1f} %)"
            + (f" in {self.label_column}: {largest}{more}" if self.labelled else ""),
            f"features: {'; '.join(self.columns)}",
            f"edges: {self.isolated:,} isolated nodes, {self.duplicates:,} duplicates and "
            f"{self.self_loops:,} self-loops removed, {self.opposite:,} given in both directions "
            f"counted once; homophily among labelled nodes {alike}",
            *(f"note: {note}" for note in self.notes),
        ]


@dataclass(frozen=True, eq=False)
class ReadGraph:
    """A graph with the labels and ids that its file gives the nodes.

    Attributes:
        graph: Checked; it carries no labels.
        labels: All whole numbers or all texts, None = unknown [nodes] object.
        node_ids: As the file has them [nodes] object.
        encoding: How the features were made, to read a grown graph the same way.
        understood: What to tell the user.
        validation: Nodes to choose by [nodes] bool; None where the file does not say.
    """

    graph: Graph
    labels: np.ndarray[Any, Any]
    node_ids: np.ndarray[Any, Any]
    encoding: Encoding
    understood: Understood
    validation: np.ndarray[Any, np.dtype[np.bool_]] | None = None
