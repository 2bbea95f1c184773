"""Random streams derived from one seed and the name of their purpose.

Two purposes never share a stream, so adding a draw in one place changes no other; and no
function touches the global random state.
"""

import hashlib

import numpy as np
import torch


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
