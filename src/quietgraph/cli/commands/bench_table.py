"""`quietgraph bench table`, `compare`, `curves`, `ranks`, `export`, `import`: their options."""

from pathlib import Path
from typing import Annotated, Any

import typer

from quietgraph.cli.deferred import OptionGroup, deferred
from quietgraph.cli.options import FLAG, OUTPUT, SELECTION, FormatOption, JsonOption, StoreOption

commands = typer.Typer()

_DEFAULT = Path("results.sqlite")
MetricOption = Annotated[str, typer.Option(help="What is compared.", metavar="NAME")]
OutOption = Annotated[
    Path | None,
    typer.Option(help="File to write (else: stdout).", metavar="FILE", rich_help_panel=OUTPUT),
]


def _only(text: str, metavar: str) -> object:
    return typer.Option(help=text, metavar=metavar, rich_help_panel=SELECTION)


def _selection(  # noqa: PLR0917
    datasets: Annotated[str, _only("Only these.", "NAMES")] = "",
    methods: Annotated[str, _only("Only these names or variants.", "NAMES")] = "",
    noise: Annotated[str, _only("Only these settings.", "KINDS")] = "",
    seeds: Annotated[str, _only("Only these draws: 1000-1004 or a list.", "N")] = "",
    split: Annotated[str, _only("Only this split (default, noisygl).", "NAME")] = "",
    current: Annotated[
        bool,
        typer.Option(
            "--current",
            help="Only runs with the defaults of today.",
            metavar=FLAG,
            rich_help_panel=SELECTION,
        ),
    ] = False,
) -> None:
    """Options that choose runs."""


SelectionOptions = Annotated[Any, OptionGroup(_selection)]


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
    selection: SelectionOptions = None,
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
    selection: SelectionOptions = None,
    as_json: JsonOption = False,
) -> None:
    """Test every method against a baseline, draw by draw, and rank them."""


@commands.command(epilog="Example:  quietgraph bench curves --methods gcn,gcl-lrr --out curves.svg")
@deferred
def curves(
    store: StoreOption = _DEFAULT,
    metric: MetricOption = "test_accuracy",
    out: Annotated[
        Path, typer.Option(help="SVG file to write.", metavar="FILE", rich_help_panel=OUTPUT)
    ] = Path("curves.svg"),
    selection: SelectionOptions = None,
    as_json: JsonOption = False,
) -> None:
    """Draw accuracy against the noise rate."""


@commands.command(epilog="Example:  quietgraph bench ranks --store results.sqlite --out ranks.svg")
@deferred
def ranks(
    store: StoreOption = _DEFAULT,
    metric: MetricOption = "test_accuracy",
    out: Annotated[
        Path, typer.Option(help="SVG file to write.", metavar="FILE", rich_help_panel=OUTPUT)
    ] = Path("ranks.svg"),
    selection: SelectionOptions = None,
    as_json: JsonOption = False,
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
    is_compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Write repeated parameters and versions once (#1, #2, ...): a small file for "
            "`bench import`.",
            metavar=FLAG,
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write every run, finished or failed, as a line of a CSV file."""


@commands.command(
    "import", epilog="Example:  quietgraph bench import results/quiet.csv --store results.sqlite"
)
@deferred
def import_runs(
    files: Annotated[list[Path], typer.Argument(help="CSV files that `bench export` wrote.")],
    store: StoreOption = _DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Take runs from CSV files into a store, to go on from there."""
