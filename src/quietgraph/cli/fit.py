"""`quietgraph fit`: learn from a noisy graph and write everything about it to a folder."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from quietgraph.bench.datasets import Dataset, load
from quietgraph.bench.noise import Observation, apply_noise
from quietgraph.bench.noise_setting import parse_noise, warn_if_uninformative
from quietgraph.bench.protocol import fit_observed, score
from quietgraph.cli.app import app
from quietgraph.cli.console import progress_bars, results, say
from quietgraph.cli.listings import RootOption
from quietgraph.errors import InvalidParameterError
from quietgraph.methods import get_method
from quietgraph.params import parse_assignments
from quietgraph.report.fit_run import FitRun, write_run

DEFAULT_METHOD = "gcl-lr-attention"


@app.command(
    epilog="Examples:  quietgraph fit  |  quietgraph fit cora --noise asymmetric:0.4 --beside gcn"
    "  |  quietgraph fit digits --set rank_weight=0.5 --out runs/mine"
)
def fit(  # noqa: PLR0917
    source: Annotated[str, typer.Argument(help="A dataset name.")] = "digits",
    method: Annotated[
        str, typer.Option(help="Which method (quietgraph methods).")
    ] = DEFAULT_METHOD,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method: key=value.")
    ] = None,
    beside: Annotated[
        str, typer.Option(help="Methods to fit as well and compare with: gcn,gcl-lrr")
    ] = "",
    noise: Annotated[
        str, typer.Option(help="Corrupt the labels first: symmetric:0.4, asymmetric:0.4, ...")
    ] = "none",
    seed: Annotated[int, typer.Option(help="Decides split, noise and training.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    data_root: RootOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Learn from a noisy graph: predictions, suspicious labels, embeddings, model, report."""
    setting = parse_noise(noise)
    chosen = get_method(method)
    model = chosen(**parse_assignments(chosen, _split_settings(settings or [])), seed=seed)
    others = [get_method(name)(seed=seed) for name in beside.split(",") if name]
    dataset = load(source, seed=seed, data_root=data_root)
    observation = apply_noise(dataset, setting, seed=seed)
    say(_understood(dataset, observation))
    warning = warn_if_uninformative(setting, len(dataset.classes))
    if warning:
        say(f"[yellow]note:[/] {warning}")
    with progress_bars():
        for one in [model, *others]:
            fit_observed(one, dataset, observation)
        model.suspects()
    run = FitRun(
        source=source,
        noise=str(setting),
        model=model,
        dataset=dataset,
        observation=observation,
        metrics=score(model, dataset, observation),
        beside={one: score(one, dataset, observation) for one in others},
        command=_command(),
    )
    folder = write_run(run, out or Path("runs") / f"{source}-{method}-{seed}")
    if as_json:
        typer.echo(json.dumps(run.facts(), indent=1))
    else:
        _print_results(run, folder)


def _print_results(run: FitRun, folder: Path) -> None:
    table = Table("method", "test accuracy", "macro-F1", "seconds")
    for row in run.comparison():
        table.add_row(
            row["method"],
            f"{row['test_accuracy']:.3f}",
            f"{row['test_macro_f1']:.3f}",
            f"{row['seconds']:.1f}",
        )
    results.print(table)
    results.print(run.suspects_sentence())
    results.print(f"report: {folder / 'report.html'}")


def _understood(dataset: Dataset, observation: Observation) -> str:
    graph, split = dataset.graph, dataset.split
    wrong = int((observation.labels != dataset.labels)[split.labelled].sum())
    labelled = int(split.labelled.sum())
    return (
        f"{dataset.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_features:,} features, {len(dataset.classes)} classes; "
        f"{int(split.train.sum()):,} labels to train on and {int(split.validation.sum()):,} to "
        f"choose by, {wrong:,} of these {labelled:,} made wrong on purpose"
    )


def _split_settings(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise InvalidParameterError(f"--set takes key=value, got '{pair}'.")
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in pairs}


def _command() -> str:
    return " ".join(["quietgraph", *sys.argv[1:]])
