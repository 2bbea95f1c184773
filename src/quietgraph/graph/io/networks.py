"""GraphML and GML files, read by NetworkX; node attributes are columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

import networkx as nx
import numpy as np
import pandas as pd

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.columns import check_roles
from quietgraph.graph.io.csv_file import MAX_LINE
from quietgraph.graph.io.graphml import check_graphml, too_long
from quietgraph.graph.io.raw import Raw, positions_of


def read_network(path: Path, roles: Mapping[str, str]) -> Raw:
    """Return what a `.graphml` or `.gml` file holds; the edge attribute `weight` is the weight."""
    try:
        network = _read_gml(path) if path.suffix == ".gml" else _read_graphml(path)
    except (
        *(OSError, ExpatError, ParseError, nx.NetworkXError, ValueError, KeyError),
        *(TypeError, AttributeError, RecursionError),
    ) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise UnreadableFileError(
            f"{path} is no readable {path.suffix} file ({reason}). Write it again."
        ) from error
    ids = list(network.nodes)
    if not ids:
        raise UnreadableFileError(f"{path} holds no nodes.")
    positions_of(ids, where=str(path))
    place = {node: index for index, node in enumerate(ids)}
    table = pd.DataFrame([attributes for _, attributes in network.nodes(data=True)])
    check_roles(roles, [str(name) for name in table.columns], where=path.name)
    ends = [(place[source], place[target]) for source, target in network.edges()]
    return Raw(
        form=path.suffix,
        node_ids=np.array([*ids, None], dtype=object)[:-1],  # an id may be a tuple
        edges=np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        weights=_weights(network, path),
        table=table,
    )


def _read_graphml(path: Path) -> Any:
    check_graphml(path)
    return nx.read_graphml(path)


def _read_gml(path: Path) -> Any:
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE):
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                raise too_long(path)
    try:
        return nx.read_gml(path, label="label")
    except nx.NetworkXError:  # names that are missing or not unique: they are a column then
        return nx.read_gml(path, label="id")


def _weights(network: Any, path: Path) -> Any:
    found = [attributes.get("weight") for _, _, attributes in network.edges(data=True)]
    if all(weight is None for weight in found):
        return None
    if not all(isinstance(weight, int | float) and weight > 0 for weight in found):
        raise UnreadableFileError(
            f"{path}: the attribute weight must be a positive number on every edge, or on none."
        )
    return np.array(found, dtype=np.float64)
