"""`quietgraph bench run`: the options of a sweep."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import FLAG, LIMITS, CacheOption, JsonOption, RootOption, StoreOption

commands = typer.Typer()


@commands.command(
    epilog="Example:\n  quietgraph bench run --datasets cora,citeseer --methods gcn,gcl-lrr \\\n"
    "    --noise none,symmetric:0.4 --seeds 10 --jobs 2"
)
@deferred
def run(  # noqa: PLR0917
    datasets: Annotated[
        str, typer.Option(help="Names, comma-separated.", metavar="NAMES")
    ] = "digits",
    methods: Annotated[
        str,
        typer.Option(
            help="Names, variants (gcn:hidden=64), or all (else three).",
            metavar="NAMES",
            show_default=False,
        ),
    ] = "gcn,gcl-lrr,gcl-lr-attention",
    noise: Annotated[
        str, typer.Option(help="none,symmetric:0.4,...", metavar="KINDS")
    ] = "symmetric:0.4",
    seeds: Annotated[
        str, typer.Option(help="A count, a range (1000-1009) or a list.", metavar="N")
    ] = "10",
    store: StoreOption = Path("results.sqlite"),
    jobs: Annotated[
        int | None,
        typer.Option(help="Runs at a time, one thread each.", min=1, metavar="N"),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="noisygl, per-class, train+validation, all-but-test.", metavar="NAME"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds a run may take.", min=0, metavar="N", rich_help_panel=LIMITS),
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            help="MB a run may use (local engine).", min=0, metavar="N", rich_help_panel=LIMITS
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="local or ray.", metavar="NAME", rich_help_panel=LIMITS)
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to use.", metavar="HOST", rich_help_panel=LIMITS)
    ] = None,
    keep_failures: Annotated[
        bool,
        typer.Option(
            "--keep-failures",
            help="Do not repeat failed runs.",
            metavar=FLAG,
            rich_help_panel=LIMITS,
        ),
    ] = False,
    clean_validation: Annotated[
        bool,
        typer.Option(
            "--clean-validation", help="Leave validation labels without noise.", metavar=FLAG
        ),
    ] = False,
    class_prior: Annotated[
        bool,
        typer.Option(
            "--class-prior",
            help="Control: every method adjusted to validation labels.",
            metavar=FLAG,
        ),
    ] = False,
    is_estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Only say what is missing and how long it takes.", metavar=FLAG
        ),
    ] = False,
    cache: CacheOption = None,
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache", help="Compute every embedding anew.", metavar=FLAG, rich_help_panel=LIMITS
        ),
    ] = False,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a grid; what the store already has is not run again."""
