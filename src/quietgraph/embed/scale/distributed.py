"""The processes that train together: sums over all of them, and DistributedDataParallel.

One process alone is a world of size 1, in which nothing is sent; so the same training code runs
on one machine and, started by torchrun, on several.
"""

import datetime
import itertools
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from quietgraph.errors import InvalidParameterError

_PATIENCE = datetime.timedelta(hours=2)  # that a process waits for the others
_PAUSE = 0.05  # seconds between two looks at the store


@dataclass(frozen=True)
class World:
    """This process among all that work together.

    Attributes:
        rank: Number of this process.
        size: How many there are.
        serial: Numbers for what they share, the same in all as they do the same in one order.
    """

    rank: int = 0
    size: int = 1
    serial: Iterator[int] = field(default_factory=itertools.count, compare=False, repr=False)

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

    def wait(self) -> None:
        """Return when all processes are here."""
        if self.size > 1:
            dist.barrier()

    def agree(self, value: object) -> Any:
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
def work_alone() -> Iterator[None]:
    """Let every process compute whole matrices inside the block, as one process does.

    Nothing is sent there. It is meant for graphs so small that sharing rows gains nothing.
    """
    token = _world.set(ALONE)
    try:
        yield
    finally:
        _world.reset(token)


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes that torchrun started, for the time of the block.

    NCCL where every process of this machine has a GPU of its own, gloo elsewhere. Where somebody
    has joined them already, as Ray does, that group is used and left as it is.
    """
    joined = dist.is_initialized()
    if not joined:
        _join_group()
    token = _world.set(World(dist.get_rank(), dist.get_world_size()))
    try:
        yield _world.get()
    finally:
        _world.reset(token)
        if not joined:
            dist.destroy_process_group()


def _join_group() -> None:
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
    store, rank, size = next(rendezvous("env://", timeout=_PATIENCE))
    dist.init_process_group(
        "nccl" if with_gpus else "gloo",
        store=PrefixStore(meet(store, rank, size), store),
        rank=rank,
        world_size=size,
        timeout=_PATIENCE,
    )


def meet(store: Store, rank: int, size: int) -> str:
    """Return a name that all living processes share and no dead one has used.

    torchrun keeps its store when it starts the processes again after one has died, so the store
    still holds the addresses of the dead, and a process that reads one of these waits for nobody.
    Hence every process asks the first one under a name of its own, and only a living first
    process answers; all are here once all have received the answer.
    """
    own = uuid.uuid4().hex
    if rank > 0:
        store.set(f"asks {rank}", own)
        name: str = store.get(f"answer {own}").decode()
        store.add(f"received {name}", 1)
        return name
    answered: set[str] = set()
    while size > 1 and store.add(f"received {own}", 0) < size - 1:
        for other in range(1, size):
            if store.check([f"asks {other}"]):
                asking = store.get(f"asks {other}").decode()
                if asking not in answered:
                    store.set(f"answer {asking}", own)
                    answered.add(asking)
        time.sleep(_PAUSE)
    return own
