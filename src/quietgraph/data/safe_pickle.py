"""Pickles of published datasets, read without letting them run anything.

The Planetoid files (Cora, CiteSeer, PubMed) are pickles, and PyG's reader loads them as such.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from quietgraph.errors import UnreadableFileError

_ALLOWED: Final = {  # all that the published files name
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("collections", "defaultdict"),
    ("__builtin__", "list"),
}


class _ArraysOnly(pickle.Unpickler):
    """Makes arrays, sparse matrices, dicts and lists, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that is known to be harmless."""
        if (module, name) not in _ALLOWED:
            raise UnreadableFileError(
                f"a file of the dataset asks for {module}.{name}, which no published file does: it "
                "was not read. Replace it by the published one."
            )
        return super().find_class(module, name)


class ArrayPickle:
    """Stands where a reader expects the module `pickle`."""

    @staticmethod
    def load(file: IO[bytes], *, encoding: str) -> object:
        """Return the arrays of a file; one that names anything else is refused."""
        return _ArraysOnly(file, encoding=encoding).load()


@contextmanager
def arrays_only(reader: Any) -> Iterator[None]:
    """Let a module that has imported pickle load arrays alone inside the block."""
    before, reader.pickle = reader.pickle, ArrayPickle
    try:
        yield
    finally:
        reader.pickle = before
