"""`quietgraph fit`: its options. Each is one line of `--help` or `--help-all`."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from quietgraph.cli.brief_help import BriefHelp, HelpAllOption
from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    BENCHMARK,
    CORRECTED,
    DEFAULT_SOURCE,
    FLAG,
    LARGE,
    ColumnOption,
    JsonOption,
    RootOption,
    SourceArgument,
    TableOptions,
    ThreadsOption,
)

commands = typer.Typer()

PartitionsOption: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Train in N partitions, or auto.",
        show_default=False,
        metavar="N",
        rich_help_panel=LARGE,
    ),
]
PartsOption: TypeAlias = Annotated[str | None, typer.Option("--parts", hidden=True)]
WorkersOption: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        help="Processes to train with.",
        metavar="N",
        show_default=False,
        rich_help_panel=LARGE,
    ),
]
DistributedOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--distributed",
        help="Train as one process of torchrun.",
        metavar=FLAG,
        rich_help_panel=LARGE,
    ),
]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Checkpoints, to continue from.", metavar="DIR", rich_help_panel=LARGE),
]
MinutesOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--checkpoint-minutes",
        min=0,
        help="Time between two.",
        metavar="N",
        rich_help_panel=LARGE,
    ),
]


@commands.command(
    cls=BriefHelp,
    epilog="Examples:\n  quietgraph fit cora --noise asymmetric:0.4 --beside gcn\n"
    "  quietgraph fit my_graph/ --column species=label --fix suspects.csv",
)
@deferred
def fit(  # noqa: PLR0917
    source: SourceArgument = DEFAULT_SOURCE,
    method: Annotated[
        str | None,
        typer.Option(help="One of `quietgraph methods` \\[default: quiet]", metavar="NAME"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the method.", metavar="KEY=VALUE"),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(help="Compare with: gcn,gcl-lrr:rank_weight=0", metavar="NAMES"),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of split, noise, training.", metavar="N")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write \\[default: a new one in runs/]",
            metavar="DIR",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace the run there; keeps its decisions.",
            metavar=FLAG,
        ),
    ] = False,
    as_json: JsonOption = False,
    help_all: HelpAllOption = False,
    columns: ColumnOption = None,
    tables: TableOptions = None,
    fix: Annotated[
        Path | None,
        typer.Option(
            help="Edited suspects.csv, or node,label.",
            metavar="FILE",
            rich_help_panel=CORRECTED,
        ),
    ] = None,
    annotations: Annotated[
        list[Path] | None,
        typer.Option(
            "--annotations",
            "--labels",
            help="Labels of several annotators.",
            metavar="PATH",
            rich_help_panel=CORRECTED,
        ),
    ] = None,
    verified: Annotated[
        list[Path] | None,
        typer.Option(
            help="Reviewed run, or node,label.",
            metavar="PATH",
            rich_help_panel=CORRECTED,
        ),
    ] = None,
    drop_suspects: Annotated[
        int,
        typer.Option(
            min=0,
            help="Drop N suspects and fit again.",
            show_default=False,
            metavar="N",
            rich_help_panel=CORRECTED,
        ),
    ] = 0,
    noise: Annotated[
        str,
        typer.Option(
            help="Make labels wrong first: symmetric:0.4, ...",
            show_default=False,
            metavar="KIND:RATE",
            rich_help_panel=BENCHMARK,
        ),
    ] = "none",
    data_root: RootOption = None,
    partitions: PartitionsOption = "auto",
    parts: PartsOption = None,
    workers: WorkersOption = 1,
    distributed: DistributedOption = False,
    checkpoint: CheckpointOption = None,
    checkpoint_minutes: MinutesOption = 5.0,
    threads: ThreadsOption = None,
) -> None:
    """Learn from a noisy graph: predictions, label issues, model, report."""
