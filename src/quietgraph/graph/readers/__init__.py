"""Own data from disk: tables, arrays, PyG and network files, read to one checked graph."""

from quietgraph.graph.readers.corrections import Corrections, read_corrections
from quietgraph.graph.readers.encoding import Encoding, read_encoding
from quietgraph.graph.readers.read import read_graph
from quietgraph.graph.readers.result import ReadGraph, Understood

__all__ = [
    "Corrections",
    "Encoding",
    "ReadGraph",
    "Understood",
    "read_corrections",
    "read_encoding",
    "read_graph",
]
