"""The paper's theory on a dataset whose clean labels are known: noise on every node, for study."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from quietgraph.bench.protocol import Run, score
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.data.observation import Observation, Reference
from quietgraph.data.splits import Split
from quietgraph.diagnose import BoundSettings, Diagnosis, diagnose_embedding
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.files import regular_file
from quietgraph.types import UNKNOWN, Embeddings, Labels, Probabilities


@dataclass(frozen=True, eq=False)
class Study:
    """A run as the theory sees it: the diagnosis of its embeddings, and its test accuracy."""

    run: Run
    diagnosis: Diagnosis
    test_accuracy: float


def study(run: Run) -> Study:
    """Return what the theory says of the embeddings that a run learns."""
    observation, reference = run.observe()
    model = run.fit(observation)
    embeddings = torch.from_numpy(model.embeddings_)
    found = diagnose_on_dataset(
        observation,
        reference,
        embeddings,
        run.noise,
        seed=run.seed,
        features=model.classifier_features(),
    )
    return Study(run, found, score(model, observation, reference)["test_accuracy"])


def bound_numbers(found: Study) -> dict[str, float]:
    """Return kernel complexity and bound terms, at the step with the smallest bound (c0 = 1).

    The kernel is that of the features which the method classifies with, where they are known, and
    of its embeddings elsewhere; "KC of plain F" is that of K H / lambda_1.
    """
    bound = found.diagnosis.features_bound or found.diagnosis.bound
    best = int(bound.upper_bound.argmin())
    if bound.test_loss is None:
        raise InvalidParameterError(f"no unlabelled node of {found.run.dataset} has a known class.")
    return {
        "L1": float(bound.signal_loss[best]),
        "L2": float(bound.noise_loss[best]),
        "KC": bound.complexity.value,
        "KC of plain F": found.diagnosis.attended_bound.complexity.value,
        "rank": float(bound.complexity.rank),
        "bound": float(bound.upper_bound[best]),
        "test loss": float(bound.test_loss[best]),
        "accuracy": found.test_accuracy,
        "dim": float(found.diagnosis.dim),
    }


def labels_with_noise_everywhere(
    observation: Observation, reference: Reference, setting: NoiseSetting, *, seed: int
) -> Labels:
    """Return the labels of all nodes under this noise; on train nodes they are what a run sees.

    Annotators and files label the labelled nodes alone; the true classes stand elsewhere.
    """
    if setting.kind in {"annotator", "annotators", "labels", "annotations"}:
        known = observation.split.labelled
        clean = replace(observation, codes=torch.where(known, reference.codes, UNKNOWN))
        observed = apply_noise(clean, setting, seed=seed, reference=reference).codes
        return torch.where(observed == UNKNOWN, reference.codes, observed)
    everywhere = torch.ones_like(observation.split.train)
    nowhere = torch.zeros_like(everywhere)
    split = Split(everywhere, nowhere, nowhere)
    whole = replace(observation, graph=reference.graph, codes=reference.codes, split=split)
    return apply_noise(whole, setting, seed=seed).codes


def diagnose_on_dataset(
    observation: Observation,
    reference: Reference,
    embeddings: Embeddings,
    setting: NoiseSetting,
    *,
    seed: int,
    settings: BoundSettings | None = None,
    probabilities: Probabilities | None = None,
    features: Embeddings | None = None,
) -> Diagnosis:
    """Return all diagnostics of an embedding against the true labels of a dataset.

    Args:
        observation: Its training nodes are the labelled ones of the theorem.
        reference: The true labels.
        embeddings: One row per node of the dataset, from any method [nodes, dim].
        setting: The label noise whose part in the embedding is studied.
        seed: Of the noise.
        settings: What the theorem leaves open.
        probabilities: Out-of-fold, to estimate the noise from.
        features: What a linear classifier saw of every node, where it differs [nodes, features].
    """
    nodes = observation.graph.num_nodes
    if len(embeddings) != nodes:
        raise InvalidParameterError(
            f"the embeddings must have one row per node of {observation.name} ({nodes}), "
            f"got {len(embeddings)}."
        )
    return diagnose_embedding(
        embeddings,
        labels_with_noise_everywhere(observation, reference, setting, seed=seed),
        labelled=observation.split.train,
        reference=reference.codes,
        probabilities=probabilities,
        features=features,
        settings=settings,
    )


def read_embeddings(path: Path) -> Embeddings:
    """Return the matrix of a `.npy` file as a tensor [nodes, dim]."""
    import numpy as np  # noqa: PLC0415

    try:
        matrix = np.lib.format.open_memmap(regular_file(path), mode="r")  # no archive, no pickle
    except (OSError, ValueError, EOFError, OverflowError) as error:
        raise UnreadableFileError(
            f"{path} holds no readable matrix ({error}). Write it with numpy.save."
        ) from error
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise UnreadableFileError(
            f"{path} must hold a matrix of floating-point numbers [nodes, dim], "
            f"got {matrix.dtype} of shape {matrix.shape}."
        )
    if matrix.dtype.itemsize > 8 or not np.isfinite(matrix).all():
        raise UnreadableFileError(f"{path} must hold finite numbers of at most 64 bits.")
    return torch.from_numpy(np.array(matrix, dtype=matrix.dtype.newbyteorder("=")))
