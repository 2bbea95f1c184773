"""How often each class is labelled as each other one, read off small clusters of labelled nodes.

Nodes that lie together mostly share one true class, so the labels of a small cluster are repeated noisy readings of
one hidden class, and T[c, k] = P(label k | true class c) follows by EM as the error rates of doctors do in Dawid and
Skene (1979). No clean label is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from quietgraph.data.labels import encode_labels
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, FloatArray, ValuesLike

_LABELS_A_CLUSTER = (20, 12, 8)
_RUNS, _PASSES = 8, 4000  # of k-means for each of these sizes; fewer where there are many labels
_MOST = 2000  # labelled nodes that are clustered
_IMPURE = 0.2  # share of other classes in a cluster, for its verified labels
_MOVES = 10  # of the centres, at most
_KAPPAS = torch.tensor([10.0, 20.0, 40.0, 80.0, 200.0], dtype=torch.float64)
_STARTS, _FIRST, _KEPT = 38, 12, 8  # random ones, beside two symmetric; steps after which so many of the best go on
_PRIOR = 50.0  # labels' worth of belief that hidden classes are as common as their labels
_SIZES = 10.0  # the same, where a classifier has found how common they are


@dataclass(frozen=True, eq=False)
class Channel:
    """How true classes become observed labels; of several runs of EM, all with a first axis of runs.

    Attributes:
        matrix: P(label | true class) [classes, classes] float64.
        kappa: How many labels of each class the symmetric channel counts as.
        counts: Expected number of labels by true class and label [classes, classes].
        named: The same, and what else is known of clusters, by true class and name [classes, classes].
        evidence: Log evidence.
    """

    matrix: Tensor
    kappa: Tensor
    counts: Tensor
    named: Tensor
    evidence: Tensor

    def at(self, runs: Tensor) -> "Channel":
        """Return some of the runs."""
        return Channel(*(getattr(self, one.name)[runs] for one in fields(self)))

    def order(self, probabilities: Tensor, labels: Tensor, sure: Tensor) -> Tensor:
        """Return which row is that of each class, now that a classifier has found the sizes of the hidden classes.

        Rows of two small classes may bear each other's names, and then a class with many labels has hardly a node. The
        best names are those of the evidence of the rows, of the sizes, which resemble those of the labels, and of
        verified labels.

        Args:
            probabilities: Of hidden classes of the labelled nodes [nodes, classes].
            labels: Number of labels of each class [classes].
            sure: One-hot verified labels [nodes, classes].
        """
        classes = len(self.matrix)
        alpha = self.kappa * symmetric_channel(_rates(self.counts[None]), classes)  # [1, classes, classes]
        rows = (torch.lgamma(alpha + self.counts[:, None]) - torch.lgamma(alpha)).sum(dim=2)  # [row, name]
        sizes = _SIZES * torch.outer(probabilities.mean(dim=0).clamp_min(1e-3).log(), labels / labels.sum())
        known = probabilities.clamp_min(1e-3).log().T @ sure
        return _assign(rows + sizes + known).argsort()


def noise_matrix(
    embeddings: ArrayLike | Tensor | Sequence[Embeddings], labels: ValuesLike, *, seed: int = 0
) -> FloatArray:
    """Return P(label | true class) of partly wrong labels [classes, classes], classes in sorted order.

    Args:
        embeddings: One row per node, learned without labels [nodes, dim]; or a list of such matrices.
        labels: One entry per node, -1, None or NaN where unknown.
        seed: Of the clusterings and the starts.
    """
    given = embeddings if isinstance(embeddings, list | tuple) else [embeddings]
    spaces = [F.normalize(torch.as_tensor(np.asarray(rows), dtype=torch.float32), dim=1) for rows in given]
    codes, classes = encode_labels(labels, len(spaces[0]))
    known = codes != UNKNOWN
    reads = F.one_hot(codes[known], len(classes)).double()
    draws = torch_generator(seed, "noise matrix")
    return estimate_channel([rows[known] for rows in spaces], reads, generator=draws).matrix.numpy()


def estimate_channel(
    spaces: Sequence[Embeddings], reads: Tensor, sure: Tensor | None = None, *, generator: torch.Generator
) -> Channel:
    """Return how the true classes of labelled nodes became their labels.

    Args:
        spaces: Unit rows of the labelled nodes; each is clustered by itself [nodes, dim].
        reads: One-hot labels, times their weights; zeros where they are verified [nodes, classes].
        sure: One-hot verified labels, zeros elsewhere [nodes, classes].
        generator: Of the clusterings and the starts.
    """
    classes, nodes = reads.shape[1], torch.randperm(len(reads), generator=generator)[:_MOST]
    both = torch.cat([reads, torch.zeros_like(reads) if sure is None else sure], dim=1)[nodes]
    runs = max(2, min(_RUNS, _PASSES // len(nodes)))
    found = [cluster_counts(rows[nodes], both, classes, runs=runs, generator=generator) for rows in spaces]
    counts, certain = torch.cat(found).split(classes, dim=1)
    weight = 1 / (len(spaces) * len(_LABELS_A_CLUSTER) * runs)
    # A cluster holds other classes too, so that even verified labels are no certain reading of its class.
    told = certain @ symmetric_channel(torch.tensor([_IMPURE]), classes)[0].log().T
    return fit_channel(counts, weight, told, generator=generator)


def cluster_counts(
    rows: Embeddings, reads: Tensor, fewest: int, *, runs: int = 8, generator: torch.Generator
) -> Tensor:
    """Return the sums of `reads` over every cluster of several spherical k-means [clusters, columns].

    Args:
        rows: Unit rows of labelled nodes alone: the others would spoil the clusters of small classes [nodes, dim].
        reads: What is summed, such as one-hot labels [nodes, columns].
        fewest: Clusters at least.
        runs: Of k-means for each size of clusters.
        generator: Draws first centres.
    """
    found = []
    for per_cluster in _LABELS_A_CLUSTER:
        size = min(len(rows), max(fewest, len(rows) // per_cluster))
        nearest = _cluster(rows, size, runs, generator)  # [runs, nodes]
        places = nearest + size * torch.arange(runs)[:, None]
        sums = torch.zeros(runs * size, reads.shape[1], dtype=torch.float64)
        found.append(sums.index_add_(0, places.flatten(), reads.double().repeat(runs, 1)))
    counts = torch.cat(found)
    return counts[counts.sum(dim=1) > 0]


def _cluster(rows: Embeddings, size: int, runs: int, generator: torch.Generator) -> Tensor:
    """Return the cluster of every row in several runs of spherical k-means, done at once [runs, nodes]."""
    nodes = len(rows)
    first = torch.stack([torch.randperm(nodes, generator=generator)[:size] for _ in range(runs)])
    centres = rows[first]  # [runs, size, dim]
    offsets, before = size * torch.arange(runs)[:, None], None
    for _ in range(_MOVES):
        nearest = (centres.flatten(0, 1) @ rows.T).view(runs, size, nodes).argmax(dim=1)
        if before is not None and bool((nearest == before).all()):
            break
        before, places = nearest, (nearest + offsets).flatten()
        sums = torch.zeros(runs * size, rows.shape[1]).index_add_(0, places, rows.repeat(runs, 1))
        empty = torch.bincount(places, minlength=runs * size) == 0
        sums[empty] = rows[torch.randint(nodes, (int(empty.sum()),), generator=generator)]
        centres = F.normalize(sums, dim=1).view(runs, size, -1)
    return nearest


def fit_channel(counts: Tensor, weight: float, told: Tensor | None = None, *, generator: torch.Generator) -> Channel:
    """Return the noise matrix with the best evidence of several starts of EM.

    Args:
        counts: Labels of each class in each cluster [clusters, classes].
        weight: How much a cluster counts: 1 / the number of clusterings.
        told: Log probability of what else is known of each cluster under each class [clusters, classes].
        generator: Draws the random starts.
    """
    classes, told = counts.shape[1], torch.zeros_like(counts) if told is None else told
    starts = torch.cat([symmetric_channel(torch.tensor([0.2, 0.5]), classes), _random_starts(classes, generator)])
    kappa = torch.full((len(starts),), 40.0, dtype=torch.float64)
    runs = _run_em(counts, told, starts, kappa, weight=weight, steps=_FIRST)
    runs = runs.at(runs.evidence.argsort(descending=True, stable=True)[:_KEPT])
    runs = _run_em(counts, told, runs.matrix, runs.kappa, weight=weight, steps=120)
    # The likelihood cannot tell which hidden class is which: each is called as most of its labels are, all by one name.
    order = torch.stack([_assign(one).argsort() for one in runs.named])[:, :, None].expand_as(runs.matrix)
    runs = _run_em(counts, told, runs.matrix.gather(1, order), runs.kappa, weight=weight, steps=60)
    return runs.at(runs.evidence.argmax())


def _assign(worth: Tensor) -> Tensor:
    """Return the name of each row, every name once, so that their worth is largest [rows]."""
    return torch.from_numpy(linear_sum_assignment(-worth.numpy())[1])


def symmetric_channel(rates: Tensor, classes: int) -> Tensor:
    """Return the noise matrices in which all mistakes are equally likely [rates, classes, classes]."""
    off = rates.double()[:, None, None] / (classes - 1)
    eye = torch.eye(classes, dtype=torch.float64)
    return off + eye * (1 - rates.double()[:, None, None] - off)


def _rates(totals: Tensor) -> Tensor:
    """Return the share of wrong labels by true class and label [runs]."""
    rates, most = 1 - totals.diagonal(dim1=1, dim2=2).sum(dim=1) / totals.sum(dim=(1, 2)), 1 - 1 / totals.shape[1]
    return rates.clamp(0.005, 0.95 * most)


def _random_starts(classes: int, generator: torch.Generator) -> Tensor:
    gamma = torch._standard_gamma(
        torch.full((_STARTS, classes, classes), 0.3, dtype=torch.float64), generator=generator
    )
    return 0.6 * torch.eye(classes, dtype=torch.float64) + 0.4 * gamma / gamma.sum(dim=2, keepdim=True)


def _run_em(counts: Tensor, told: Tensor, matrix: Tensor, kappa: Tensor, *, weight: float, steps: int) -> Channel:
    """Return where EM ends from several matrices at once."""
    sizes, usual = counts.sum(dim=1), F.normalize(counts.sum(dim=0) + 1e-3, p=1, dim=0)  # a class may be all verified
    shares = usual.repeat(len(matrix), 1)  # of hidden classes
    for step in range(steps):
        logits = counts @ matrix.clamp_min(1e-6).log().transpose(1, 2) + told + shares.log()[:, None]
        likelihood = weight * logits.logsumexp(dim=2).sum(dim=1)
        posterior = logits.softmax(dim=2)  # [runs, clusters, classes]
        totals = weight * posterior.transpose(1, 2) @ counts
        prior = symmetric_channel(_rates(totals), counts.shape[1])
        found = _dirichlet_evidence(totals, prior)
        if step >= 5:
            kappa = (kappa + _KAPPAS[found.argmax(dim=1)]) / 2
        likelihood = likelihood + _PRIOR * (usual * shares.log()).sum(dim=1)
        evidence = likelihood - (totals * matrix.clamp_min(1e-9).log()).sum(dim=(1, 2)) + found.amax(dim=1)
        after = F.normalize(totals + kappa[:, None, None] * prior, p=1, dim=2)
        of_class = F.normalize(torch.einsum("j,rjc->rc", sizes, posterior), p=1, dim=1)
        shares = F.normalize(of_class * weight * len(counts) + _PRIOR * usual, p=1, dim=1)
        moved, matrix = float((after - matrix).abs().max()), after
        if moved < 1e-4 and step > 12:
            break
    return Channel(matrix, kappa, totals, totals + weight * posterior.transpose(1, 2) @ told, evidence)


def _dirichlet_evidence(totals: Tensor, prior: Tensor) -> Tensor:
    """Return the log Dirichlet-multinomial probability of counts for each kappa [runs, kappas]."""
    alpha = _KAPPAS[:, None, None] * prior[:, None]  # [runs, kappas, classes, classes]
    rows = torch.lgamma(alpha.sum(dim=3)) - torch.lgamma(alpha.sum(dim=3) + totals.sum(dim=2)[:, None])
    cells = torch.lgamma(alpha + totals[:, None]) - torch.lgamma(alpha)
    return rows.sum(dim=2) + cells.sum(dim=(2, 3))
