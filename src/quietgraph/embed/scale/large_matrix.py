"""Matrices and numbers per node that may be larger than the memory: those live in a file."""

import tempfile
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor

from quietgraph.types import AnyArray

_SHARE = 0.2  # of the machine's memory that one matrix may take
_MOST_NUMBERS = 2**26  # bytes of one number per node that are held: 64 MB, 16 million of 32 bits


def empty_matrix(rows: int, width: int, *, like: Tensor) -> Tensor:
    """Return an unfilled matrix [rows, width] of the type and on the device of another.

    One that takes more than a fifth of the memory is mapped from a temporary file (in TMPDIR),
    which goes away with it.
    """
    if like.device.type != "cpu" or rows * width * like.element_size() <= _most_bytes():
        return like.new_empty(rows, width)
    kind = np.dtype(str(like.dtype).removeprefix("torch."))
    return torch.from_numpy(_in_file((rows, width), kind))


def empty_numbers(count: int, kind: str) -> AnyArray:
    """Return one unfilled number per node; many are mapped from a temporary file [nodes].

    The system keeps such a file in memory while there is room, and takes it out where there is
    none.

    Args:
        count: Number of nodes.
        kind: Type of the numbers, as NumPy names it.
    """
    found = np.dtype(kind)
    if count * found.itemsize <= _MOST_NUMBERS:
        return np.empty(count, dtype=found)
    return _in_file((count,), found)


def _in_file(shape: tuple[int, ...], kind: np.dtype[Any]) -> AnyArray:
    with tempfile.TemporaryFile(prefix="quietgraph-") as file:
        return np.memmap(file, dtype=kind, mode="w+", shape=shape)


def _most_bytes() -> float:
    return _SHARE * psutil.virtual_memory().total
