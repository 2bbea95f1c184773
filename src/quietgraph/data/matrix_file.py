"""Benchmark files with sparse matrices, checked before anything follows their indices."""

from pathlib import Path

import numpy as np
import scipy.sparse
import torch

from quietgraph.types import Labels


def read_matrices(path: Path) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix, Labels]:
    """Return adjacency, attributes and labels; ValueError where an index leads outside."""
    with np.load(path, allow_pickle=False) as arrays:
        adjacency, features = (
            scipy.sparse.csr_matrix(
                tuple(arrays[f"{kind}_{part}"] for part in ("data", "indices", "indptr")),
                shape=arrays[f"{kind}_shape"],
            )
            for kind in ("adj", "attr")
        )
        labels = torch.from_numpy(arrays["labels"]).long()
    for matrix in (adjacency, features):
        matrix.check_format(full_check=True)
    if labels.shape != (adjacency.shape[0],) or adjacency.shape[0] != features.shape[0]:
        raise ValueError("labels, attributes and adjacency have different lengths")
    return adjacency, features, labels
