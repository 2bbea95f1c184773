"""Tensors and facts about them in one safetensors file, with a checksum of both."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from quietgraph.errors import UnreadableFileError
from quietgraph.files import whole_file

_FACTS, _CHECKSUM = "facts", "checksum"


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: Mapping[str, object]) -> None:
    """Write a file in one step.

    Args:
        path: Where to.
        tensors: By name, on any device.
        facts: Plain JSON values.
    """
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    text = json.dumps(facts)
    metadata = {_FACTS: text, _CHECKSUM: _checksum(plain, text)}
    with whole_file(path) as scratch:
        save_file(plain, scratch, metadata=metadata)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and facts of a file that `write_tensors` wrote and nobody changed."""
    try:
        return _read(path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        words = " ".join(str(error).split())[:200]
        raise UnreadableFileError(f"{path} is no readable file of tensors ({words}).") from error


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise ValueError("no file")  # a device or pipe would be read for ever
    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text = metadata[_FACTS]
    if _checksum(tensors, text) != metadata[_CHECKSUM]:
        raise ValueError("it has changed since it was written")
    facts = json.loads(text)
    if not isinstance(facts, dict):
        raise TypeError("no facts")
    return tensors, facts


def _checksum(tensors: dict[str, Tensor], facts: str) -> str:
    digest = hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16)
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode("utf-8", "replace"))
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
