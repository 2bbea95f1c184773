"""A graph read from disk, and what was understood of it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from quietgraph.graph.graph import Graph
from quietgraph.graph.io.encoding import Encoding
from quietgraph.types import AnyArray, BoolArray

_SHOWN = 10  # classes and columns that are named
_COUNTS = (
    *("nodes", "edges", "features", "labelled"),
    *("isolated", "self_loops", "duplicates", "opposite"),
)


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

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        """Return what `to_dict` gave; ValueError where something else did."""
        known = {one.name for one in fields(cls)}
        if not isinstance(facts["classes"], dict):
            raise TypeError("classes are no sizes by name")
        texts = [facts["form"], *facts["columns"], *facts["notes"], *facts["classes"]]
        texts += [facts["label_column"]] if facts["label_column"] is not None else []
        counts = [facts[name] for name in _COUNTS] + list(facts["classes"].values())
        alike = facts["homophily"]
        right = set(facts) == known and all(type(one) is str for one in texts)
        right = right and all(type(one) is int and one >= 0 for one in counts)
        right = right and facts["nodes"] >= max(1, facts["labelled"])
        if not right or not (alike is None or isinstance(alike, int | float)):
            raise ValueError("the facts of a read graph are incomplete")
        return cls(**{**facts, "columns": tuple(facts["columns"]), "notes": tuple(facts["notes"])})

    def with_form(self, form: str) -> "Understood":
        """Return the same of another form."""
        return replace(self, form=form)

    def sentences(self) -> list[str]:
        """Return everything in words, one line each."""
        return [
            f"{self.form}: {self.nodes:,} nodes, {self.edges:,} edges, {self.features:,} features",
            *self._of_labels(),
            f"features: {_enumerate(self.columns)}",
            f"edges: directions ignored ({self.opposite:,} given both ways count once), "
            f"{self.duplicates:,} duplicates and {self.self_loops:,} self-loops removed, "
            f"{self.isolated:,} nodes isolated",
            *(f"note: {note}" for note in self.notes),
        ]

    def _of_labels(self) -> list[str]:
        if self.label_column is None:
            return []
        rate = f"{100 * self.labelled / self.nodes:.1f} %"
        sizes = [f"{name} {count:,}" for name, count in self.classes.items()]
        alike = "unknown" if self.homophily is None else f"{self.homophily:.2f}"
        return [
            f"labels: {self.labelled:,} of {self.nodes:,} nodes ({rate}) in {self.label_column}, "
            f"{len(sizes)} classes: {_enumerate(sizes)}; homophily among labelled nodes {alike}"
        ]


def _enumerate(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN:,} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Labels as the codes that a mapped folder holds; a value is looked up when it is asked for.

    Attributes:
        codes: Place of each label among the classes, -1 = unknown [nodes] int64, mapped.
        classes: Label values.
    """

    codes: AnyArray
    classes: list[str | int | bool]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, key: Any) -> Any:
        """Return the values of some nodes, None = unknown."""
        return np.array([*self.classes, None], dtype=object)[self.codes[key]]  # -1 is the last one

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return all values [nodes] object."""
        values: AnyArray = self[:]
        return values if dtype is None else values.astype(dtype)

    def tolist(self) -> list[Any]:
        """Return all values."""
        values: list[Any] = self[:].tolist()
        return values


@dataclass(frozen=True, eq=False)
class ReadGraph:
    """A graph with the labels and ids that its file gives the nodes.

    Attributes:
        graph: Checked; it carries no labels.
        labels: All whole numbers or all texts, None = unknown [nodes] object, or coded.
        node_ids: As the file has them [nodes] object; of a mapped folder whole numbers or texts.
        encoding: How the features were made, to read a grown graph the same way.
        understood: What the user should know.
        validation: Nodes to choose by [nodes] bool; None where the file does not say.
    """

    graph: Graph
    labels: AnyArray | CodedLabels
    node_ids: AnyArray
    encoding: Encoding
    understood: Understood
    validation: BoolArray | None = None
