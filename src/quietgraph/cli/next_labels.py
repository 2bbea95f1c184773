"""`quietgraph next`: which nodes to label next, and by whom."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Next(Output):
    """For which run, how many, and what annotators cost."""

    run: Path = Field(description="Folder of a run.", json_schema_extra=ARGUMENT)
    budget: int = Field(50, ge=1, description="How many answers to buy.")
    cost: dict[str, float] = Field(
        {}, description="What an answer of an annotator costs.", json_schema_extra={"metavar": "NAME=PRICE"}
    )
    out: Path = Field(Path("next.csv"), description="Table to write.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Next, name="next")(next_)


def next_(options: Next) -> None:
    """List the nodes whose labels are worth most."""
    from quietgraph.annotators.next_labels import next_labels_of_run
    from quietgraph.cli.console import tell
    from quietgraph.files import write_file

    table = next_labels_of_run(options.run, budget=options.budget, costs=options.cost)
    write_file(options.out, table.to_csv(index=False))
    facts = {"file": options.out, "nodes": table.to_dict("records")}
    tell(f"{len(table):,} nodes to label: {options.out}", facts, as_json=options.json_)
