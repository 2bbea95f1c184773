"""`quietgraph bench table`, `compare`, `curves`, `ranks`, `export`, `import`: their options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import FLAG, OUTPUT, SELECTION, FormatOption, JsonOption, StoreOption

commands = typer.Typer()

_DEFAULT = Path("results.sqlite")
MetricOption = Annotated[str, typer.Option(help="What is compared.", metavar="NAME")]
OutOption = Annotated[
    Path | None,
    typer.Option(help="File to write (else: stdout).", metavar="FILE", rich_help_panel=OUTPUT),
]
DatasetsOption = Annotated[
    str, typer.Option("--datasets", help="Only these.", metavar="NAMES", rich_help_panel=SELECTION)
]
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        help="Only these names or variants.",
        metavar="NAMES",
        rich_help_panel=SELECTION,
    ),
]
NoiseOption = Annotated[
    str,
    typer.Option(
        "--noise", help="Only these settings.", metavar="KINDS", rich_help_panel=SELECTION
    ),
]
SeedsOption = Annotated[
    str,
    typer.Option(
        "--seeds",
        help="Only these draws: 1000-1004 or a list.",
        metavar="N",
        rich_help_panel=SELECTION,
    ),
]
SplitOption = Annotated[
    str,
    typer.Option(
        "--split",
        help="Only this split (default, noisygl).",
        metavar="NAME",
        rich_help_panel=SELECTION,
    ),
]
CurrentOption = Annotated[
    bool,
    typer.Option(
        "--current",
        help="Only runs with the defaults of today.",
        metavar=FLAG,
        rich_help_panel=SELECTION,
    ),
]


@commands.command(epilog="Example:  quietgraph bench table --store results.sqlite --baseline gcn")
@deferred
def table(  # noqa: PLR0917
    store: StoreOption = _DEFAULT,
    format: FormatOption = "markdown",  # noqa: A002
    metric: MetricOption = "test_accuracy",
    baseline: Annotated[
        str,
        typer.Option(help="Mark what differs from it (the best of several).", metavar="NAMES"),
    ] = "",
    out: OutOption = None,
    datasets: DatasetsOption = "",
    methods: MethodsOption = "",
    noise: NoiseOption = "",
    seeds: SeedsOption = "",
    split: SplitOption = "",
    current: CurrentOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print mean ± std (n) of every method, dataset and noise."""


@commands.command(epilog="Example:  quietgraph bench compare --store results.sqlite --baseline gcn")
@deferred
def compare(  # noqa: PLR0917
    store: StoreOption = _DEFAULT,
    baseline: Annotated[
        str, typer.Option(help="The method to compare with.", metavar="NAME")
    ] = "gcn",
    best_of: Annotated[
        str, typer.Option(help="Compare with the best of these, too.", metavar="NAMES")
    ] = "",
    metric: MetricOption = "test_accuracy",
    format: Annotated[  # noqa: A002
        str, typer.Option(help="markdown, csv or json.", metavar="NAME", rich_help_panel=OUTPUT)
    ] = "markdown",
    out: OutOption = None,
    datasets: DatasetsOption = "",
    methods: MethodsOption = "",
    noise: NoiseOption = "",
    seeds: SeedsOption = "",
    split: SplitOption = "",
    current: CurrentOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test every method against a baseline, draw by draw, and rank them."""


@commands.command(epilog="Example:  quietgraph bench curves --methods gcn,gcl-lrr --out curves.svg")
@deferred
def curves(  # noqa: PLR0917
    store: StoreOption = _DEFAULT,
    metric: MetricOption = "test_accuracy",
    out: Annotated[
        Path, typer.Option(help="SVG file to write.", metavar="FILE", rich_help_panel=OUTPUT)
    ] = Path("curves.svg"),
    datasets: DatasetsOption = "",
    methods: MethodsOption = "",
    noise: NoiseOption = "",
    seeds: SeedsOption = "",
    split: SplitOption = "",
    current: CurrentOption = False,
) -> None:
    """Draw accuracy against the noise rate."""


@commands.command(epilog="Example:  quietgraph bench ranks --store results.sqlite --out ranks.svg")
@deferred
def ranks(  # noqa: PLR0917
    store: StoreOption = _DEFAULT,
    metric: MetricOption = "test_accuracy",
    out: Annotated[
        Path, typer.Option(help="SVG file to write.", metavar="FILE", rich_help_panel=OUTPUT)
    ] = Path("ranks.svg"),
    datasets: DatasetsOption = "",
    methods: MethodsOption = "",
    noise: NoiseOption = "",
    seeds: SeedsOption = "",
    split: SplitOption = "",
    current: CurrentOption = False,
) -> None:
    """Draw mean ranks with the critical difference."""


@commands.command(
    epilog="Example:  quietgraph bench export --store results.sqlite --out results.csv"
)
@deferred
def export(
    store: StoreOption = _DEFAULT,
    out: Annotated[
        Path, typer.Option(help="CSV file to write.", metavar="FILE", rich_help_panel=OUTPUT)
    ] = Path("results.csv"),
) -> None:
    """Write every run, finished or failed, as a line of a CSV file."""


@commands.command(
    "import", epilog="Example:  quietgraph bench import results/quiet.csv --store results.sqlite"
)
@deferred
def import_runs(
    files: Annotated[list[Path], typer.Argument(help="CSV files that `bench export` wrote.")],
    store: StoreOption = _DEFAULT,
) -> None:
    """Take runs from CSV files into a store, to go on from there."""
