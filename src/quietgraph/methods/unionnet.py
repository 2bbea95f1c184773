"""UnionNET: labels weighed and corrected by what similar nodes nearby are taken for."""

from dataclasses import dataclass, replace
from typing import final

import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.sparse import entry_products, multiply
from quietgraph.embed.train import Losses, Schedule
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Observed
from quietgraph.methods.gcn import ConvolutionClassifier, GCNNetwork
from quietgraph.methods.supervised import keep_largest, known_or_predicted, look
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Mask, Scores, SparseMatrix

_FLOOR = 1e-8  # of a mean probability, before its logarithm


@final
@dataclass(kw_only=True, eq=False, repr=False)
class UnionNET(ConvolutionClassifier):
    """GCN on labels that supports weigh and correct (Li, Yin and Chen, PAKDD 2021).

    With f_i the predicted probabilities of training node i and q_i the votes of its support:
    alpha mean_i -q_i[y_i] log f_i[y_i] + (1 - alpha) mean_i -q_i[c_i] log f_i[c_i] at c_i = argmax q_i
    + beta KL(class frequencies of the labels || mean_i f_i).
    Ours: supports by random walks, cosines for similarity, and epochs of plain cross-entropy first.
    """

    support: int = param(10, "nodes that vote on a label (k)", low=1)
    walks: int = param(20, "random walks from every labelled node", low=1)
    walk_length: int = param(10, "steps of a walk", low=1)
    observed_weight: float = param(0.5, "weight of observed against corrected labels (alpha)", low=0, high=1)
    prior_weight: float = param(1.0, "weight of the class frequencies (beta)", low=0)
    warm_up: int = param(50, "epochs of plain cross-entropy", low=0)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)

    def _schedule(self) -> Schedule:
        return replace(super()._schedule(), patience=self.patience)

    def _losses(self, network: GCNNetwork, graph: Graph, observed: Observed) -> Losses:
        taught, targets = observed.train, observed.codes[observed.train]
        supports = self._find_supports(graph, taught)
        prior = F.one_hot(targets, observed.num_classes).float().mean(dim=0)

        def losses(epoch: int) -> dict[str, Tensor]:
            logs = network(graph)[0][taught].log_softmax(dim=1)
            if epoch < self.warm_up:
                return {"loss": F.nll_loss(logs, targets)}
            scores, hidden = look(network, graph)
            votes = support_votes(supports, hidden, known_or_predicted(observed, scores), observed)
            values = {
                "observed": weighted_cost(logs, targets, votes),
                "corrected": weighted_cost(logs, votes.argmax(dim=1), votes),
                "prior": F.kl_div(logs.exp().mean(dim=0).clamp_min(_FLOOR).log(), prior, reduction="sum"),
            }
            labels = self.observed_weight * values["observed"] + (1 - self.observed_weight) * values["corrected"]
            return {"loss": labels + self.prior_weight * values["prior"], **values}

        return losses

    def _find_supports(self, graph: Graph, nodes: Mask) -> CSR:
        """Return the nodes that random walks from some nodes visit most often [chosen nodes, nodes]."""
        adjacency, starts = graph.adjacency.to(torch.device("cpu")), nodes.nonzero().squeeze(1).cpu()
        draws = torch_generator(self.seed, "walks")
        visits = count_visits(adjacency, starts, walks=self.walks, length=self.walk_length, draws=draws)
        return CSR.from_scipy(keep_largest(visits, self.support)).to(graph.device)


def count_visits(adjacency: CSR, starts: Tensor, *, walks: int, length: int, draws: torch.Generator) -> SparseMatrix:
    """Return how often random walks from each start visit each other node [starts, nodes].

    A step follows an edge in proportion to its weight; a node without neighbours is never left.
    """
    places, visited = starts.repeat_interleave(walks), []
    ends = torch.cat([torch.zeros(1, dtype=torch.float64), adjacency.values.double().cumsum(0)])
    for _ in range(length):
        first, last = adjacency.row_pointer[places].long(), adjacency.row_pointer[places + 1].long()
        share = torch.rand(len(places), generator=draws, dtype=torch.float64)
        goal = ends[first] + share * (ends[last] - ends[first])
        entry = (torch.searchsorted(ends, goal, right=True) - 1).clamp(first, last - 1)
        moves = last > first
        places = places.masked_scatter(moves, adjacency.columns[entry[moves]].long())
        visited.append(places)
    nodes, origins = torch.cat(visited), torch.arange(len(starts)).repeat_interleave(walks).repeat(length)
    others = (nodes != starts[origins]).float().numpy()
    counts = scipy.sparse.csr_matrix((others, (origins, nodes)), shape=(len(starts), adjacency.shape[1]))
    counts.eliminate_zeros()
    return counts


def support_votes(supports: CSR, hidden: Embeddings, classes: Tensor, observed: Observed) -> Tensor:
    """Return what each training node's support takes it for: sum_j softmax_j(cos(h_i, h_j)) class_j.

    A node without support, or with a verified label, has the vote of its own label. Supports have one row per training
    node; classes are one-hot rows [nodes, classes].
    """
    # Unit length: raw products grow with the width, saturate the softmax and let one node decide.
    unit = F.normalize(hidden, dim=1)
    weights = entry_products(supports, unit[observed.train], unit).exp()
    votes, own = multiply(supports.with_values(weights), classes), classes[observed.train]
    voted = (supports.row_counts > 0) & ~observed.certain
    return F.normalize(torch.where(voted[:, None], votes, own), p=1, dim=1)


def weighted_cost(logs: Scores, labels: Labels, votes: Tensor) -> Tensor:
    """Return the mean cross-entropy of log-probabilities, each label weighing its votes."""
    weights = votes.gather(1, labels[:, None]).squeeze(1)
    return (weights * F.nll_loss(logs, labels, reduction="none")).mean()
