"""`quietgraph review`: decide on suspicious labels in the browser, alone or with others."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Review(Output):
    """Which run is reviewed, by whom and where."""

    run: Path = Field(description="Folder of a run.", json_schema_extra=ARGUMENT)
    reviewer: str = Field("", description="Your name, where several people review.")
    host: str = Field("127.0.0.1", description="Address to listen on; 0.0.0.0 for others.")
    port: int = Field(8470, ge=0, le=65535, description="0 takes any free one.")
    no_browser: bool = Field(False, description="Do not open a browser.")
    export: Path | None = Field(None, description="Write the decisions as a table instead.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Review)(review)


def review(options: Review) -> None:
    """Decide on suspicious labels in the browser; decisions are saved as they are made."""
    from quietgraph.cli.console import say, tell

    if options.export is None:
        from quietgraph.review.server import serve_review

        serve_review(
            options.run,
            host=options.host,
            port=options.port,
            reviewer=options.reviewer,
            browser=not options.no_browser,
            started=lambda link: tell(f"review: {link}", {"review": link}, as_json=options.json_),
        )
        return
    from quietgraph.files import write_file
    from quietgraph.report.folder import next_command
    from quietgraph.review.decisions import export_decisions, open_run

    text, counts = export_decisions(options.run)
    write_file(options.export, text)
    words = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no decisions"
    tell(f"{words}: {options.export}", {"file": options.export, "decided": counts}, as_json=options.json_)
    say(open_run(options.run).outlook())
    say(f"next: {next_command(options.run, verified=options.export)}")
