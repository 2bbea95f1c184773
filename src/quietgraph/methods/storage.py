"""Models on disk: JSON and safetensors, written whole or not at all, never pickled."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from quietgraph.annotators.stored import restore_consensus, store_consensus
from quietgraph.classify.calibration import Calibration
from quietgraph.classify.label_issues.noise import NoiseEstimate
from quietgraph.classify.quality import Quality
from quietgraph.data.label_values import classes_from_json, classes_to_json
from quietgraph.errors import UnreadableFileError
from quietgraph.files import check_only, whole_folder
from quietgraph.graph import CSR, Graph
from quietgraph.graph.io.encoding import ENCODING_FILE, read_json
from quietgraph.graph.io.limits import parsing
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Task
from quietgraph.methods.registry import METHODS, class_path, method_name
from quietgraph.params import current_names
from quietgraph.types import UNKNOWN

FORMAT = 3  # raise it when the state of a method changes its meaning
_TENSORS, _FACTS = "tensors.safetensors", "model.json"
_CHECKSUM = "checksum"  # of tensors and facts, in the facts
_WAY_OUT = "Name a folder written by save or fit, or fit the model again."


def save_model(model: NodeClassifier, folder: Path) -> Path:
    """Write a fitted model to a folder; an interrupted write leaves the old one in place.

    Only another model is replaced: a folder that holds anything else is refused.
    """
    check_only(folder, (_TENSORS, _FACTS, ENCODING_FILE))
    task = model.task_
    tensors = {f"state.{name}": value for name, value in model.state_.items()}
    tensors |= {
        "scores": model.scores_,
        "embeddings": torch.from_numpy(model.embeddings_),
        "labels": task.labels,
        "train": task.train,
        "validation": task.validation,
    }
    for name in ("verified", "before_review"):
        if getattr(task, name) is not None:
            tensors[name] = getattr(task, name)
    if model.out_of_fold_ is not None:
        tensors["out_of_fold"] = torch.from_numpy(model.out_of_fold_)
    annotators = None
    if model.consensus_ is not None:
        arrays, annotators = store_consensus(model.consensus_)
        tensors |= {f"consensus.{name}": torch.from_numpy(rows) for name, rows in arrays.items()}
    tensors |= {f"votes.{name}": votes for name, votes in (model.votes_ or {}).items()}
    facts = {
        "format": FORMAT,
        "method": method_name(type(model)),
        "class": class_path(type(model)),
        "parameters": model.get_params(),
        "classes": classes_to_json(model.classes_),
        "history": model.history_,
        "notes": model.notes_,
        "seconds": model.seconds_,
        "calibration": asdict(model.calibration_),
        "quality": None if model.quality_ is None else model.quality_.to_dict(),
        "noise_before_review": _noise_facts(model.noise_before_review_),
        "annotators": annotators,
    }
    with whole_folder(folder) as scratch:
        save_file({name: value.contiguous() for name, value in tensors.items()}, scratch / _TENSORS)
        (scratch / _FACTS).write_text(json.dumps(facts, indent=1), encoding="utf-8")
        seal(scratch)
    return folder


def seal(folder: Path) -> None:
    """Write the checksum of a model into its facts, so that a damaged file is noticed."""
    facts = read_json(folder / _FACTS)
    facts[_CHECKSUM] = _checksum(folder, facts)
    (folder / _FACTS).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _checksum(folder: Path, facts: Mapping[str, object]) -> str:
    plain = {name: value for name, value in facts.items() if name != _CHECKSUM}
    digest = hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16)
    with (folder / _TENSORS).open("rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()


def load_model(folder: str | Path, *, method: type[NodeClassifier] | None = None) -> NodeClassifier:
    """Return the model that `save` wrote, ready to predict.

    A file never decides what is imported: the class is a registered one, or the one given.

    Args:
        folder: Written by `save` or `quietgraph fit`.
        method: Class of the model, needed where it is not registered.
    """
    folder = Path(folder)
    with parsing(folder, "model", _WAY_OUT):
        facts, tensors = _read(folder)
        chosen = _method_of(facts, folder) if method is None else _checked(method, facts, folder)
        model = chosen(**current_names(chosen, facts["parameters"], warn=False))
        _check_tensors(tensors, len(classes_from_json(facts["classes"])))
        _restore(model, facts, tensors)
    return model


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    facts = read_json(folder / _FACTS)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        found = facts.get("format") if isinstance(facts, dict) else None
        raise UnreadableFileError(
            f"{folder} has model format {found}, this version reads {FORMAT}. Fit the model again."
        )
    if not (folder / _TENSORS).is_file():
        raise ValueError(f"{_TENSORS} is missing")
    if facts.get(_CHECKSUM, wanted := _checksum(folder, facts)) != wanted:
        raise ValueError("its files have changed since they were written")
    return facts, load_file(folder / _TENSORS)


def _check_tensors(tensors: dict[str, Tensor], classes: int) -> None:
    """Raise ValueError where the tensors are not those of a fitted model."""
    nodes = len(tensors["labels"])
    shapes = {"scores": (nodes, classes), "embeddings": (nodes, None), "labels": (nodes,)}
    shapes |= {"train": (nodes,), "validation": (nodes,), "out_of_fold": (nodes, classes)}
    kinds = {"labels": torch.int64, "train": torch.bool, "validation": torch.bool}
    shapes["verified"], kinds["verified"] = (nodes,), torch.bool
    shapes["before_review"], kinds["before_review"] = (nodes,), torch.int64
    kinds |= {"scores": torch.float32, "embeddings": torch.float32, "out_of_fold": torch.float64}
    shapes |= {name: (nodes, classes) for name in tensors if name.startswith("votes.")}
    for name, value in tensors.items():
        wanted = shapes.get(name, value.shape)
        sizes = zip(wanted, value.shape, strict=False)
        if value.dim() != len(wanted) or any(size not in {None, own} for size, own in sizes):
            raise ValueError(f"{name} has the shape {tuple(value.shape)}")
        if value.dtype != kinds.get(name, value.dtype):
            raise ValueError(f"{name} holds {value.dtype}")
        known = value[~value.isnan()] if name.startswith("votes.") else value  # NaN: no vote
        if value.is_floating_point() and not torch.isfinite(known).all():
            raise ValueError(f"{name} is not finite")
    for name in ("labels", "before_review"):
        labels = tensors.get(name, tensors["labels"])
        if nodes == 0 or classes < 2 or labels.min() < UNKNOWN or labels.max() >= classes:
            raise ValueError(f"{name} are no classes")


def _method_of(facts: Mapping[str, object], folder: Path) -> type[NodeClassifier]:
    if str(facts["method"]) not in METHODS:
        raise UnreadableFileError(
            f"{folder} holds a model of {facts['method']}, which is not registered. "
            "Name its class: load_model(folder, method=...), or register it first."
        )
    return METHODS[str(facts["method"])]


def _checked(
    method: type[NodeClassifier], facts: Mapping[str, object], folder: Path
) -> type[NodeClassifier]:
    if facts["method"] != method_name(method) and facts.get("class") != class_path(method):
        raise UnreadableFileError(
            f"{folder} holds a model of {facts['method']}, got {class_path(method)} as its class."
        )
    return method


def _restore(model: NodeClassifier, facts: dict[str, Any], tensors: dict[str, Any]) -> None:
    model.loaded_ = True
    model.classes_ = classes_from_json(facts["classes"])
    model.scores_ = tensors["scores"]
    model.embeddings_ = tensors["embeddings"].numpy()
    model.state_ = _named(tensors, "state.")
    model.history_, model.notes_ = facts["history"], facts["notes"]
    model.seconds_ = facts["seconds"]
    stored = facts.get("calibration", {})
    model.calibration_ = Calibration(**{name: float(value) for name, value in stored.items()})
    if not all(0 < value < math.inf for value in asdict(model.calibration_).values()):
        raise ValueError(f"calibration is {stored}")
    quality = facts.get("quality")
    model.quality_ = None if quality is None else Quality.from_dict(quality)
    model.noise_before_review_ = _noise_of(facts.get("noise_before_review"), len(model.classes_))
    probabilities = tensors.get("out_of_fold")
    model.out_of_fold_ = None if probabilities is None else probabilities.numpy()
    if probabilities is not None:
        model.votes_ = _named(tensors, "votes.")
    annotators = facts.get("annotators")
    if annotators is not None:
        arrays = {name: rows.numpy() for name, rows in _named(tensors, "consensus.").items()}
        model.consensus_ = restore_consensus(arrays, annotators, len(model.scores_), model.classes_)
    empty = _featureless(len(tensors["labels"]))
    masks = (tensors["labels"], tensors["train"], tensors["validation"])
    model.task_ = Task(
        empty,
        *masks,
        len(model.classes_),
        model.seed,
        verified=tensors.get("verified"),
        before_review=tensors.get("before_review"),
    )


def _noise_facts(noise: NoiseEstimate | None) -> dict[str, Any] | None:
    """Return a noise estimate as plain values."""
    return None if noise is None else {**vars(noise), "transition": noise.transition.tolist()}


def _noise_of(plain: Mapping[str, Any] | None, classes: int) -> NoiseEstimate | None:
    """Return the noise estimate that `_noise_facts` wrote."""
    if plain is None:
        return None
    matrix = torch.tensor(plain["transition"], dtype=torch.float64)
    if matrix.shape != (classes, classes) or not bool(
        (matrix >= 0).all() & matrix.isfinite().all()
    ):
        raise ValueError("the noise before the review is no matrix of probabilities")
    return NoiseEstimate(**{**plain, "transition": matrix})


def _named(tensors: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """Return the tensors with a prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _featureless(num_nodes: int) -> Graph:
    """Return the nodes alone: a saved model keeps no features and no edges."""
    nothing = torch.zeros(0, dtype=torch.int32)
    pointer = torch.zeros(num_nodes + 1, dtype=torch.int32)
    return Graph(torch.zeros(num_nodes, 1), CSR(pointer, nothing, torch.zeros(0), (num_nodes,) * 2))
