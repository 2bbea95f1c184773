"""Embeddings kept on disk by content, so that label noise does not train an encoder twice."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

import torch
from torch import Tensor

from quietgraph.embed import History
from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.tensor_file import read_tensors, write_tensors
from quietgraph.types import Embeddings

_Value = TypeVar("_Value")

VERSION = 7  # raise it when the first stage of any method changes its numbers or their names


@dataclass(frozen=True, eq=False)
class Embedded:
    """The label-free first stage: embeddings, what computes them for new graphs, the training."""

    embeddings: Embeddings
    state: dict[str, Tensor] = field(default_factory=dict)
    history: History = field(default_factory=list)
    _known: dict[str, object] = field(default_factory=dict, init=False, repr=False)

    def once(self, name: str, compute: Callable[[], _Value]) -> _Value:
        """Return what `compute` returned when this name was first asked for, and keep it."""
        if name not in self._known:
            self._known[name] = compute()
        return cast("_Value", self._known[name])

    def to(self, device: torch.device) -> "Embedded":
        """Return the same with its tensors on a device; itself where they are there already."""
        if self.embeddings.device == device:
            return self
        state = {name: value.to(device) for name, value in self.state.items()}
        return replace(self, embeddings=self.embeddings.to(device), state=state)


@dataclass(frozen=True)
class EmbeddingCache:
    """A folder of embeddings, one file per content key; safe for many processes."""

    folder: Path

    def has(self, key: Mapping[str, object]) -> bool:
        """Whether something is stored under a key, readable or not."""
        return self._path(key).exists()

    def get(self, key: Mapping[str, object]) -> Embedded | None:
        """Return what was stored under a key; an unreadable file counts as absent."""
        found = self.get_tensors(key)
        if found is None:
            return None
        tensors, history = found
        return Embedded(tensors.pop("embeddings"), tensors, history)

    def get_tensors(self, key: Mapping[str, object]) -> tuple[dict[str, Tensor], History] | None:
        """Return tensors and history as they were stored; an unreadable file counts as absent."""
        try:
            tensors, facts = read_tensors(self._path(key))
        except UnreadableFileError:
            return None
        return tensors, facts["history"]

    def put(self, key: Mapping[str, object], embedded: Embedded) -> None:
        """Store under a key, atomically."""
        tensors = {"embeddings": embedded.embeddings, **embedded.state}
        self.put_tensors(key, tensors, embedded.history)

    def put_tensors(
        self, key: Mapping[str, object], tensors: dict[str, Tensor], history: History
    ) -> None:
        """Store under a key; a cache that cannot be written is a warning, not an error."""
        try:
            write_tensors(self._path(key), tensors, {"key": key, "history": history})
        except UnwritablePathError as error:
            warnings.warn(f"embeddings are not kept: {error}", RuntimeWarning, stacklevel=3)

    def _path(self, key: Mapping[str, object]) -> Path:
        text = json.dumps({**key, "version": VERSION, "torch": torch.__version__}, sort_keys=True)
        return (
            self.folder
            / f"{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}.safetensors"
        )


_active: ContextVar[EmbeddingCache | None] = ContextVar("embedding_cache", default=None)
_last: ContextVar[list[Embedded] | None] = ContextVar("last first stage", default=None)


def active_cache() -> EmbeddingCache | None:
    """Return the cache in use, if any."""
    return _active.get()


@contextmanager
def use_cache(cache: EmbeddingCache | None) -> Iterator[None]:
    """Keep the embeddings of every fit inside the block."""
    token = _active.set(cache)
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def share_first_stage() -> Iterator[None]:
    """Let the folds of a model go on from what the last fit in the block made of its embeddings.

    Rows of all nodes are then made once. They stay in memory until the folds have taken them.
    """
    token = _last.set([])
    try:
        yield
    finally:
        _last.reset(token)


def keep_first_stage(embedded: Embedded) -> None:
    """Keep a first stage in place of the one before, inside a block of `share_first_stage`."""
    kept = _last.get()
    if kept is not None:
        kept[:] = [embedded]


def take_first_stage(embeddings: Embeddings) -> Embedded | None:
    """Return the first stage that was kept if these are its embeddings in memory; it goes away."""
    kept = _last.get()
    if not kept or kept[0].embeddings.data_ptr() != embeddings.data_ptr():
        return None
    return kept.pop()
