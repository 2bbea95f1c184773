"""The paper's theory on a dataset whose clean labels are known: noise on every node, for study."""

from dataclasses import replace
from pathlib import Path

import torch

from quietgraph.bench.datasets import Dataset
from quietgraph.bench.noise import apply_noise
from quietgraph.bench.noise_setting import NoiseSetting
from quietgraph.bench.splits import Split
from quietgraph.diagnose import BoundSettings, Diagnosis, diagnose_embedding
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.types import Embeddings, Labels, Probabilities


def labels_with_noise_everywhere(dataset: Dataset, setting: NoiseSetting, *, seed: int) -> Labels:
    """Return the labels of all nodes under this noise; on train nodes they are what a run sees."""
    everywhere = torch.ones_like(dataset.split.train)
    nowhere = torch.zeros_like(everywhere)
    whole = replace(dataset, split=Split(everywhere, nowhere, nowhere))
    return apply_noise(whole, setting, seed=seed).labels


def diagnose_on_dataset(
    dataset: Dataset,
    embeddings: Embeddings,
    setting: NoiseSetting,
    *,
    seed: int,
    settings: BoundSettings | None = None,
    probabilities: Probabilities | None = None,
) -> Diagnosis:
    """Return all diagnostics of an embedding against the dataset's clean labels.

    Args:
        dataset: Its training nodes are the labelled ones of the theorem.
        embeddings: One row per node of the dataset, from any method [nodes, dim].
        setting: The label noise whose part in the embedding is studied.
        seed: Of the noise.
        settings: What the theorem leaves open.
        probabilities: Out-of-fold, to estimate the noise from.
    """
    if len(embeddings) != dataset.graph.num_nodes:
        raise InvalidParameterError(
            f"the embeddings must have one row per node of {dataset.name} "
            f"({dataset.graph.num_nodes}), got {len(embeddings)}."
        )
    return diagnose_embedding(
        embeddings,
        labels_with_noise_everywhere(dataset, setting, seed=seed),
        labelled=dataset.split.train,
        reference=dataset.clean_labels,
        probabilities=probabilities,
        settings=settings,
    )


def read_embeddings(path: Path) -> Embeddings:
    """Return the matrix of a `.npy` file as a tensor [nodes, dim]."""
    import numpy as np  # noqa: PLC0415

    try:
        matrix = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UnreadableFileError(
            f"{path} holds no readable matrix ({error}). Write it with numpy.save."
        ) from error
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise UnreadableFileError(
            f"{path} must hold a matrix of floating-point numbers [nodes, dim], "
            f"got {matrix.dtype} of shape {matrix.shape}."
        )
    return torch.from_numpy(matrix)
