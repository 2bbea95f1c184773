"""`quietgraph bench run`: the options of a sweep."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import CacheOption, RootOption, StoreOption

commands = typer.Typer()


@commands.command(
    epilog="Example:  quietgraph bench run --datasets cora,citeseer --methods gcn,gcl-lrr "
    "--noise none,symmetric:0.4 --seeds 10 --jobs 2"
)
@deferred
def run(  # noqa: PLR0917
    datasets: Annotated[str, typer.Option(help="Names, comma-separated.")] = "digits",
    methods: Annotated[
        str, typer.Option(help="Names, variants (gcl-lrr:rank_weight=0), or all.")
    ] = "gcn,gcl-lrr,gcl-lr-attention",
    noise: Annotated[str, typer.Option(help="Settings: none,symmetric:0.4,...")] = "symmetric:0.4",
    seeds: Annotated[
        str, typer.Option(help="A count (10: seeds 0 to 9), a range (1000-1009) or a list.")
    ] = "10",
    store: StoreOption = Path("results.sqlite"),
    jobs: Annotated[
        int | None,
        typer.Option(help="Runs at a time, one thread each (1; ray: what the cluster has).", min=1),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Another split: noisygl, per-class.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds a run may take.", min=0)] = None,
    memory_limit: Annotated[
        float | None, typer.Option(help="MB a run may use (local engine).", min=0)
    ] = None,
    engine: Annotated[str, typer.Option(help="Where to run: local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Ray cluster to use.")] = None,
    keep_failures: Annotated[
        bool, typer.Option("--keep-failures", help="Do not try runs again that failed before.")
    ] = False,
    clean_validation: Annotated[
        bool, typer.Option("--clean-validation", help="Leave validation labels without noise.")
    ] = False,
    cache: CacheOption = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Compute every embedding anew.")
    ] = False,
    data_root: RootOption = None,
) -> None:
    """Run a grid; what the store already has is not run again."""
