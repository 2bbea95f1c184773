"""One training epoch of what a user may pick instead, written with PyG's GCNConv(x, edge_index).

BGRL (Thakoor et al. 2022): two augmented views, an encoder with a predictor against a slowly moving
copy of it. GGD (Zheng et al. 2022): one augmented view and one with shuffled features, told apart
by the sums of their projected rows. S2GC (Zhu and Koniusz 2021) has no epochs: its 16 propagations
are all its work without labels.
"""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import dropout_edge

from quietgraph.embed import normalise_rows, normalised_adjacency, propagate
from quietgraph.graph import CSR, Graph

WIDTH = 256


class Encoder(nn.Module):
    """Two graph convolutions, as in GCL-LRR."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(columns, WIDTH), GCNConv(WIDTH, WIDTH)
        self.act = nn.PReLU()

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return one row per node [nodes, WIDTH]."""
        return self.second(self.act(self.first(x, edges)), edges)


def dense_features(graph: Graph) -> Tensor:
    features = normalise_rows(graph.features, "l2")
    return features.to_dense() if isinstance(features, CSR) else features


def augmented(x: Tensor, edges: Tensor, drop: float, mask: float) -> tuple[Tensor, Tensor]:
    kept = (torch.rand(x.shape[1]) >= mask).float()
    return x * kept, dropout_edge(edges, p=drop, force_undirected=True)[0]


def bgrl(graph: Graph) -> Callable[[], None]:
    torch.manual_seed(0)
    x, edges = dense_features(graph), graph.edge_index
    online = Encoder(x.shape[1])
    target = copy.deepcopy(online).requires_grad_(False)
    predictor = nn.Sequential(nn.Linear(WIDTH, 512), nn.PReLU(), nn.Linear(512, WIDTH))
    optimiser = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=1e-3)

    def epoch() -> None:
        views = [augmented(x, edges, 0.2, 0.3), augmented(x, edges, 0.4, 0.4)]
        said = [predictor(online(*view)) for view in views]
        with torch.no_grad():
            wanted = [target(*view) for view in views]
        pairs = zip(said, reversed(wanted), strict=True)
        loss = sum(2 - F.cosine_similarity(one, other).mean() for one, other in pairs)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for slow, quick in zip(target.parameters(), online.parameters(), strict=True):
                slow.lerp_(quick, 0.01)

    return epoch


def ggd(graph: Graph) -> Callable[[], None]:
    torch.manual_seed(0)
    x, edges = dense_features(graph), graph.edge_index
    encoder, project = Encoder(x.shape[1]), nn.Linear(WIDTH, WIDTH)
    optimiser = torch.optim.Adam([*encoder.parameters(), *project.parameters()], lr=1e-3)
    wanted = torch.cat([torch.ones(len(x)), torch.zeros(len(x))])

    def epoch() -> None:
        seen, kept = augmented(x, edges, 0.2, 0.2)
        shuffled = seen[torch.randperm(len(seen))]
        sums = [project(encoder(each, kept)).sum(dim=1) for each in (seen, shuffled)]
        loss = F.binary_cross_entropy_with_logits(torch.cat(sums), wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return epoch


def s2gc(graph: Graph) -> Callable[[], None]:
    x, operator = dense_features(graph), normalised_adjacency(graph)

    def all_propagations() -> None:
        hop, total = x, torch.zeros_like(x)
        for _ in range(16):
            hop = propagate(operator, hop)
            total += hop / 16

    return all_propagations
