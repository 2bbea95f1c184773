"""Random streams derived from one seed and the name of their purpose.

Two purposes never share a stream, so adding a draw in one place changes no other; and no
function touches the global random state.
"""

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.utils.deterministic

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
def deterministic_sums() -> Iterator[None]:
    """Let torch add in one order inside the block, also with several threads.

    Gradients of indexing are otherwise summed as the threads happen to come. With one thread there
    is one order anyway, and nothing changes.
    """
    if torch.get_num_threads() == 1 or torch.are_deterministic_algorithms_enabled():
        yield
        return
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            # An operation on another device may have no such order; docs/reliability.md says so.
            warnings.filterwarnings("ignore", message=".*deterministic")
            yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
