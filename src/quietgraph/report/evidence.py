"""What a person sees of a node: its own columns, its neighbours with their labels, and what speaks for which label."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.assessment.assess import Assessment
from quietgraph.classify.smoothing import is_heterophilous
from quietgraph.data.data import Data
from quietgraph.graph.io.tables import id_keys, open_database, open_table
from quietgraph.report.run import is_trusted
from quietgraph.types import UNKNOWN, FloatArray

_MOST_COLUMNS: Final = 40
_LONGEST_CELL: Final = 1_500  # characters
_LONGEST_TITLE: Final = 80
_MOST_NEIGHBOURS: Final = 12  # with the heaviest edges
_SPEAKERS: Final = {
    "neighbours": "its neighbours",
    "nearest": "the nodes nearest to it",
    "attributes": "its own attributes",
}


def own_table(data: Data) -> pd.DataFrame | None:
    """Return the user's table of nodes as texts, one row per node in the order of the graph; None without one."""
    if data.source is None or data.source.nodes is None:
        return None
    with open_database() as db:
        table = open_table(db, "nodes", data.source.nodes)
        cells = ", ".join(f"coalesce(c{place}::VARCHAR, '')" for place in range(len(table.names)))
        frame = db.execute(f"SELECT {cells} FROM {table.given}").df()
    frame.columns = pd.Index(table.names)
    return frame if len(frame) == data.graph.num_nodes else None


@dataclass(frozen=True, eq=False)
class Evidence:
    """Describes nodes of an assessment."""

    assessment: Assessment

    @cached_property
    def table(self) -> pd.DataFrame | None:
        """The user's own columns but id and label as texts, a row per node; None without a table."""
        table, source = own_table(self.assessment.data), self.assessment.data.source
        if table is None or source is None or source.columns is None:
            return None
        return table.drop(columns=[name for name in (source.columns.id, source.columns.label) if name in table.columns])

    @cached_property
    def ids(self) -> list[str]:
        """Ids of all nodes as texts."""
        return id_keys(self.assessment.data.ids)

    @cached_property
    def _names(self) -> list[str]:
        return [str(one) for one in self.assessment.classes]

    @cached_property
    def _titles(self) -> "pd.Series[str] | None":
        """The first column of longer texts, by which people know a node."""
        if self.table is None:
            return None
        wordy = (name for name in self.table if self.table[name].head(200).str.contains(r"[^\W\d_]{2}").mean() > 0.5)
        name = next(wordy, None)
        return None if name is None else self.table[name]

    @cached_property
    def _usual(self) -> FloatArray | None:
        """Mean class shares among the neighbours of each class, where neighbours differ [class, class]."""
        one = self.assessment
        if not is_heterophilous(one.data.graph, one.codes):
            return None
        votes, predicted = one.evidence["neighbours"], one.predictions.numpy()
        known = ~np.isnan(votes).any(axis=1) & (one.codes != UNKNOWN).numpy()
        of_class = np.eye(votes.shape[1])[predicted[known]]
        return (of_class.T @ votes[known] + 1 / votes.shape[1]) / (of_class.sum(axis=0)[:, None] + 1)

    def describe(self, node: int) -> dict[str, Any]:
        """Return what is known of one node as plain values; neighbours as id, title, label and predicted label."""
        data, names = self.assessment.data, self._names
        start, end = data.graph.adjacency.row_pointer[node : node + 2].tolist()
        near, weights = data.graph.adjacency.columns[start:end], data.graph.adjacency.values[start:end]
        heaviest = near[weights.argsort(descending=True, stable=True)][:_MOST_NEIGHBOURS].tolist()
        codes, predicted = self.assessment.codes, self.assessment.predictions
        known = [
            ("" if codes[other] == UNKNOWN else names[codes[other]], names[predicted[other]]) for other in heaviest
        ]
        neighbours = [(self.ids[one], self.title(one), *words) for one, words in zip(heaviest, known, strict=True)]
        said, answers = data.annotations, list[tuple[str, str]]()
        if said is not None:
            places = np.flatnonzero(said.nodes == node)
            answers = [(said.names[said.annotators[at]], str(said.classes[said.codes[at]])) for at in places]
        return {
            "columns": self._columns(node),
            "neighbours": neighbours,
            "degree": end - start,
            "answers": answers,
            "argument": self.argument(node),
        }

    def argument(self, node: int) -> str:
        """Return in a few sentences what speaks for the suggested label and against it, or how sure the label is."""
        one, names = self.assessment, self._names
        given, suggested = int(one.codes[node]), int(one.predictions[node])
        if not is_trusted(one):
            return f"The model cannot judge this label. {self._shares(node)}".strip()
        if given == suggested:
            second = int(np.argsort(-one.posterior[node], kind="stable")[1])
            sure, next_best = one.posterior[node][[given, second]]
            stays = f"'{names[given]}' stays the likeliest ({sure:.0%}), then '{names[second]}' ({next_best:.0%})."
            return f"{stays} {self._shares(node)}".strip()
        found: dict[bool, list[str]] = {True: [], False: []}
        for kind, words in _SPEAKERS.items():
            shares = one.evidence.get(kind)
            if shares is None or np.isnan(shares[node]).any():
                continue
            if kind == "neighbours" and self._usual is not None:
                ratio = np.log(self._usual[suggested] / self._usual[given])
                score, top = float(shares[node] @ ratio), int(np.argmax(shares[node] * np.abs(ratio)))
                new, old = (f"'{names[code]}' {self._usual[code][top]:.0%}" for code in (suggested, given))
                said = f"{shares[node][top]:.0%} {names[top]}, usually of {new}, of {old}"
            else:
                for_new, for_old = shares[node][[suggested, given]]
                score, said = for_new - for_old, f"{for_new:.0%} {names[suggested]}, {for_old:.0%} {names[given]}"
            if score:
                found[score > 0].append(f"{words} ({said})")
        alone = f"Only the model as a whole says '{names[suggested]}': nothing shown here does by itself."
        noise = one.noise.matrix[suggested, given]
        return " ".join(filter(None, [
            f"For '{names[suggested]}': {'; '.join(found[True])}." if found[True] else alone,
            f"Against: {'; '.join(found[False])}." if found[False] else "",
            f"'{names[suggested]}' is called '{names[given]}' in {noise:.0%} of cases here." if noise >= 0.05 else "",
        ]))  # fmt: skip

    def _shares(self, node: int) -> str:
        """Return which class most of the neighbours and of the nearest nodes have."""
        parts = []
        for kind in ("neighbours", "nearest"):
            shares = self.assessment.evidence[kind][node]
            if not np.isnan(shares).any():
                top = int(shares.argmax())
                parts.append(f"{_SPEAKERS[kind]} {shares[top]:.0%} are {self._names[top]}")
        return f"Of {', of '.join(parts)}." if parts else ""

    def _columns(self, node: int) -> list[tuple[str, str]]:
        if self.table is None:
            return []
        row = self.table.iloc[node]
        return [(str(name), str(row[name])[:_LONGEST_CELL]) for name in row.index[:_MOST_COLUMNS] if row[name]]

    def title(self, node: int) -> str:
        """Return by what people know a node; '' without a column of texts."""
        return "" if self._titles is None else self._titles.iloc[node][:_LONGEST_TITLE]
