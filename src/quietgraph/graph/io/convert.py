"""Any graph that can be read, as a memory-mapped folder."""

from pathlib import Path
from typing import Unpack

from quietgraph.graph.io.memory_mapped import (
    folder_to_write,
    is_mapped,
    read_mapped,
    write_graph,
    write_meta,
)
from quietgraph.graph.io.read import ReadOptions, read_source
from quietgraph.graph.io.result import Understood

__all__ = ["convert_graph", "folder_to_write", "write_graph"]


def convert_graph(source: object, target: Path, **options: Unpack[ReadOptions]) -> Understood:
    """Write a graph as a memory-mapped folder and return what was understood of it.

    Folders of tables, and `.npz` files with dense features, are read in pieces: memory grows with
    the ids and labels of the nodes, not with features and edges. All else is read whole first.

    Args:
        source: Anything `read_graph` takes.
        target: An empty or new folder, or an old one of this kind.
        options: Of `read_graph`.
    """
    with folder_to_write(target) as folder:
        if isinstance(source, str | Path) and is_mapped(source):
            return write_graph(folder, read_mapped(source))
        understood = write_meta(folder, read_source(source, folder=folder, **options))
        for unpacked in folder.glob("*.unpacked"):
            unpacked.unlink()
        return understood
