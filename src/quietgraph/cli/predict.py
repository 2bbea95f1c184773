"""`quietgraph predict`: answers of a saved model for a graph it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.bench.datasets import load
from quietgraph.cli.app import app
from quietgraph.cli.console import results
from quietgraph.cli.listings import RootOption
from quietgraph.methods import load_model
from quietgraph.report.fit_run import predictions_table, write_table


@app.command(epilog="Example:  quietgraph predict runs/digits-gcl-lr-attention-0/model digits")
def predict(
    model_dir: Annotated[Path, typer.Argument(help="A model folder written by fit.")],
    source: Annotated[str, typer.Argument(help="A dataset name.")],
    out: Annotated[Path, typer.Option(help="Folder for predictions.csv.")] = Path("predictions"),
    data_root: RootOption = None,
) -> None:
    """Predict the labels of all nodes of a graph with a fitted model."""
    folder = model_dir / "model" if (model_dir / "model").is_dir() else model_dir
    model = load_model(folder)
    graph = load(source, data_root=data_root).graph
    table = predictions_table(model.predict_proba(graph), model.classes_)
    path = write_table(table, out / "predictions.csv")
    results.print(f"{len(table):,} predictions: {path}")
