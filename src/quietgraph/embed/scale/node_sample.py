"""The nodes of a large graph from which statistics of all nodes are taken."""

from typing import Final

import torch
from torch import Tensor

from quietgraph.rng import torch_generator

MOST_NODES: Final = 50_000  # a mean over so many is off by half a percent of a standard deviation


def sample_nodes(num_nodes: int, seed: int, *, device: torch.device) -> Tensor:
    """Return all nodes of a small graph, or some 50,000 drawn ones, in ascending order.

    Nothing of the size of the graph is made, and every process draws the same nodes.
    """
    if num_nodes <= MOST_NODES:
        return torch.arange(num_nodes, device=device)
    draws = torch_generator(seed, "nodes for statistics")
    drawn: Tensor = torch.unique(torch.randint(num_nodes, (MOST_NODES,), generator=draws))
    return drawn.to(device)
