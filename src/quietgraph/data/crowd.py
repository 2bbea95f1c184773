"""Simulated annotators: people of several accuracies, one who reads attributes, a spammer."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from quietgraph.data.annotations import Annotations, plain_ranks
from quietgraph.data.annotator_noise import annotator_labels
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Features
from quietgraph.types import AnyArray, Labels, Mask

DEFAULT_MEMBERS: Final = ("0.9", "0.8", "0.65", "0.55", "reader0.7", "spammer")


@dataclass(frozen=True)
class Crowd:
    """Annotators by their text, and how many of them answer for each node.

    Attributes:
        per_node: Answers per node.
        members: An accuracy (`0.8`: mistakes class for class, by a random noise matrix), `reader`
            and an accuracy (learned from attributes, so its errors follow them), or `spammer`
            (any class at random).
    """

    per_node: int
    members: tuple[str, ...] = DEFAULT_MEMBERS

    def __post_init__(self) -> None:
        for member in self.members:
            _accuracy(member)
        if not 1 <= self.per_node <= len(self.members):
            raise InvalidParameterError(
                f"{self.per_node} answers per node need as many annotators or more, got "
                f"{len(self.members)}. Write annotators:3 or annotators:3:0.9/0.7/spammer."
            )

    def __str__(self) -> str:
        return f"{self.per_node}:{'/'.join(self.members)}"

    def annotate(
        self,
        features: Features,
        true: Labels,
        labelled: Mask,
        classes: AnyArray,
        *,
        generator: np.random.Generator,
    ) -> Annotations:
        """Return answers on the labelled nodes, each node's annotators drawn at random.

        Args:
            features: Attributes [nodes, features].
            true: True class of every node [nodes].
            labelled: Nodes that are to be labelled [nodes].
            classes: Label value of each class code [classes].
            generator: Source of all draws.
        """
        nodes = np.flatnonzero(labelled.numpy())
        every = [
            _answers(member, features, true, labelled, len(classes), generator)
            for member in self.members
        ]
        draws = generator.random((len(nodes), len(self.members)))
        asked = np.argsort(draws, axis=1)[:, : self.per_node]  # [nodes, per_node]
        rows, who = np.repeat(nodes, self.per_node), asked.ravel()
        labels = np.stack(every)[who, rows]
        names = tuple(f"{place} ({member})" for place, member in enumerate(self.members))
        nothing = np.full(len(rows), np.nan)
        ranks = plain_ranks(labels, len(classes))
        return Annotations(names, classes, len(true), rows, who, labels, nothing, ranks)


def parse_crowd(text: str) -> Crowd:
    """Return the crowd of a text such as `3` or `3:0.9/0.7/reader0.7/spammer`."""
    count, _, members = text.partition(":")
    if not count.strip().isdigit():
        raise InvalidParameterError(
            f"annotators noise needs a number of answers per node, got '{text}'. Write "
            "annotators:3 or annotators:3:0.9/0.7/reader0.7/spammer."
        )
    named = tuple(part.strip() for part in members.split("/")) if members else DEFAULT_MEMBERS
    return Crowd(int(count), named)


def _accuracy(member: str) -> float:
    """Return the accuracy that a member is meant to have; 0 for a spammer."""
    if member == "spammer":
        return 0.0
    try:
        accuracy = float(member.removeprefix("reader"))
    except ValueError:
        accuracy = float("nan")
    if not 0 <= accuracy <= 1:
        raise InvalidParameterError(
            f"an annotator is an accuracy such as 0.8, reader0.7 or spammer, got '{member}'."
        )
    return accuracy


def _answers(  # noqa: PLR0917
    member: str,
    features: Features,
    true: Labels,
    labelled: Mask,
    num_classes: int,
    generator: np.random.Generator,
) -> AnyArray:
    """Return what a member would answer for every labelled node [nodes]."""
    codes = true.numpy()
    if member == "spammer":
        return generator.integers(num_classes, size=len(codes))
    accuracy = _accuracy(member)
    if member.startswith("reader"):
        answers = annotator_labels(features, true, labelled, 1 - accuracy, generator=generator)
        return answers.numpy()
    weights = generator.random((num_classes, num_classes))
    np.fill_diagonal(weights, 0)
    matrix = (1 - accuracy) * weights / weights.sum(axis=1, keepdims=True)
    np.fill_diagonal(matrix, accuracy)
    upto = matrix.cumsum(axis=1)[np.maximum(codes, 0)]
    draws = generator.random((len(codes), 1)) * upto[:, -1:]
    return np.asarray((upto <= draws).sum(axis=1).clip(max=num_classes - 1))
