"""On which directions of the kernel labels and label noise lie."""

from dataclasses import dataclass

from torch import Tensor

from quietgraph.diagnostics.kernel import ZERO, Scale, check_problem, cross_product, eigenbasis, one_hot
from quietgraph.types import UNKNOWN, Embeddings, Labels


@dataclass(frozen=True, eq=False)
class Projection:
    """The fraction of each class vector on each eigenvector of K, strongest eigenvector first.

    Attributes:
        classes: The classes whose vector is not zero; the others have no direction.
        by_class: (u_r^T y_c)^2 / |y_c|^2 [classes, ranks], for the ranks with an eigenvalue above zero. The rest of
            each row's sum lies in the null space of K.
        num_nodes: How many eigenvectors K has in all.
    """

    classes: tuple[int, ...]
    by_class: Tensor
    num_nodes: int

    @property
    def scores(self) -> Tensor:
        """The eigen-projection p_r: the mean over the classes [ranks]."""
        return self.by_class.mean(dim=0)

    @property
    def concentration(self) -> Tensor:
        """The signal concentration ratio p_1 + ... + p_r for each rank [ranks]."""
        return self.scores.cumsum(0).clamp(max=1)

    @property
    def beyond(self) -> float:
        """The fraction in the null space of K, which no linear classifier on H can reach."""
        return max(0.0, 1 - float(self.concentration[-1]))

    def concentration_at(self, rank: int) -> float:
        """Return the fraction that the first `rank` of all eigenvectors hold.

        In the null space any basis is as good as another; the fraction there grows linearly, as it does on average
        over all bases.
        """
        inside = len(self.scores)
        if rank <= inside:
            return float(self.concentration[rank - 1]) if rank > 0 else 0.0
        reached = min(1.0, (rank - inside) / max(1, self.num_nodes - inside))
        return float(self.concentration[-1]) + reached * self.beyond

    def rank_holding(self, fraction: float = 0.8) -> int | None:
        """Return the first rank that holds this fraction of the signal; None where all of K together does not."""
        enough = self.concentration >= fraction
        return int(enough.int().argmax()) + 1 if bool(enough.any()) else None


def project(embeddings: Embeddings, targets: Tensor, *, scale: Scale = "unit") -> Projection:
    """Return how the columns of a matrix [nodes, classes], one of them not zero, spread over the eigenvectors of K."""
    norms = targets.square().sum(dim=0)
    present = norms > 0
    values, basis = eigenbasis(embeddings, scale=scale)
    kept = values > ZERO * values[0]
    along = basis[:, kept].T @ cross_product(embeddings, targets[:, present], scale=scale)
    by_class = along.square().T / values[kept] / norms[present].unsqueeze(1)
    return Projection(tuple(present.nonzero().squeeze(1).tolist()), by_class, len(embeddings))


def label_projection(embeddings: Embeddings, labels: Labels, *, scale: Scale = "unit") -> Projection:
    """Return how the labels spread over the eigenvectors of the kernel of the known nodes.

    Nodes with an unknown label are left out together with their row of H: counted as zeros they would look like noise.
    """
    check_problem(embeddings, labels)
    known = labels != UNKNOWN
    return project(embeddings[known], one_hot(labels[known], int(labels.max()) + 1), scale=scale)


def noise_projection(
    embeddings: Embeddings, labels: Labels, reference: Labels, *, scale: Scale = "unit"
) -> Projection | None:
    """Return how the label noise, observed minus reference, spreads over the eigenvectors of K; None without.

    The kernel is that of the nodes known in both.
    """
    check_problem(embeddings, labels, reference)
    known = (labels != UNKNOWN) & (reference != UNKNOWN)
    observed, right = labels[known], reference[known]
    if bool((observed == right).all()):
        return None
    count = int(max(observed.max(), right.max())) + 1
    return project(embeddings[known], one_hot(observed, count) - one_hot(right, count), scale=scale)
