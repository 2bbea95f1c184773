"""Labels of several annotators (people, language models, rules) as one checked value."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_matrix

from quietgraph.data.labels import class_codes
from quietgraph.errors import InvalidLabelsError, UnknownNameError
from quietgraph.graph.io.tables import MISSING, id_keys, open_database, open_table
from quietgraph.types import UNKNOWN, AnyArray, FloatArray, IntArray, Labels, Mask

_NODE: tuple[str, ...] = ("node", "id", "node_id", "index", "task")
_WHO: tuple[str, ...] = ("annotator", "worker", "annotator_id")


@dataclass(frozen=True, eq=False)
class Annotations:
    """Answers of annotators; each has at most one answer for a node.

    Attributes:
        names: Of the annotators.
        classes: Label value of each class code [classes].
        num_nodes: Of the graph.
        nodes: Position of the node that each answer is about [answers].
        annotators: Who gave it, as a position in `names` [answers].
        codes: Class code of the answer [answers].
    """

    names: tuple[str, ...]
    classes: AnyArray
    num_nodes: int
    nodes: IntArray
    annotators: IntArray
    codes: IntArray

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
    tables = pd.concat([_long_table(one) for one in (source if isinstance(source, list | tuple) else [source])])
    keys, where = id_keys(tables["node"]), tables["where"].to_numpy()
    nodes = pd.Index(id_keys(ids)).get_indexer(pd.Index(keys))
    if (nodes < 0).any():
        row = int(np.argmin(nodes))
        raise InvalidLabelsError(
            f"{where[row]} is about the node '{keys[row]}', which is not in the graph ({int((nodes < 0).sum())} such answers). "
            "Check the ids."
        )
    if classes is None:
        codes, classes = class_codes(tables["label"].to_numpy(), texts=bool(tables["texts"].all()), where="annotations")
        found = codes.numpy()
    else:
        named = {key: code for code, key in enumerate(id_keys(classes))}
        said = id_keys(tables["label"])
        wrong = next((row for row, name in enumerate(said) if name not in named), None)
        if wrong is not None:
            raise UnknownNameError("class", said[wrong], named, where=where[wrong])
        found = np.array([named[name] for name in said])
    names, annotators = np.unique(id_keys(tables["annotator"]), return_inverse=True)
    answers = pd.DataFrame({"node": nodes, "who": annotators, "code": found}).drop_duplicates()
    twice = answers.duplicated(["node", "who"]).to_numpy()
    if twice.any():
        row = answers.index[int(twice.argmax())]
        raise InvalidLabelsError(
            f"{where[row]} contradicts an earlier answer of the annotator '{names[annotators[row]]}' on the node '{keys[row]}'. "
            "Keep one of the two."
        )
    return Annotations(
        tuple(names.tolist()), np.asarray(classes), len(ids), *(answers[name].to_numpy() for name in answers)
    )


def _long_table(source: Any) -> pd.DataFrame:
    """Return the answers of one source, one row each, and in `where` the place of each."""
    if not isinstance(source, str | Path | pd.DataFrame):
        raise InvalidLabelsError(f"annotations are read from a file or a DataFrame, got {type(source).__name__}.")
    if isinstance(source, pd.DataFrame) and not {str(name).lower() for name in source.columns} & {*_NODE}:
        source = source.rename_axis(index="node").reset_index()
    with open_database() as db:
        table = open_table(db, "annotations", Path(source) if isinstance(source, str) else source)
        table.fill(table.names, missing=MISSING)
        texts = {
            name: table.arrays(f"SELECT {table.column(name)} AS v FROM {{table}} ORDER BY _row")[0]
            for name in table.names
        }
    frame, known = pd.DataFrame(texts, dtype=object), {name.strip().lower(): name for name in reversed(table.names)}
    node, who = (next((known[name] for name in names if name in known), None) for names in (_NODE, _WHO))
    if node is None:
        raise InvalidLabelsError(f"{table.where} must have a column node, got {', '.join(table.names)}.")
    place = pd.Series([f"{table.where}, answer {row + 1}," for row in range(len(frame))], dtype=object)
    if who is None:
        names = [name for name in table.names if name != node]
        parts = [
            pd.DataFrame({"node": frame[node], "annotator": name, "label": frame[name], "where": place})
            for name in names
        ]
        if not names:
            raise InvalidLabelsError(f"{table.where} has no column of an annotator beside '{node}'.")
        answers = pd.concat(parts)
    elif "label" not in known:
        raise InvalidLabelsError(f"{table.where} must have a column label beside {who}, got {', '.join(table.names)}.")
    else:
        answers = pd.DataFrame(
            {"node": frame[node], "annotator": frame[who], "label": frame[known["label"]], "where": place}
        )
    answers = answers[answers["label"].notna()]
    if not len(answers):
        raise InvalidLabelsError(f"{table.where} holds no answer. Fill in labels of some nodes.")
    lost = answers[answers["annotator"].isna()]
    if len(lost):
        raise InvalidLabelsError(f"{lost['where'].iloc[0]} has a label but no annotator. Say who gave it.")
    return answers.assign(texts=table.is_text)
