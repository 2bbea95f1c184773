"""`quietgraph convert`: any graph as a folder of arrays that are mapped into memory, not loaded."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Reading, command


class Convert(Reading):
    """What is converted, and where to."""

    source: str = Field(description="Dataset, folder of tables, or graph file.", json_schema_extra=ARGUMENT)
    folder: Path | None = Field(None, description="Folder to write.", json_schema_extra=ARGUMENT)


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Convert)(convert)


def convert(options: Convert) -> None:
    """Write a graph as a memory-mapped folder, in bounded memory."""
    from quietgraph.cli.console import say, tell
    from quietgraph.data.mapped import convert as write_mapped
    from quietgraph.errors import InvalidParameterError

    source, folder = options.source, options.folder
    if folder is None and (options.nodes or options.edges):
        source, folder = "", Path(options.source)
    if folder is None:
        raise InvalidParameterError("convert takes a source and the folder to write.")
    notes = write_mapped(source or None, folder, **options.given())
    for sentence in notes:
        say(sentence)
    tell(f"converted: {folder}", {"folder": folder, "notes": notes}, as_json=options.json_)
