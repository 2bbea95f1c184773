"""`quietgraph fit`: its options."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    ColumnOption,
    DanglingOption,
    EdgesOption,
    JsonOption,
    LimitOption,
    NodesOption,
    RootOption,
    SourceArgument,
    UnknownOption,
)

commands = typer.Typer()

PartitionsOption: TypeAlias = Annotated[
    str, typer.Option(help="Partitions of the graph to train in: auto (by size) or a number.")
]
PartsOption: TypeAlias = Annotated[str | None, typer.Option("--parts", hidden=True)]
WorkersOption: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Processes on this machine that train together.")
]
DistributedOption: TypeAlias = Annotated[
    bool, typer.Option("--distributed", help="Train with the other processes of torchrun.")
]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Folder for checkpoints of the training; a second start continues from there."
    ),
]
MinutesOption: TypeAlias = Annotated[
    float, typer.Option("--checkpoint-minutes", min=0, help="Time between two checkpoints.")
]


@commands.command(
    epilog="Examples:  quietgraph fit  |  quietgraph fit cora --noise asymmetric:0.4 --beside gcn"
    "  |  quietgraph fit my_graph/ --column species=label  |  quietgraph fit my_graph/ --fix "
    "suspects.csv"
)
@deferred
def fit(  # noqa: PLR0917
    source: SourceArgument = "digits",
    method: Annotated[
        str | None,
        typer.Option(
            help="Which method (quietgraph methods) \\[default: quiet; for large graphs and "
            "training in partitions gcl-lr-attention]"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A parameter set otherwise than published or by default: key=value."
        ),
    ] = None,
    beside: Annotated[
        str, typer.Option(help="Methods to compare with: gcn,gcl-lrr:rank_weight=0")
    ] = "",
    noise: Annotated[
        str, typer.Option(help="Corrupt the labels first: symmetric:0.4, asymmetric:0.4, ...")
    ] = "none",
    columns: ColumnOption = None,
    nodes: NodesOption = None,
    edges: EdgesOption = None,
    unknown: UnknownOption = None,
    drop_dangling: DanglingOption = False,
    limit: LimitOption = None,
    fix: Annotated[
        Path | None,
        typer.Option(help="Corrected labels: CSV with node,label, or an edited suspects.csv."),
    ] = None,
    verified: Annotated[
        list[Path] | None,
        typer.Option(
            help="Decisions of earlier reviews: a verified.csv, or a run folder. These labels "
            "count as certain and are not listed as suspects."
        ),
    ] = None,
    drop_suspects: Annotated[
        int, typer.Option(min=0, help="Drop this many suspicious labels and fit again.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Decides split, noise and training.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results \\[default: a new one in runs/]")
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace the run in --out; its decisions are kept."),
    ] = False,
    data_root: RootOption = None,
    as_json: JsonOption = False,
    partitions: PartitionsOption = "auto",
    parts: PartsOption = None,
    workers: WorkersOption = 1,
    distributed: DistributedOption = False,
    checkpoint: CheckpointOption = None,
    checkpoint_minutes: MinutesOption = 5.0,
) -> None:
    """Learn from a noisy graph: predictions, suspicious labels, embeddings, model, report."""
