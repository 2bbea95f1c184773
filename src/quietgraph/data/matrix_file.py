"""Benchmark files with sparse matrices, checked before anything follows their indices."""

from pathlib import Path

import numpy as np
import scipy.sparse
import torch

from quietgraph.graph.sparse import compressed_matrix
from quietgraph.types import Labels


def read_matrices(path: Path) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix, Labels]:
    """Return adjacency, attributes and labels; ValueError where an index leads outside."""
    with np.load(path, allow_pickle=False) as arrays:
        adjacency, features = (
            compressed_matrix(
                *(arrays[f"{kind}_{part}"] for part in ("data", "indices", "indptr", "shape"))
            )
            for kind in ("adj", "attr")
        )
        labels = torch.from_numpy(arrays["labels"]).long()
    if labels.shape != (adjacency.shape[0],) or adjacency.shape[0] != features.shape[0]:
        raise ValueError("labels, attributes and adjacency have different lengths")
    return adjacency, features, labels
