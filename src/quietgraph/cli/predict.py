"""`quietgraph predict`: answers of a saved model for a graph it has not seen."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Reading, command


class Predict(Reading):
    """Which model answers for which graph."""

    run: Path = Field(description="Folder of a run or of a saved model.", json_schema_extra=ARGUMENT)
    source: str | None = Field(None, description="Folder of tables, or graph file.", json_schema_extra=ARGUMENT)
    out: Path = Field(Path("predictions.csv"), description="Table to write.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Predict)(predict)


def predict(options: Predict) -> None:
    """Predict the labels of all nodes of another graph; its columns are encoded as in the fit."""
    from quietgraph.cli.console import tell
    from quietgraph.data.load import load_like_with_ids
    from quietgraph.errors import InvalidParameterError, UnwritablePathError
    from quietgraph.files import write_file
    from quietgraph.methods.storage import load_model
    from quietgraph.report.folder import predictions_table

    if not (options.source or options.nodes or options.edges):
        raise InvalidParameterError("predict takes a source, or --nodes and --edges.")
    inputs = [Path(one).resolve() for one in (options.source, options.nodes, options.edges) if one]
    if options.out.resolve() in inputs or any(options.out.resolve().parent == one for one in inputs):
        raise UnwritablePathError(
            f"{options.out} is, or lies in, what this command reads. Choose another file with --out."
        )
    model = load_model(options.run / "model" if (options.run / "model").is_dir() else options.run)
    tables = {"nodes": options.nodes, "edges": options.edges} if options.nodes or options.edges else {}
    graph, ids = load_like_with_ids(model.data_.source, options.source, tables)
    table = predictions_table(model.predict_proba(graph), model.classes_, ids)
    write_file(options.out, table.to_csv(index=False))
    facts = {"file": options.out, "predictions": table[["id", "predicted", "probability"]].to_dict("records")}
    tell(f"{len(table):,} predictions: {options.out}", facts, as_json=options.json_)
