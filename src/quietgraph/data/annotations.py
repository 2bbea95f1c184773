"""Labels of several annotators (people, language models, rules) as one checked value."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_matrix

from quietgraph.data.labels import class_codes
from quietgraph.errors import InvalidLabelsError, UnknownNameError
from quietgraph.graph.io.tables import MISSING, id_keys, open_database, open_table
from quietgraph.types import UNKNOWN, AnyArray, FloatArray, IntArray, Labels, Mask

_NODE: Final = ("node", "id", "node_id", "index", "task")
_WHO: Final = ("annotator", "worker", "annotator_id")


@dataclass(frozen=True, eq=False)
class Annotations:
    """Answers of annotators; each has at most one answer for a node."""

    names: tuple[str, ...]  # of the annotators
    classes: AnyArray  # label value of each class code
    num_nodes: int
    nodes: IntArray  # position of the node that each answer is about [answers]
    annotators: IntArray  # who gave it, as a position in `names` [answers]
    codes: IntArray  # class code of the answer [answers]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def answered(self) -> Mask:
        """Nodes with an answer [nodes]."""
        mask = torch.zeros(self.num_nodes, dtype=torch.bool)
        mask[torch.from_numpy(self.nodes)] = True
        return mask

    def votes(self) -> FloatArray:
        """Return how many annotators named each class [nodes, classes]."""
        shape = (self.num_nodes, len(self.classes))
        return csr_matrix((np.ones(len(self)), (self.nodes, self.codes)), shape=shape).toarray()

    def majority(self) -> Labels:
        """Return the class that most annotators named, the more frequent one at a tie, -1 without answers [nodes]."""
        votes = self.votes()
        best = (votes + 0.5 * votes.sum(axis=0) / max(len(self), 1)).argmax(axis=1)
        return torch.from_numpy(np.where(votes.sum(axis=1) > 0, best, UNKNOWN))

    def within(self, mask: Mask) -> "Annotations":
        """Return the answers on some nodes; annotators without one stay in `names`."""
        kept = mask.numpy()[self.nodes]
        parts = {name: getattr(self, name)[kept] for name in ("nodes", "annotators", "codes")}
        return replace(self, **parts)

    def joined(self, codes: Labels, name: str) -> "Annotations":
        """Return it with one more annotator, whose labels have an entry per node."""
        if name in self.names:
            raise InvalidLabelsError(f"the annotator '{name}' is there twice. Give one of the two another name.")
        nodes = np.flatnonzero(codes.numpy() != UNKNOWN)
        return replace(
            self,
            names=(*self.names, name),
            nodes=np.concatenate([self.nodes, nodes]),
            annotators=np.concatenate([self.annotators, np.full(len(nodes), len(self.names))]),
            codes=np.concatenate([self.codes, codes.numpy()[nodes]]),
        )

    def to_frame(self, ids: AnyArray) -> pd.DataFrame:
        """Return one row per answer, as `read_annotations` takes it.

        Args:
            ids: Of the nodes [nodes].
        """
        who = np.array(self.names, dtype=object)[self.annotators]
        return pd.DataFrame({"node": np.asarray(ids)[self.nodes], "annotator": who, "label": self.classes[self.codes]})


def read_annotations(source: Any, ids: AnyArray, classes: AnyArray | None = None) -> Annotations:
    """Return the answers of several annotators on the nodes of a graph.

    A long table has the columns node, annotator and label; a wide table has a column node and one column per annotator.
    A cell that is empty or means unknown in tables is no answer.

    Args:
        source: A file (CSV, Parquet, Excel), a DataFrame, `Annotations`, or a list of files and DataFrames.
        ids: Of the nodes [nodes].
        classes: Label values that may occur, in order; without them, those of the answers.
    """
    if isinstance(source, Annotations):
        return source
    answers = pd.concat([_answers(one) for one in (source if isinstance(source, list | tuple) else [source])])
    keys, where = id_keys(answers["node"]), answers["where"].to_numpy()
    nodes = pd.Index(id_keys(ids)).get_indexer(pd.Index(keys))
    for row in np.flatnonzero(nodes < 0):
        raise InvalidLabelsError(
            f"{where[row]} is about the node '{keys[row]}', which is not in the graph ({int((nodes < 0).sum())} such "
            "answers). Check the ids."
        )
    if classes is None:
        found, classes = class_codes(
            answers["label"].to_numpy(), texts=bool(answers["texts"].all()), where="annotations"
        )
        codes = found.numpy()
    else:
        said = id_keys(answers["label"])
        codes = pd.Index(id_keys(classes)).get_indexer(pd.Index(said))
        for row in np.flatnonzero(codes < 0):
            raise UnknownNameError("class", said[row], id_keys(classes), where=where[row])
    names, annotators = np.unique(id_keys(answers["annotator"]), return_inverse=True)
    once = ~pd.DataFrame([nodes, annotators, codes]).T.duplicated().to_numpy()
    for row in np.flatnonzero(pd.DataFrame([nodes, annotators]).T.duplicated().to_numpy() & once):
        raise InvalidLabelsError(
            f"{where[row]} contradicts an earlier answer of the annotator '{names[annotators[row]]}' on the node "
            f"'{keys[row]}'. Keep one of the two."
        )
    return Annotations(tuple(names.tolist()), np.asarray(classes), len(ids), nodes[once], annotators[once], codes[once])


def _answers(source: Any) -> pd.DataFrame:
    """Return the answers of one source, one row each, and in `where` the place of each."""
    if isinstance(source, pd.DataFrame) and not {str(name).lower() for name in source.columns} & {*_NODE}:
        source = source.rename_axis(index="node").reset_index()
    with open_database() as db:
        table = open_table(db, "annotations", Path(source) if isinstance(source, str) else source)
        table.fill(table.names, missing=MISSING)
        columns = ", ".join(map(table.column, table.names))
        cells = table.arrays(f"SELECT {columns} FROM {{table}} ORDER BY _row")
    frame, known = pd.DataFrame(dict(enumerate(cells)), dtype=object), [name.lower() for name in table.names]
    node, who, label = (next(map(known.index, {*names} & {*known}), None) for names in (_NODE, _WHO, ["label"]))
    if node is None or (who is not None and label is None) or len(known) < 2:
        raise InvalidLabelsError(
            f"{table.where} must have a column node and either annotator and label, or one column per annotator, got "
            f"{', '.join(table.names)}."
        )
    frame["where"] = [f"{table.where}, answer {row + 1}," for row in range(table.rows)]
    if who is not None:
        answers = frame[[node, who, label, "where"]].set_axis(["node", "annotator", "label", "where"], axis=1)
    else:
        others = [place for place in range(len(known)) if place != node]
        parts = [frame[[node, place, "where"]].assign(annotator=table.names[place]) for place in others]
        answers = pd.concat([part.set_axis(["node", "label", "where", "annotator"], axis=1) for part in parts])
    answers = answers[answers["label"].notna()]
    if not len(answers):
        raise InvalidLabelsError(f"{table.where} holds no answer. Fill in labels of some nodes.")
    for where in answers["where"][answers["annotator"].isna()]:
        raise InvalidLabelsError(f"{where} has a label but no annotator. Say who gave it.")
    return answers.assign(texts=table.is_text)
