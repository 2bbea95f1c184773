"""From what a file holds to a graph, in a stream: in memory, or in a folder that is mapped."""

import numpy as np
import pandas as pd
import torch

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.checks import fold_notes
from quietgraph.graph.graph import Graph
from quietgraph.graph.io.array_files import GrowingArray, index_type
from quietgraph.graph.io.edge_sort import EdgeSorter
from quietgraph.graph.io.features import build_features
from quietgraph.graph.io.labels import read_labels, warn_of_classes
from quietgraph.graph.io.limits import EDGE, NODE
from quietgraph.graph.io.nodes import Nodes, Options, read_nodes
from quietgraph.graph.io.raw import Raw, positions_of
from quietgraph.graph.io.result import ReadGraph, Understood
from quietgraph.graph.sparse import CSR
from quietgraph.types import AnyArray


def assemble(raw: Raw, options: Options) -> ReadGraph:
    """Return the graph of what a file holds, with labels, ids and what was understood."""
    nodes = _read_nodes(raw, options)
    adjacency, found = _adjacency(raw, nodes, options)
    features, encoding, words, notes = build_features(raw, nodes, adjacency, options)
    notes_on_edges = fold_notes(
        found["loops"], found["given"] - found["loops"], adjacency.num_entries // 2
    )
    graph = Graph(features, adjacency, notes_on_edges)
    classes = pd.Series(nodes.labels[nodes.labels != None], dtype=object).value_counts()  # noqa: E711
    counts = {str(name): int(count) for name, count in classes.items()}
    understood = Understood(
        form=raw.form,
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        features=graph.num_features,
        columns=words,
        label_column=nodes.label_column,
        classes=counts,
        labelled=sum(counts.values()),
        isolated=found["isolated"],
        self_loops=found["loops"],
        duplicates=found["duplicates"],
        opposite=found["opposite"],
        homophily=found["alike"] / found["both"] if found["both"] else None,
        notes=(*raw.notes, *nodes.notes, *notes, *warn_of_classes(counts)),
    )
    return ReadGraph(graph, nodes.labels, nodes.ids, encoding, understood, raw.validation)


def _read_nodes(raw: Raw, options: Options) -> Nodes:
    if raw.table is not None:
        return read_nodes(raw.table, options, raw.id_column, ids=raw.ids)
    given = raw.ids if raw.ids is not None else ()
    options.budget.check("nodes", len(given), NODE)
    ids = np.array([*given, None], dtype=object)[:-1]
    if not len(ids):
        raise UnreadableFileError(f"{raw.where} holds no nodes.")
    labels, origin = np.full(len(ids), None, dtype=object), None
    if raw.labels is not None:
        labels = read_labels(raw.labels, typed=True, unknown=options.unknown)
        origin = "the file's labels"
    return Nodes(ids, positions_of(ids.tolist(), where=raw.where), labels, origin)


def _adjacency(raw: Raw, nodes: Nodes, options: Options) -> tuple[CSR, dict[str, int]]:
    """Return the symmetric adjacency, and what was found of the edges."""
    size, codes, folder = len(nodes.ids), pd.factorize(nodes.labels)[0], options.folder
    found = dict.fromkeys(("given", "loops", "duplicates", "opposite", "alike", "both"), 0)
    columns = GrowingArray(folder, "columns", index_type(size))
    values = GrowingArray(folder, "weights", np.float32)
    counts: list[AnyArray] = []
    weighted, row = False, 0
    with EdgeSorter(folder, size, expected=raw.num_edges) as sorter:
        for sources, targets, weights in raw.edges(nodes.keys):
            found["given"] += len(sources)
            options.budget.check("edges", found["given"], EDGE)
            sorter.add(sources, targets, weights)
        for rows in sorter.rows():
            columns.append(rows.columns)
            values.append(rows.weights)
            counts.append(rows.counts)
            weighted |= bool((rows.weights != 1).any())
            own = np.repeat(codes[row : row + len(rows.counts)], rows.counts)
            both = (own >= 0) & (codes[rows.columns] >= 0)
            found["both"] += int(both.sum())
            found["alike"] += int((both & (own == codes[rows.columns])).sum())
            found["duplicates"] += rows.duplicates
            found["opposite"] += rows.opposite
            row += len(rows.counts)
    found |= {"loops": sorter.loops, "isolated": int((np.concatenate(counts) == 0).sum())}
    total = np.concatenate([[0], *counts]).cumsum()
    pointer = GrowingArray(folder, "row_pointer", index_type(max(int(total[-1]), size)))
    pointer.append(total)
    kept = values.finish() if weighted else values.discard(np.ones(int(total[-1]), np.float32))
    tensors = [torch.from_numpy(part) for part in (pointer.finish(), columns.finish(), kept)]
    return CSR(tensors[0], tensors[1], tensors[2], (size, size)), found
