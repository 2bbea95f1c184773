"""Where a long training stands, kept on disk every few minutes and whole or not at all."""

import contextlib
import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from quietgraph.embed.adam import Adam, State
from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.tensor_file import read_tensors, write_tensors

_FILE = "training.safetensors"
_FORMAT = 2
ROWS_FOLDER = "rows"  # of matrices that processes share, within the folder


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Tensors by name, and facts as plain JSON values."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(eq=False)
class Checkpoints:
    """A folder that holds the last snapshot of one training.

    Attributes:
        folder: Made when the first snapshot is kept.
        minutes: Least time between two snapshots; 0 keeps one after every step.
    """

    folder: Path
    minutes: float = 5.0
    _last: float = field(default_factory=time.monotonic)

    def is_due(self) -> bool:
        """Whether the last snapshot is old enough for another one."""
        return time.monotonic() - self._last >= 60 * self.minutes

    def keep(self, key: str, snapshot: Snapshot) -> None:
        """Write a snapshot; a crash on the way leaves the one before, and a full disk warns."""
        facts = {"format": _FORMAT, "key": key, **snapshot.facts}
        try:
            write_tensors(self.folder / _FILE, snapshot.tensors, facts)
        except UnwritablePathError as error:
            warnings.warn(f"the training goes on without a checkpoint: {error}", stacklevel=2)
        self._last = time.monotonic()

    def last(self, key: str) -> Snapshot | None:
        """Return the last snapshot of this training, None without one; another's is refused."""
        path = self.folder / _FILE
        if not path.exists():
            return None
        try:
            tensors, facts = read_tensors(path)
        except UnreadableFileError as error:
            raise UnreadableFileError(f"{error} Remove it to start afresh.") from error
        if (facts.pop("format", None), facts.pop("key", None)) != (_FORMAT, key):
            raise UnreadableFileError(
                f"{path} belongs to another training: other data, parameters or version. "
                "Name another folder with --checkpoint, or remove it."
            )
        return Snapshot(tensors, facts)

    @property
    def has_one(self) -> bool:
        """Whether there is a snapshot to continue from."""
        return (self.folder / _FILE).exists()

    def forget(self) -> None:
        """Remove snapshot and shared rows, and the folder where nothing else is in it."""
        shutil.rmtree(self.folder / ROWS_FOLDER, ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.folder / _FILE).unlink(missing_ok=True)
            self.folder.rmdir()


def content_key(facts: Mapping[str, object]) -> str:
    """Return a short text that is the same for the same facts alone."""
    text = json.dumps(facts, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def state_of(module: nn.Module, optimiser: Adam) -> dict[str, Tensor]:
    """Return weights and the optimiser's memory of them, by name."""
    tensors = {f"module.{name}": value for name, value in module.state_dict().items()}
    for index, memory in optimiser.state.items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in memory.items()}
    return tensors


def restore_state(module: nn.Module, optimiser: Adam, tensors: dict[str, Tensor]) -> None:
    """Put back what `state_of` returned."""
    own: dict[str, Tensor] = {}
    memory: State = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "module":
            own[rest] = value
        elif kind == "optimiser":
            index, _, slot = rest.partition(".")
            memory.setdefault(int(index), {})[slot] = value
    module.load_state_dict(own)
    optimiser.load_state(memory)


_active: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


def active_checkpoints() -> Checkpoints | None:
    """Return the checkpoints in use, if any."""
    return _active.get()


@contextmanager
def use_checkpoints(checkpoints: Checkpoints | None) -> Iterator[None]:
    """Keep snapshots of the training inside the block, and continue from the last one."""
    token = _active.set(checkpoints)
    try:
        yield
    finally:
        _active.reset(token)
