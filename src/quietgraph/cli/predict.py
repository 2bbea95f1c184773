"""`quietgraph predict`: answers of a saved model for a graph it has not seen."""

import json
from pathlib import Path
from typing import Unpack

import numpy as np
import typer
from rich.markup import escape

from quietgraph.cli.console import results, say
from quietgraph.cli.outputs import checked_output
from quietgraph.cli.reading import Reading, Tables
from quietgraph.cli.scale import use_threads
from quietgraph.data.load import is_path, load
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.graph.io import read_encoding, read_graph
from quietgraph.methods import load_model
from quietgraph.report.run_files import PREDICTIONS_FILE
from quietgraph.report.shared_rows import predictions_table
from quietgraph.report.write_run import write_table
from quietgraph.types import AnyArray


def predict(
    *,
    model_dir: Path,
    source: str,
    out: Path,
    data_root: str | None,
    threads: int | None,
    as_json: bool,
    **tables: Unpack[Tables],
) -> None:
    """Predict the labels of all nodes of a graph with a fitted model."""
    use_threads(threads)
    target = checked_output(out / PREDICTIONS_FILE, source, tables["nodes"], tables["edges"])
    folder = model_dir / "model" if (model_dir / "model").is_dir() else model_dir
    model = load_model(folder)
    reading = Reading.of(tables)
    if not reading.name_of(source):
        raise InvalidParameterError("predict takes a source, or --nodes and --edges.")
    graph, node_ids = _read(source, folder, data_root, reading)
    table = predictions_table(model.predict_proba(graph), model.classes_, node_ids)
    path = write_table(table, target)
    if as_json:
        rows = table[["node", "predicted", "probability"]]
        found = json.loads(rows.to_json(orient="records"))
        typer.echo(json.dumps({"file": str(path), "predictions": found}, indent=1))
        return
    results.print(f"{len(table):,} predictions: {path}")


def _read(
    source: str, folder: Path, data_root: str | None, reading: Reading
) -> tuple[Graph, AnyArray]:
    """Return the graph, its columns read as those of fit were, and the ids of its nodes."""
    if not is_path(source) and not reading.is_given:
        graph = load(source, data_root=data_root).graph
        return graph, np.arange(graph.num_nodes)
    encoding = read_encoding(folder)
    read = read_graph(reading.source_of(source), encoding=encoding, **reading.options())
    for sentence in read.understood.sentences():
        say(escape(sentence))
    return read.graph, read.node_ids
