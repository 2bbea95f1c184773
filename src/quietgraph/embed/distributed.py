"""Training by several processes, each on its own partitions of the graph, by PyTorch's DistributedDataParallel.

Write a script and start it by `torchrun --nproc-per-node 4 script.py`, on several machines with `--nnodes`:

    import quietgraph as qg
    from quietgraph.embed.distributed import process_group

    with process_group() as rank:
        model = qg.GCLLRAttention().fit(qg.load("big/"))
        if rank == 0:
            model.save("model/")

Every process holds the graph (mapped from disk, where it was converted) and trains on as many partitions as the others.
Gradients are averaged, so that the encoder is the same in all; each process then fits the same classifier.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from quietgraph.embed.clusters import Clusters
from quietgraph.types import Embeddings

if TYPE_CHECKING:
    from quietgraph.embed.contrast import Trainer


@contextmanager
def process_group() -> Iterator[int]:
    """Join the processes that torchrun has started and give the rank of this one; alone, 0."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield 0
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def share_training(trainer: "Trainer") -> None:
    """Let a trainer work on its own partitions, with the mean gradient and the clusters of all processes."""
    trainer.parts = trainer.parts[dist.get_rank() :: dist.get_world_size()]
    # Buffers never change in training, and a broadcast between two views would break their graph.
    trainer.encoder = DistributedDataParallel(trainer.encoder, broadcast_buffers=False)
    trainer.start = _start_clusters


def _start_clusters(unit: Embeddings, count: int, *, generator: torch.Generator) -> Clusters:
    """Return the clusters that the first process has found, moved by the rows of all."""
    prototypes = Clusters.start(unit, count, generator=generator).prototypes
    dist.broadcast(prototypes, 0)
    return Clusters(prototypes, _total)


def _total(tensor: Tensor) -> Tensor:
    dist.all_reduce(tensor)
    return tensor
