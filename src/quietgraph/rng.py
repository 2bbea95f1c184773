"""Random streams derived from one seed and the name of their purpose.

Two purposes never share a stream, so adding a draw in one place changes no other; and no
function touches the global random state.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

LARGEST_SEED = 2**32 - 1  # what scikit-learn takes, too


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit seed for one purpose, stable across processes and versions of Python."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def torch_generator(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator of its own for this purpose."""
    return torch.Generator().manual_seed(derive_seed(seed, *purpose))


def numpy_generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a NumPy generator of its own for this purpose."""
    return np.random.default_rng(derive_seed(seed, *purpose))


@contextmanager
def isolated_stream(seed: int, *purpose: str | int) -> Iterator[None]:
    """Seed torch's global stream for a purpose inside the block; the caller's state is as it was after it."""
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(derive_seed(seed, *purpose))
        yield
