"""`quietgraph paper`: the tables and figures of the paper, ours beside the printed numbers."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Paper(Output):
    """Which table, and which of its runs."""

    target: str = Field("list", description="A table of the paper, or list.", json_schema_extra=ARGUMENT)
    datasets: tuple[str, ...] = Field((), description="Only these datasets.")
    methods: tuple[str, ...] = Field((), description="Only these methods.")
    seeds: str | None = Field(None, description="Only these draws.")
    store: Path = Field(Path("paper.jsonl"), description="File of the runs.")
    jobs: int = Field(1, ge=1, description="Worker processes.")
    no_run: bool = Field(False, description="Show what there is; run nothing.")
    out: Path | None = Field(None, description="File to write instead of the screen.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Paper, panel="Measure")(paper)


def paper(options: Paper) -> None:
    """Run what a table of the paper lacks and show it beside the printed numbers."""
    from quietgraph.bench import parse_seeds
    from quietgraph.cli.console import results, show_table
    from quietgraph.files import write_file
    from quietgraph.paper import paper_table, paper_tables
    from quietgraph.progress import counted

    if options.target == "list":
        show_table(["target", "what it shows"], [[name, one.title] for name, one in paper_tables().items()])
        return
    with counted("runs") as on_run:
        text = paper_table(
            options.target,
            options.store,
            datasets=options.datasets or None,
            methods=options.methods or None,
            seeds=parse_seeds(options.seeds) if options.seeds else None,
            jobs=options.jobs,
            run=not options.no_run,
            on_run=on_run,
        )
    if options.out is not None:
        write_file(options.out, text)
    else:
        results.print(text)
