"""What a reviewer sees of a node: answers, its own columns, its neighbours with their labels."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd
import torch

from quietgraph.data.observation import Observation
from quietgraph.graph import CSR
from quietgraph.graph.io.node_table import read_node_table
from quietgraph.graph.io.raw import id_key
from quietgraph.types import UNKNOWN, AnyArray

_MAX_TEXT: Final = 12_000  # characters of a cell that are kept for the review
_MAX_NODE: Final = 24_000  # characters of all cells of a node
_MAX_TITLE: Final = 80  # of a neighbour's title
_LONG_FRACTION: Final = re.compile(r"-?(0|[1-9]\d{0,5})\.\d{7,}")  # no code with zeros in front
_MAX_COLUMNS: Final = 60
_MAX_NEIGHBOURS: Final = 12  # with the heaviest edges
_MAX_FEATURES: Final = 12  # the largest ones, of nodes without columns


@dataclass(frozen=True, eq=False)
class Evidence:
    """Describes nodes of an observation.

    Attributes:
        observation: The graph with labels and ids.
        predicted: Predicted label of each node as text [nodes].
        source: Path of the data; its table of nodes is read again. '' without.
    """

    observation: Observation
    predicted: Sequence[str]
    source: str

    @cached_property
    def table(self) -> pd.DataFrame | None:
        """The user's own table of nodes as texts; None where the source has none."""
        table = read_node_table(Path(self.source)) if self.source else None
        if table is None:
            return None
        ids = table[self._id_name(table)].tolist()  # a table of edges, or a changed one, differs
        return table if ids == [id_key(node) for node in self.observation.node_ids] else None

    @cached_property
    def id_column(self) -> str | None:
        """Name of the id column of the table."""
        return None if self.table is None else self._id_name(self.table)

    def _id_name(self, table: pd.DataFrame) -> str:
        encoding = self.observation.encoding
        named = encoding.id_column if encoding else None
        return str(named if named in table.columns else table.columns[0])

    @cached_property
    def label_column(self) -> str | None:
        """Name of the label column of the table."""
        understood = self.observation.understood
        return understood.label_column if understood else None

    def describe(self, nodes: AnyArray) -> Iterator[str]:
        """Yield what is known of some nodes, one JSON object each."""
        titles = self._titles()
        for node in nodes.tolist():
            near, degree = self._neighbours(node)
            neighbours = [
                {
                    "id": self._id(other),
                    "label": self._label(other),
                    "predicted": self.predicted[other],
                    "title": titles(other),
                }
                for other in near
            ]
            known = {
                "node": self._id(node),
                "columns": self._columns(node),
                "neighbours": neighbours,
                "degree": degree,
            }
            yield json.dumps(known, ensure_ascii=True, separators=(",", ":"))

    def _id(self, node: int) -> str:
        return id_key(self.observation.node_ids[node])

    def _label(self, node: int) -> str | None:
        code = int(self.observation.codes[node])
        return None if code == UNKNOWN else str(self.observation.classes[code])

    @cached_property
    def answers(self) -> AnyArray | None:
        """Who said what of each node, in words [nodes]; None without annotators."""
        answers = self.observation.annotations
        return None if answers is None else answers.in_words()

    def _columns(self, node: int) -> list[tuple[str, str]]:
        if self.answers is not None and self.answers[node]:
            return [("answers", _cut(self.answers[node], _MAX_TEXT)), *self._own_columns(node)]
        return self._own_columns(node)

    def _own_columns(self, node: int) -> list[tuple[str, str]]:
        if self.table is None:
            return self._features(node)
        hidden = {self.id_column, self.label_column}
        row = self.table.iloc[node]
        shown = [(str(name), _said(str(row[name]))) for name in row.index if name not in hidden]
        found, room = [], _MAX_NODE
        for name, text in shown[:_MAX_COLUMNS]:
            if text and room > 0:
                found.append((name, _cut(text, min(_MAX_TEXT, room))))
                room -= len(text)
        return found

    def _features(self, node: int) -> list[tuple[str, str]]:
        """Return the largest features of a node whose file has no named columns."""
        features = self.observation.graph.features
        if isinstance(features, CSR):
            start, end = features.row_pointer[node : node + 2].tolist()
            places, values = features.columns[start:end], features.values[start:end]
        else:
            places, values = torch.arange(features.shape[1]), features[node]
        largest = values.abs().topk(min(_MAX_FEATURES, len(values))).indices.sort().values
        found = [(int(places[one]), float(values[one])) for one in largest.tolist()]
        return [(f"feature {place}", f"{value:g}") for place, value in found if value]

    def _neighbours(self, node: int) -> tuple[list[int], int]:
        adjacency = self.observation.graph.adjacency
        start, end = adjacency.row_pointer[node : node + 2].tolist()
        columns, values = adjacency.columns[start:end], adjacency.values[start:end]
        heaviest = torch.argsort(values, descending=True, stable=True)[:_MAX_NEIGHBOURS]
        return columns[heaviest].tolist(), end - start

    def _titles(self) -> Any:
        """Return what gives a node's title: its first column of longer texts."""
        if self.table is None:
            return lambda _: ""
        hidden = {self.id_column, self.label_column}
        names = [name for name in self.table.columns if name not in hidden]
        sample = self.table.head(200)
        texts = [name for name in names if sample[name].str.contains(r"[^\W\d_]{2}").mean() > 0.5]
        if not texts:
            return lambda _: ""
        column = self.table[texts[0]]
        return lambda node: _cut(str(column.iloc[node]), _MAX_TITLE)


def shortened(line: str, *, text: int, neighbours: int) -> dict[str, Any]:
    """Return what `Evidence.describe` said of a node, with shorter texts and fewer neighbours."""
    known: dict[str, Any] = json.loads(line)
    known["columns"] = [(name, _cut(value, text)) for name, value in known["columns"]]
    known["neighbours"] = known["neighbours"][:neighbours]
    return known


def _said(cell: str) -> str:
    """Return a cell as people read it: of a number with a long fraction the first six digits."""
    return f"{float(cell):.6g}" if _LONG_FRACTION.fullmatch(cell) else cell


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
