"""What the labels of a fit say of its candidates; each is scored once."""

from collections.abc import Callable, Mapping
from typing import Final

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.candidates import Pool, stacked_scores

_ENOUGH: Final = 200  # validation nodes whose mean margin is that of all to a few percent
_FEW: Final = 0.5  # validation labels beside training labels: too few to rename most classes


class LabelledRows(dict[str, Tensor]):
    """Features by kind of the labelled nodes, taken when they are first asked for."""

    def __init__(self, features: Mapping[str, Tensor], nodes: Tensor) -> None:
        super().__init__()
        self._features, self._nodes = features, nodes

    def __missing__(self, kind: str) -> Tensor:
        self[kind] = self._features[kind][self._nodes]
        return self[kind]


class Evaluation:
    """Predictions of candidates for validation nodes, and their mean margins over all nodes.

    What was computed for a candidate is kept under its name. In folds, margins are those of the
    validation nodes where these are enough: nothing is then computed for all nodes.

    Args:
        features: Rows by kind of features [nodes, columns].
        task: Whose validation labels, as noisy as those of training, judge the candidates.

    Attributes:
        task: That of the labelled nodes alone.
        rows: Their features.
        held_out: Features of the validation nodes.
    """

    def __init__(self, features: Mapping[str, Tensor], task: Task) -> None:
        self.nodes = (task.train | task.validation).nonzero().squeeze(1)
        self.task, self.rows = task.on(self.nodes), LabelledRows(features, self.nodes)
        self.held_out = LabelledRows(self.rows, self.task.validation)
        enough = task.is_fold and int(task.validation.sum()) >= _ENOUGH
        self._compared = self.held_out if enough else features
        self._predicted: dict[str, Tensor] = {}
        self._margins: dict[str, Tensor] = {}

    @property
    def labels(self) -> Tensor:
        """Observed labels of the validation nodes [validation nodes]."""
        return self.task.labels[self.task.validation]

    def predicted(self, pool: Pool) -> dict[str, Tensor]:
        """Return the class that each candidate predicts for validation nodes."""

        def largest(scores: Tensor) -> Tensor:
            return scores.argmax(dim=1)

        return self._once(self._predicted, pool, self.held_out, largest)

    def accuracies(self, pool: Pool) -> dict[str, float]:
        """Return the accuracy of each candidate on the (noisy) validation labels."""
        found = self.predicted(pool)
        hits = (torch.stack(list(found.values())) == self.labels).float().mean(dim=1)
        return dict(zip(found, hits.tolist(), strict=True))

    def margins(self, pool: Pool) -> dict[str, Tensor]:
        """Return by how much the best class of a node is ahead of its second on average."""
        return self._once(self._margins, pool, self._compared, _mean_margins)

    @staticmethod
    def _once(
        known: dict[str, Tensor],
        pool: Pool,
        features: Mapping[str, Tensor],
        compute: Callable[[Tensor], Tensor],
    ) -> dict[str, Tensor]:
        missing = {name: each for name, each in pool.items() if name not in known}
        for names, scores in stacked_scores(missing, features):
            known.update(zip(names, compute(scores), strict=True))
        return {name: known[name] for name in pool}


def _mean_margins(scores: Tensor) -> Tensor:
    """Return the mean margin of several candidates [members].

    Args:
        scores: Of the candidates [members, classes, nodes].
    """
    best = scores.max(dim=1, keepdim=True)
    second = scores.scatter(1, best.indices, -torch.inf).amax(dim=1)
    return (best.values.squeeze(1) - second).mean(dim=1).clamp_min(1e-12)


def class_permutations(pool: Pool, evaluation: Evaluation) -> dict[str, Tensor]:
    """Return the order of classes in which a candidate agrees best with validation labels.

    Where half of the few training labels of a class are wrong, a candidate may swap two classes.
    The assignment problem is solved for each; only candidates whose order changes are returned.
    Where few labels choose beside those that teach, an order in which most classes move is left
    out: it agrees better by chance more often than because most training labels are wrong.
    """
    labels, task = evaluation.labels, evaluation.task
    count = task.num_classes
    few = len(labels) < _FEW * int(task.train.sum())
    most = count // 2 if few else count
    orders = {}
    for name, predicted in evaluation.predicted(pool).items():
        agreeing = torch.bincount(labels * count + predicted, minlength=count * count)
        groups = linear_sum_assignment(-agreeing.reshape(count, count).cpu().numpy())[1]
        if 0 < (groups != range(count)).sum() <= most:
            orders[name] = torch.from_numpy(groups).to(labels.device)
    return orders


def permuted(pool: Pool, orders: dict[str, Tensor]) -> Pool:
    """Return the candidates that have a better order of classes, in that order."""
    return {
        f"{name}, classes permuted": each._replace(
            weight=each.weight[:, orders[name]], bias=each.bias[orders[name]]
        )
        for name, each in pool.items()
        if name in orders
    }
