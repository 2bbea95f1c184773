"""What a method learns from, `Task`, and what it has learned, `Fitted`."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from quietgraph.data.folds import hold_out
from quietgraph.data.observation import Observation
from quietgraph.data.splits import split_labelled
from quietgraph.embed import History
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import CSR, Graph
from quietgraph.types import UNKNOWN, AnyArray, Embeddings, Labels, Mask, Scores


@dataclass(frozen=True, eq=False)
class Task:
    """A graph and the labels of its training and validation nodes; no other label exists here."""

    graph: Graph
    labels: Labels  # class codes; -1 outside train and validation
    train: Mask
    validation: Mask  # noisy like the training labels; for choices only
    num_classes: int
    seed: int
    verified: Mask | None = None  # labels that a person has confirmed; None: no label was
    before_review: Labels | None = None  # labels before people decided on them; None: not known
    is_fold: bool = False  # some labels are hidden to be predicted out of fold
    weights: Tensor | None = None  # how much a label counts [nodes]; None: all alike
    nodes: Tensor | None = None  # which nodes of the graph the rows are; None: all
    asked: Tensor | None = None  # nodes whose scores are enough, ascending; None: all

    @property
    def train_labels(self) -> Labels:
        """Class codes of the training nodes, -1 elsewhere [nodes]."""
        return torch.where(self.train, self.labels, torch.full_like(self.labels, UNKNOWN))

    @property
    def train_weights(self) -> Tensor | None:
        """How much each training label counts [training nodes]; None: all alike."""
        return None if self.weights is None else self.weights[self.train]

    def keep_verified(self, labels: Labels) -> Labels:
        """Return corrected labels in which every verified label is as it was [nodes]."""
        return labels if self.verified is None else torch.where(self.verified, self.labels, labels)

    def noisy_labels(self, nodes: Mask | slice = slice(None)) -> Labels:
        """Return labels as observed before any review, to estimate label noise from [chosen nodes].

        A reviewer takes the most doubtful labels first, so those that are left are no fair sample.
        Verified labels of which nobody knows what was observed are -1; where all are of that kind,
        the labels of today are returned.

        Args:
            nodes: Which; all without it.
        """
        today = self.labels[nodes]
        if self.verified is None:
            return today
        before = today.new_full((), UNKNOWN)
        if self.before_review is not None:
            before = self.before_review[nodes]
        labels = torch.where(self.verified[nodes] & (today != UNKNOWN), before, today)
        return labels if (labels != UNKNOWN).any() else today

    def before(self) -> "Task":
        """Return the task as it was before any review: labels as observed, none verified."""
        return replace(self, labels=self.noisy_labels(), verified=None, before_review=None)

    def is_verified(self, nodes: Tensor) -> Mask:
        """Return which of some nodes (a mask or indices) have a verified label [chosen nodes]."""
        verified = torch.zeros_like(self.train) if self.verified is None else self.verified
        return verified[nodes]

    def without(self, nodes: Mask) -> "Task":
        """Return the task with the labels of some nodes hidden.

        The others stay training or validation nodes, so that what is measured on the hidden ones
        holds for this task; where none of one kind is left, validation is drawn anew.
        """
        return self.seeing(self.labels.masked_fill(nodes, UNKNOWN))

    def seeing(self, labels: Labels) -> "Task":
        """Return the task of a fold, as `without` does for the labels that are unknown here.

        Args:
            labels: By node of the graph, -1 = hidden or unknown [graph nodes].
        """
        rows = node_rows(len(labels))
        train = rows.numbers(lambda some: self.train[some] & (labels[some] != UNKNOWN))
        validation = rows.numbers(lambda some: self.validation[some] & (labels[some] != UNKNOWN))
        if train.any() and validation.any():
            return replace(self, labels=labels, train=train, validation=validation, is_fold=True)
        split = split_labelled(labels, hold_out(labels, seed=self.seed))
        return replace(
            self,
            labels=labels,
            train=split.train,
            validation=split.validation,
            is_fold=True,
        )

    def on(self, nodes: Tensor) -> "Task":
        """Return the task of some nodes alone; its graph is still that of all nodes."""
        names = ("labels", "train", "validation", "verified", "before_review", "weights")
        given = {name: getattr(self, name) for name in names}
        taken = {name: None if each is None else each[nodes] for name, each in given.items()}
        return replace(self, **taken, nodes=nodes)  # type: ignore[arg-type]

    def whole_labels(self) -> Labels:
        """Return the labels by node of the graph, -1 outside this task [graph nodes]."""
        return self.labels if self.nodes is None else self.spread(self.labels)

    def spread(self, labels: Labels) -> Labels:
        """Return labels of the nodes of this task by node of the graph, -1 elsewhere.

        Of several processes all call it together.
        """
        if self.nodes is None:
            return labels
        nodes = self.nodes

        def fill(rows: slice) -> Labels:
            found = labels.new_full((rows.stop - rows.start,), UNKNOWN)
            ends = torch.tensor([rows.start, rows.stop], device=nodes.device)
            first, last = torch.searchsorted(nodes, ends).tolist()
            found[nodes[first:last] - rows.start] = labels[first:last]
            return found

        return node_rows(self.graph.num_nodes).numbers(fill)

    def neighbours(self) -> CSR:
        """Return the adjacency rows of the nodes of this task [nodes, graph nodes]."""
        adjacency = self.graph.adjacency
        return adjacency if self.nodes is None else adjacency.take_rows(self.nodes)

    def to(self, device: torch.device) -> "Task":
        """Return the task on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("labels", "train", "validation")}
        for name in ("verified", "before_review", "weights"):
            if getattr(self, name) is not None:
                moved[name] = getattr(self, name).to(device)
        return replace(self, graph=self.graph.to(device), **moved)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method has learned about the nodes of its graph."""

    scores: Scores  # softmax of a row gives probabilities
    embeddings: Embeddings
    history: History = field(default_factory=list)
    state: dict[str, Tensor] = field(default_factory=dict)  # all that new graphs need
    notes: dict[str, float] = field(default_factory=dict)  # choices worth reporting, by name


def make_task(observation: Observation, seed: int) -> tuple[Task, AnyArray]:
    """Return the task of an observation and the label value of each of its class codes.

    A class of which no label was observed has no code in the task.
    """
    codes, known = observation.codes, observation.known
    seen, found = torch.unique(codes[known], return_inverse=True)
    if len(seen) < 2 and observation.annotations is not None and len(observation.classes) > 1:
        raise InvalidLabelsError(
            f"the annotators name {len(observation.classes)} classes, but no graph and no other "
            f"annotator supports more than one of them ({observation.classes[seen.numpy()][0]}). "
            "Check the ids of the nodes, or ask more annotators."
        )
    if len(seen) < 2:
        raise InvalidLabelsError(
            f"labels must have at least two classes, got {len(seen)}. Label more nodes."
        )
    before = observation.before_review
    if len(seen) <= int(seen[-1]):
        codes = codes.clone()
        codes[known] = found
        before = None if before is None else _among(before, seen)
    split = observation.split
    if not torch.equal(split.labelled, known) or not (split.train.any() and split.validation.any()):
        split = split_labelled(codes, split.validation)
    task = Task(observation.graph, codes, split.train, split.validation, len(seen), seed)
    if observation.verified.any():
        task = replace(task, verified=observation.verified & known, before_review=before)
    return task, observation.classes[seen.numpy()]


def _among(codes: Labels, seen: Tensor) -> Labels:
    """Return class codes as places among those that are seen, -1 for others [nodes]."""
    places = torch.searchsorted(seen, codes).clamp_max(len(seen) - 1)
    return torch.where(seen[places] == codes, places, UNKNOWN)
