"""GraphML and GML files, read by NetworkX, and NetworkX graphs; node attributes are columns."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.graphml import check_graphml, too_long
from quietgraph.graph.io.limits import MAX_LINE, Budget, parsing
from quietgraph.graph.io.raw import EdgeBlocks, Raw
from quietgraph.graph.io.table import FrameTable
from quietgraph.types import FloatArray


def read_network(path: Path, budget: Budget) -> Raw:
    """Return what a `.graphml` or `.gml` file holds; the edge attribute `weight` is the weight."""
    with parsing(path, f"{path.suffix} file"):
        network = _read_gml(path) if path.suffix == ".gml" else _read_graphml(path)
    return raw_of_network(network, path.suffix, str(path), budget)


def raw_of_network(network: nx.Graph, form: str, where: str, budget: Budget) -> Raw:
    """Return nodes, edges and attributes of a NetworkX graph."""
    ids = list(network.nodes)
    if not ids:
        raise UnreadableFileError(f"{where} holds no nodes.")
    place = {node: index for index, node in enumerate(ids)}
    attributes = [given for _, given in network.nodes(data=True)]
    names = list(dict.fromkeys(str(name) for given in attributes for name in given))
    budget.check("cells", len(ids) * len(names), 8)
    ends = [(place[source], place[target]) for source, target in network.edges()]
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    weights = _weights(network, where)
    table = pd.DataFrame(attributes, index=range(len(ids)))

    def blocks(_: pd.Index) -> EdgeBlocks:
        yield edges[0], edges[1], weights

    return Raw(form, where, blocks, edges.shape[1], [], ids=ids, table=FrameTable(table, where))


def _read_graphml(path: Path) -> nx.Graph:
    check_graphml(path)
    return nx.read_graphml(path)


def _read_gml(path: Path) -> nx.Graph:
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE):
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                raise too_long(path)
    try:
        return nx.read_gml(path, label="label")
    except nx.NetworkXError:  # names that are missing or not unique: they are a column then
        return nx.read_gml(path, label="id")


def _weights(network: nx.Graph, where: str) -> FloatArray | None:
    found = [attributes.get("weight") for _, _, attributes in network.edges(data=True)]
    if all(weight is None for weight in found):
        return None
    if not all(isinstance(weight, int | float) and 1e-37 < weight < 3.4e38 for weight in found):
        raise UnreadableFileError(
            f"{where}: the attribute weight must be a positive number on every edge, or on none."
        )
    return np.array(found, dtype=np.float64)
