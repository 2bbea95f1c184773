"""Models on disk: JSON and safetensors, written whole or not at all; nothing in a file decides what is imported."""

import hashlib
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load_file
from torch import Tensor

from quietgraph.data.data import Data
from quietgraph.data.load import Source
from quietgraph.data.splits import Split, no_node
from quietgraph.embed.train import History
from quietgraph.errors import QuietgraphError, UnreadableFileError
from quietgraph.files import write_folder
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import NO_GRAPH, Fitted, NodeClassifier, Observed
from quietgraph.methods.registry import METHODS, method_name
from quietgraph.params import ParameterValue

_TENSORS, _FACTS = "tensors.safetensors", "model.json"
_LABELS: Final = ("codes", "train", "validation", "weights", "verified")
_NETWORK: Final = "network."


class _Model(BaseModel):
    """What `model.json` holds."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")

    format: Literal[1] = 1
    method: str
    parameters: dict[str, ParameterValue]
    classes: list[bool | int | float | str]
    num_features: int
    sizes: dict[str, ParameterValue]  # of the network, beside the numbers of features and classes
    is_inductive: bool
    columns: str | None  # how own tables became features
    history: History
    notes: dict[str, float]
    digest: str  # of the tensors


def save_model(model: NodeClassifier, folder: str | Path) -> Path:
    """Write a fitted model to a folder, which replaces another model there, and return its path."""
    fitted, observed, source = model.fitted_, model.observed_, model.data_.source
    tensors = {name: getattr(observed, name) for name in _LABELS if getattr(observed, name) is not None}
    tensors |= {"scores": fitted.scores, "embeddings": fitted.embeddings}
    state = {} if fitted.network is None else fitted.network.state_dict()
    tensors |= {_NETWORK + name: value.detach().cpu() for name, value in state.items()}
    with write_folder(folder, marker=_FACTS) as scratch:
        # As arrays: tensors that share memory are refused. A method's scores may be its embeddings.
        save_file({name: np.ascontiguousarray(value.numpy()) for name, value in tensors.items()}, scratch / _TENSORS)
        facts = _Model(
            method=method_name(type(model)),
            parameters=model.get_params(),
            classes=model.classes_.tolist(),
            num_features=model.data_.graph.num_features,
            sizes=getattr(fitted.network, "sizes", {}),
            is_inductive=fitted.network is not None,
            columns=None if source is None else source.columns_json(),
            history=fitted.history,
            notes=fitted.notes,
            digest=_digest(scratch / _TENSORS),
        )
        (scratch / _FACTS).write_text(facts.model_dump_json(indent=1), encoding="utf-8")
    return Path(folder)


def load_model(folder: str | Path, *, method: type[NodeClassifier] | None = None) -> NodeClassifier:
    """Return the model that `save` or `quietgraph fit` wrote; a class that is not registered has to be named."""
    try:
        facts = _Model.model_validate_json((Path(folder) / _FACTS).read_bytes())
        if _digest(Path(folder) / _TENSORS) != facts.digest:
            raise ValueError(f"{_TENSORS} has changed since it was written")  # noqa: TRY301
        if method is None and facts.method not in METHODS:
            way_out = "Name its class: load_model(folder, method=...), or register it first."
            raise UnreadableFileError(f"{folder} holds a model of {facts.method}, which is not registered. {way_out}")
        build: Any = method or METHODS[facts.method]
        return _restored(build(**facts.parameters), facts, load_file(Path(folder) / _TENSORS))
    except QuietgraphError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = f"{_FACTS} is damaged" if isinstance(error, ValidationError) else str(error).splitlines()[0]
        way_out = "Name a folder written by save or fit, or fit the model again."
        raise UnreadableFileError(f"{folder} holds no model that can be read: {reason}. {way_out}") from error


def _restored(model: NodeClassifier, facts: _Model, tensors: dict[str, Tensor]) -> NodeClassifier:
    nodes, classes = tensors["scores"].shape
    build: Any = model._network
    network = build(facts.num_features, classes, **facts.sizes) if facts.is_inductive else None
    if network is not None:
        state = {name.removeprefix(_NETWORK): one for name, one in tensors.items() if name.startswith(_NETWORK)}
        network.load_state_dict(state)
        network.eval()
    labels: dict[str, Any] = {name: tensors[name] for name in _LABELS if name in tensors}
    model.observed_ = Observed(**labels, num_classes=classes)
    model.classes_ = np.asarray(facts.classes)
    model.fitted_ = Fitted(tensors["scores"], tensors["embeddings"], network, history=facts.history, notes=facts.notes)
    # A saved model keeps no features and no edges, only how many there are.
    empty = (torch.zeros(nodes + 1, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), torch.zeros(0))
    features, adjacency = CSR(*empty, (nodes, facts.num_features)), CSR(*empty, (nodes, nodes))
    split = Split(labels["train"], labels["validation"], no_node(labels["train"]))
    source = None if facts.columns is None else Source.of_columns(facts.columns)
    model.data_ = Data(
        "model", Graph(features, adjacency, (NO_GRAPH,)), labels["codes"], model.classes_, split, source=source
    )
    return model


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
