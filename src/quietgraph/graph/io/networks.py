"""GraphML and GML files and NetworkX graphs as two DataFrames; node attributes are columns."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.types import AnyArray


def read_network(path: Path) -> Any:
    """Return the NetworkX graph of a `.graphml` or `.gml` file."""
    try:
        if path.suffix == ".graphml":
            return nx.read_graphml(path)
        try:
            return nx.read_gml(path, label="label")
        except nx.NetworkXError:  # names that are missing or not unique: they are a column then
            return nx.read_gml(path, label="id")
    except Exception as error:  # parsers of XML and GML raise errors of any kind
        if isinstance(error, MemoryError):
            raise
        raise UnreadableFileError(f"{path} is no readable {path.suffix} file: {str(error)[:200]}.") from error


def tables_of_network(network: Any) -> tuple[pd.DataFrame, pd.DataFrame, AnyArray]:
    """Return nodes with their attributes, edges with `weight` where any has it, and the nodes themselves."""
    if not isinstance(network, nx.Graph):
        raise InvalidParameterError(
            f"a graph is read from a path, a DataFrame of edges or a NetworkX graph, got {type(network).__name__}."
        )
    ids = np.fromiter(network.nodes, dtype=object, count=len(network))  # a node may be a tuple
    nodes = pd.DataFrame([given for _, given in network.nodes(data=True)])
    nodes.columns = [f"{name} (attribute)" if str(name) == "id" else str(name) for name in nodes.columns]
    nodes.insert(0, "id", [str(one) for one in ids])
    edges = pd.DataFrame(
        [(str(one), str(other), given.get("weight")) for one, other, given in network.edges(data=True)],
        columns=["source", "target", "weight"],
    )
    return nodes, edges if edges["weight"].notna().any() else edges[["source", "target"]], ids
