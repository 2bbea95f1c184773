"""Matrices of one row per node that may be larger than the memory: those live in a file."""

import tempfile

import numpy as np
import psutil
import torch
from torch import Tensor

_SHARE = 0.2  # of the machine's memory that one matrix may take


def empty_matrix(rows: int, width: int, *, like: Tensor) -> Tensor:
    """Return an unfilled matrix [rows, width] of the type and on the device of another.

    One that takes more than a fifth of the memory is mapped from a temporary file (in TMPDIR),
    which goes away with it.
    """
    if like.device.type != "cpu" or rows * width * like.element_size() <= _most_bytes():
        return like.new_empty(rows, width)
    kind = np.dtype(str(like.dtype).removeprefix("torch."))
    with tempfile.TemporaryFile(prefix="quietgraph-") as file:
        return torch.from_numpy(np.memmap(file, dtype=kind, mode="w+", shape=(rows, width)))


def _most_bytes() -> float:
    return _SHARE * psutil.virtual_memory().total
