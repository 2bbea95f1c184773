"""Matrices of one row per node, filled block by block: by one process, or by several together.

Of several processes each computes a range of rows. They exchange rows through files in the folder
of checkpoints, which all of them see: a process writes its own rows, waits for the others, and maps
the file. So no process holds more of a matrix than the blocks it works on; what the operating
system keeps of a mapped file in memory, it gives back when memory is needed.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.checkpoint import ROWS_FOLDER, active_checkpoints
from quietgraph.embed.scale.distributed import ALONE, World, current_world
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.errors import InvalidParameterError

BLOCK: Final = 16_384  # rows at once: 16 MB a matrix at width 256
_PAGE: Final = 1_024  # ranges of rows start at multiples of it, and so on a page of the file
_HEADER: Final = 4_096  # bytes before the first row, a page too
_UNUSED: Final[list[Path]] = []  # files of matrices that this process has given up


def row_ranges(count: int, block: int | None = None, *, start: int = 0) -> Iterator[slice]:
    """Yield ranges of `block` rows that cover the rows from `start` up to `count`."""
    size = block or BLOCK
    for first in range(start, count, size):
        yield slice(first, min(first + size, count))


@dataclass(frozen=True)
class NodeRows:
    """The rows of all nodes, of which one process computes all."""

    count: int  # nodes
    block: int | None = None  # rows at once
    world: World = ALONE

    @property
    def own(self) -> slice:
        """The rows that this process computes."""
        return slice(0, self.count)

    def blocks(self) -> Iterator[slice]:
        """Yield ranges that cover the rows of this process."""
        return row_ranges(self.own.stop, self.block, start=self.own.start)

    def fill(self, name: str, compute: Callable[[slice], Tensor]) -> Tensor:
        """Return the matrix whose rows a function gives [nodes, columns].

        Args:
            name: Of the file, where processes share one; it goes away with the matrix.
            compute: Returns the rows of a range.
        """
        del name
        whole: Tensor | None = None
        for rows in self.blocks():
            found = compute(rows)
            if whole is None:
                whole = empty_matrix(self.count, found.shape[1], like=found)
            whole[rows] = found
        assert whole is not None  # noqa: S101  (a graph has nodes)
        return whole

    def numbers(self, compute: Callable[[slice], Tensor]) -> Tensor:
        """Return one number per node, of which a function gives those of a range [nodes]."""
        return torch.cat([compute(rows) for rows in self.blocks()])

    def sum(self, compute: Callable[[slice], Tensor]) -> Tensor:
        """Return the sum over all nodes of what a function gives for ranges of rows.

        Ranges are added in double precision, so that the order, which depends on the number of
        processes, changes no digit of a result in single precision.
        """
        total: Tensor | None = None
        for rows in self.blocks():
            found = compute(rows)
            exact = found.double() if found.is_floating_point() else found
            total = exact if total is None else total + exact
        assert total is not None  # noqa: S101  (every process has rows)
        return self.world.total(total).to(found.dtype)

    def once(self, name: str, key: str, compute: Callable[[], Tensor]) -> Tensor:
        """Return what `compute` fills under a name, where processes share it only once for a key.

        After a restart the matrix that the processes before had finished is taken.
        """
        del name, key
        return compute()

    def from_first(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        """Return a matrix that the first process computes alone [nodes, columns]."""
        del name
        return compute()

    def save(self, path: Path, matrix: Tensor) -> None:
        """Write a matrix of all nodes as a NumPy file; of several processes each its rows."""
        with _File(path) as file:
            for rows in self.blocks():
                self._write(file, rows, matrix[rows])

    def _write(self, file: "_File", rows: slice, values: Tensor) -> None:
        array = np.ascontiguousarray(values.detach().cpu().numpy())
        if rows.start == 0:
            file.write(0, npy_header((self.count, array.shape[1]), array.dtype))
        file.write(_HEADER + rows.start * array.strides[0], array.data.cast("B"))


@dataclass(frozen=True)
class SharedRows(NodeRows):
    """The rows of all nodes, of which every process computes a range."""

    folder: Path = Path()

    @property
    def own(self) -> slice:
        """The rows that this process computes, which start on a page of the file.

        Of two blocks a process and more, at a multiple of a block, so that all blocks are those of
        one process: products of other blocks round otherwise.
        """
        size, rank, block = self.world.size, self.world.rank, self.block or BLOCK
        step = _PAGE if self.count >= 4 * _PAGE * size else 1
        step = block if self.count > (2 * size - 1) * block else step
        pages = -(-self.count // step)
        ends = (pages * rank // size * step, pages * (rank + 1) // size * step)
        return slice(*(min(end, self.count) for end in ends))

    def fill(self, name: str, compute: Callable[[slice], Tensor]) -> Tensor:
        """Return the matrix whose rows all processes write, mapped from a file."""
        path = self._new(name)
        with _File(path) as file:
            for rows in self.blocks():
                self._write(file, rows, compute(rows))
        return self._map(path)

    def numbers(self, compute: Callable[[slice], Tensor]) -> Tensor:
        """Return one number per node, mapped from a file [nodes]."""
        return self.fill("numbers", lambda rows: compute(rows)[:, None]).squeeze(1)

    def once(self, name: str, key: str, compute: Callable[[], Tensor]) -> Tensor:
        """Return what `compute` fills, which is kept under a key for a restart."""
        mark, kept = self.folder / f"{name}.key", self.folder / f"{name}.npy"
        if self.world.agree(mark.is_file() and mark.read_text() == key):
            return self._map(kept, keep=True)
        if self.world.is_first:
            mark.unlink(missing_ok=True)
        found = compute()
        self.save(kept, found)
        self.world.wait()
        if self.world.is_first:
            mark.write_text(key)
        return self._map(kept, keep=True)

    def from_first(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        """Return a matrix that the first process computes alone, mapped from a file."""
        path = self._new(name)
        if self.world.is_first:
            with _File(path) as file:
                self._write(file, slice(0, self.count), compute())
        return self._map(path)

    def _new(self, name: str) -> Path:
        """Return the path of a new matrix; files that nobody uses any more are removed."""
        gone = list(_UNUSED)
        self.world.wait()  # the others have given up the same matrices
        for path in gone:
            _UNUSED.remove(path)
            path.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{name}-{next(self.world.serial)}.npy"

    def _map(self, path: Path, *, keep: bool = False) -> Tensor:
        self.world.wait()  # all rows are written
        # Copy on write: torch wants writable memory, and the file must not change.
        mapped = np.load(path, mmap_mode="c", allow_pickle=False)
        if self.world.is_first and not keep:
            weakref.finalize(mapped, _UNUSED.append, path)
        return torch.from_numpy(mapped)


class _File:
    """A file that several processes write to, each its own bytes; on the disk when it is closed."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        try:
            os.fsync(self.handle)
        finally:
            os.close(self.handle)

    def write(self, place: int, content: bytes | memoryview) -> None:
        view = memoryview(content)
        while view:
            done = os.pwrite(self.handle, view, place)
            view, place = view[done:], place + done


def npy_header(shape: tuple[int, ...], kind: np.dtype[Any]) -> bytes:
    """Return the header of a NumPy file, as long as a page."""
    facts = f"{{'descr': '{kind.str}', 'fortran_order': False, 'shape': {shape}, }}"
    start = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
    return start + facts.encode().ljust(_HEADER - 11) + b"\n"


def node_rows(count: int, block: int | None = None) -> NodeRows:
    """Return the rows of a graph's nodes as the processes of this world share them.

    Args:
        count: Number of nodes.
        block: Rows computed at once.
    """
    world = current_world()
    if world.size == 1:
        return NodeRows(count, block)
    checkpoints = active_checkpoints()
    if checkpoints is None:
        raise InvalidParameterError(
            "several processes exchange rows through the folder of checkpoints. Fit inside "
            "use_checkpoints(Checkpoints(folder)), with a folder that all machines see."
        )
    return SharedRows(count, block, world, folder=checkpoints.folder / ROWS_FOLDER)
