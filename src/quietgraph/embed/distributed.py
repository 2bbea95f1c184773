"""The processes that train together: sums over all of them, and DistributedDataParallel.

One process alone is a world of size 1, in which nothing is sent; so the same training code runs
on one machine and, started by torchrun, on several.
"""

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from quietgraph.errors import InvalidParameterError

_PATIENCE = datetime.timedelta(hours=2)  # that a process waits for the others


@dataclass(frozen=True)
class World:
    """This process among all that train together."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def total(self, tensor: Tensor) -> Tensor:
        """Return the sum of what all processes hand in, the same in each of them."""
        if self.size == 1:
            return tensor
        summed = tensor.detach().clone().contiguous()
        if dist.get_backend() == "nccl":  # it sums on GPUs alone
            summed = summed.cuda()
        dist.all_reduce(summed)
        return summed.to(tensor.device)

    def agree(self, value: Any) -> Any:
        """Return the value of the first process."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def wrap(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients averaged over all processes in the backward pass."""
        if self.size == 1:
            return module
        return DistributedDataParallel(module)


ALONE = World()
_world: ContextVar[World] = ContextVar("world", default=ALONE)


def current_world() -> World:
    """Return the world this process is in; alone, unless inside `join_world`."""
    return _world.get()


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes that torchrun started, for the time of the block.

    NCCL where every process of this machine has a GPU of its own, gloo elsewhere.
    """
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR") if name not in os.environ]
    if missing:
        raise InvalidParameterError(
            f"--distributed runs under torchrun, which sets {missing[0]}. Start it with: torchrun "
            "--nproc-per-node 2 -m quietgraph fit SOURCE --distributed, or use --workers 2."
        )
    local = int(os.environ.get("LOCAL_RANK", "0"))
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    with_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= here
    if with_gpus:
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if with_gpus else "gloo", timeout=_PATIENCE)
    token = _world.set(World(dist.get_rank(), dist.get_world_size()))
    try:
        yield _world.get()
    finally:
        _world.reset(token)
        dist.destroy_process_group()
