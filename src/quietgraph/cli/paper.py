"""`quietgraph paper`: the tables and figures of the paper, ours beside the printed numbers."""

from pathlib import Path
from typing import Literal

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Paper(Output):
    """Which table, and which of its runs."""

    target: str = Field("list", description="A table of the paper, or list.", json_schema_extra=ARGUMENT)
    datasets: tuple[str, ...] = Field((), description="Only these datasets.")
    seeds: str = Field("", description="Other draws, such as 9100-9102.")
    protocol: Literal["same labels", "paper"] = Field("same labels", description="Which labels teach.")
    store: Path = Field(Path("paper.jsonl"), description="File of the runs.")
    jobs: int = Field(1, ge=1, description="Worker processes.")
    no_run: bool = Field(False, description="Show what there is; run nothing.")
    format: Literal["markdown", "latex", "html", "csv"] = Field("markdown", description="Form of the table.")
    out: Path | None = Field(None, description="File to write instead of the screen.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Paper, panel="Measure")(paper)


def paper(options: Paper) -> None:
    """Run what a table of the paper lacks and show it beside the printed numbers."""
    import json

    from quietgraph.bench import read_runs
    from quietgraph.cli.console import results, show_table
    from quietgraph.errors import UnknownNameError
    from quietgraph.files import write_file
    from quietgraph.paper import paper_tables
    from quietgraph.progress import Step, progress

    tables = paper_tables()
    if options.target == "list":
        if options.json_:
            results.print(json.dumps({name: one.title for name, one in tables.items()}))
            return
        show_table(["target", "what it shows"], [[name, one.title] for name, one in tables.items()])
        return
    if options.target not in tables:
        raise UnknownNameError("table of the paper", options.target, tables)
    table, how = tables[options.target], {"seeds": options.seeds, "protocol": options.protocol}
    if not options.no_run:
        with progress("runs") as show:
            for grid in table.grids(datasets=options.datasets, **how):
                grid.run(options.store, jobs=options.jobs, on_run=lambda done, every: show(Step("runs", done, every)))
    text = table.text(read_runs(options.store), "json" if options.json_ else options.format, **how)
    if options.out is not None:
        write_file(options.out, text)
    else:
        results.print(text)
