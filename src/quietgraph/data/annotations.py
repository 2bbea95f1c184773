"""Labels of several annotators (people, language models, rules) as one checked value."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_matrix

from quietgraph.errors import InvalidLabelsError
from quietgraph.graph.io.raw import id_key
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask, ValuesLike

COLUMNS: Final = ("node", "annotator", "label", "confidence", "ranking")
_MOST_NAMED: Final = 5  # annotators in notes of their own


# What `read_annotations` takes.
AnnotationsLike: TypeAlias = "str | Path | pd.DataFrame | Annotations | ValuesLike"


@dataclass(frozen=True, eq=False)
class Annotations:
    """Answers of annotators; each has at most one answer for a node.

    Attributes:
        names: Of the annotators.
        classes: Label value of each class code [classes].
        num_nodes: Of the graph.
        nodes: Position of the node that each answer is about [answers].
        annotators: Who gave it, as a position in `names` [answers].
        labels: Class code of the answer [answers].
        confidences: Confidence of the annotator, 0 to 1; NaN where it is not said [answers].
        ranks: Place of every class in the annotator's ranking, 0 = the answer itself, as many as
            there are classes = not named [answers, classes].
    """

    names: tuple[str, ...]
    classes: AnyArray
    num_nodes: int
    nodes: AnyArray
    annotators: AnyArray
    labels: AnyArray
    confidences: AnyArray
    ranks: AnyArray

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def counts(self) -> AnyArray:
        """Number of answers of each annotator [annotators]."""
        return np.bincount(self.annotators, minlength=len(self.names))

    @property
    def answered(self) -> Mask:
        """Nodes with an answer [nodes]."""
        mask = torch.zeros(self.num_nodes, dtype=torch.bool)
        mask[torch.from_numpy(self.nodes)] = True
        return mask

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the annotators, one sentence each."""
        few = [name for name, count in zip(self.names, self.counts, strict=True) if count == 1]
        if len(few) > _MOST_NAMED:
            return (
                f"{len(few):,} annotators, such as '{few[0]}', gave one answer only: their quality "
                "is taken from the others",
                *self._misspelt(),
            )
        words = (
            f"the annotator '{name}' gave one answer only: its quality is taken from the others"
            for name in few
        )
        return (*words, *self._misspelt())

    def _misspelt(self) -> list[str]:
        """Return what to say of classes of one answer whose name is like another's."""
        named = np.bincount(self.labels, minlength=len(self.classes))
        others = [str(name) for name in self.classes[named > 1]]
        rare = [str(name) for name in self.classes[named == 1][:_MOST_NAMED]]
        return [
            f"the class '{name}' has one answer only: is '{near}' meant?"
            for name in rare
            for near in difflib.get_close_matches(name, others, n=1, cutoff=0.7)
        ]

    def votes(self) -> AnyArray:
        """Return how many annotators named each class [nodes, classes]."""
        ones = np.ones(len(self))
        shape = (self.num_nodes, len(self.classes))
        return np.asarray(csr_matrix((ones, (self.nodes, self.labels)), shape=shape).todense())

    def majority(self) -> Labels:
        """Return the class that most annotators named, -1 without answers [nodes].

        Ties go to the class that has more answers over all nodes.
        """
        votes = self.votes()
        shares = votes.sum(axis=0) / max(len(self), 1)
        best = (votes + 0.5 * shares).argmax(axis=1)
        return torch.from_numpy(np.where(votes.sum(axis=1) > 0, best, UNKNOWN))

    def within(self, mask: Mask) -> "Annotations":
        """Return the answers on some nodes; annotators without one stay in `names`."""
        kept = mask.numpy()[self.nodes]
        parts = ("nodes", "annotators", "labels", "confidences", "ranks")
        return replace(self, **{name: getattr(self, name)[kept] for name in parts})

    def joined(self, other: "Annotations") -> "Annotations":
        """Return the answers of both; an annotator of the same name in both is refused."""
        shared = {*self.names} & {*other.names}
        if shared:
            raise InvalidLabelsError(
                f"the annotator '{min(shared)}' is there twice. Give one of the two another name."
            )
        parts = ("nodes", "labels", "confidences", "ranks")
        both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in parts
        }
        who = np.concatenate([self.annotators, other.annotators + len(self.names)])
        return replace(self, names=(*self.names, *other.names), annotators=who, **both)

    def in_words(self) -> AnyArray:
        """Return who said what, in words [nodes]."""
        words: list[list[str]] = [[] for _ in range(self.num_nodes)]
        for node, who, label in zip(self.nodes, self.annotators, self.labels, strict=True):
            words[node].append(f"{self.names[who]}: {self.classes[label]}")
        return np.array(["; ".join(one) for one in words], dtype=object)

    def to_frame(self, node_ids: Sequence[object] | AnyArray) -> pd.DataFrame:
        """Return one row per answer, as `read_annotations` takes it.

        Args:
            node_ids: Of the nodes [nodes].
        """
        named = [str(name) for name in self.classes]
        table = pd.DataFrame(
            {
                "node": [id_key(node) for node in np.asarray(node_ids)[self.nodes]],
                "annotator": np.array(self.names, dtype=object)[self.annotators],
                "label": self.classes[self.labels],
            }
        )
        if not np.isnan(self.confidences).all():
            table["confidence"] = self.confidences
        if (np.sort(self.ranks, axis=1)[:, 1:2] < len(named)).any():
            table["ranking"] = [_ranking_text(row, named) for row in self.ranks]
        return table


def one_annotator(codes: Labels, classes: AnyArray, name: str) -> Annotations:
    """Return labels with one entry per node as the answers of one annotator."""
    nodes = np.flatnonzero((codes != UNKNOWN).numpy())
    labels = codes.numpy()[nodes]
    return Annotations(
        (name,),
        classes,
        len(codes),
        nodes,
        np.zeros(len(nodes), dtype=np.int64),
        labels,
        np.full(len(nodes), np.nan),
        plain_ranks(labels, len(classes)),
    )


def plain_ranks(labels: AnyArray, num_classes: int) -> AnyArray:
    """Return the ranks of answers without a ranking [answers, classes]."""
    ranks = np.full((len(labels), num_classes), num_classes, dtype=np.int16)
    ranks[np.arange(len(labels)), labels] = 0
    return ranks


def _ranking_text(row: AnyArray, names: list[str]) -> str:
    order = np.argsort(row, kind="stable")
    return " > ".join(names[code] for code in order if row[code] < len(names))
