"""`quietgraph convert`: any graph as a folder that is mapped into memory, not loaded."""

from pathlib import Path
from typing import Unpack

import numpy as np
from rich.markup import escape

from quietgraph.cli.console import say, tell
from quietgraph.cli.reading import Reading, Tables
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.homophily import measure_homophily
from quietgraph.data.load import is_path
from quietgraph.errors import InvalidParameterError
from quietgraph.graph.io import Encoding, ReadGraph, Understood
from quietgraph.graph.io.convert import convert_graph, write_graph
from quietgraph.graph.io.memory_mapped import folder_to_write


def convert(
    *,
    source: str,
    target: Path | None,
    columns: list[str] | None,
    data_root: str | None,
    as_json: bool,
    **tables: Unpack[Tables],
) -> None:
    """Write a graph as a memory-mapped folder, in bounded memory."""
    reading = Reading.of(tables, columns)
    target = Path(source) if target is None and reading.edges is not None else target
    if target is None:
        raise InvalidParameterError("convert takes a source and the folder to write.")
    if is_path(source) or reading.is_given:
        understood = convert_graph(reading.source_of(source), target, **reading.options())
    else:
        understood = _convert_dataset(source, target, data_root)
    for sentence in understood.sentences():
        say(escape(sentence))
    facts = {"folder": target, **understood.to_dict()}
    tell(f"converted: {target}", facts, as_json=as_json)


def _convert_dataset(name: str, target: Path, data_root: str | Path | None) -> Understood:
    """Write a dataset by name with the labels of its own split; test labels are left out."""
    data, _ = load_benchmark(name, data_root=data_root)
    graph, known = data.graph, data.known
    labels = np.full(graph.num_nodes, None, dtype=object)
    labels[known.numpy()] = data.codes[known].tolist()
    homophily = measure_homophily(data)
    understood = Understood(
        form=f"dataset {name}",
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        features=graph.num_features,
        columns=(f"a matrix of {graph.num_features:,} columns",),
        label_column="its split, without test nodes",
        classes={str(code): int((data.codes == code).sum()) for code in data.classes},
        labelled=int(known.sum()),
        isolated=int((graph.adjacency.row_counts == 0).sum()),
        self_loops=0,
        duplicates=0,
        opposite=0,
        homophily=homophily.observed if homophily.edges else None,
        notes=graph.notes,
    )
    matrix, ids = Encoding("matrix"), data.node_ids.astype(object)
    read = ReadGraph(graph, labels, ids, matrix, understood, data.split.validation.numpy())
    with folder_to_write(target) as folder:
        return write_graph(folder, read)
