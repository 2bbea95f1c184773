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

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


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


def world_size() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def own_share(parts: list[Tensor]) -> list[Tensor]:
    """Return the partitions of this process, as many as every other has."""
    return parts if world_size() == 1 else parts[dist.get_rank() :: world_size()]


def averaged(module: nn.Module) -> nn.Module:
    """Return the module with gradients averaged over the processes; alone, the module itself."""
    if world_size() == 1:
        return module
    # Buffers never change in training, and a broadcast between two views would break their graph.
    return DistributedDataParallel(module, broadcast_buffers=False)


def total(tensor: Tensor) -> Tensor:
    """Return the sum of a tensor over the processes; alone, the tensor itself."""
    if world_size() > 1:
        tensor = tensor.clone()
        dist.all_reduce(tensor)
    return tensor


def agreed(tensor: Tensor) -> Tensor:
    """Return the tensor of the first process."""
    return total(tensor if world_size() == 1 or dist.get_rank() == 0 else torch.zeros_like(tensor))
