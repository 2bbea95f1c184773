"""`quietgraph bench run` and `bench show`: measure methods under noise, honestly."""

from pathlib import Path
from typing import Any, Literal

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Run(Output):
    """Which runs there are, and how they are carried out."""

    datasets: tuple[str, ...] = Field(("digits",), description="A dataset or a folder of tables.")
    methods: tuple[str, ...] = Field(
        ("gcn", "gcl-lr-attention", "quiet"), description="gcn, gcn:hidden=32, boot.py:BootSGC, ..."
    )
    noise: tuple[str, ...] = Field(("symmetric:0.4",), description="none, asymmetric:0.4, ...")
    seeds: str = Field("0-9", description="Draws: 0-9, 9100, or 3,5.")
    split: str = Field("default", description="Another split of the dataset.")
    protocol: Literal["same labels", "paper"] = Field(
        "same labels", description="Which labels teach: all, or training alone."
    )
    measures: tuple[str, ...] = Field((), description="Also measure: assess, folds, theory.")
    store: Path = Field(Path("runs.jsonl"), description="File of the runs.")
    jobs: int = Field(1, ge=1, description="Worker processes.")
    time_limit: float | None = Field(None, gt=0, description="Seconds that a run may take.")
    ray: str | None = Field(None, description="Ray cluster that carries out the runs.")


class Show(Output):
    """Which stored runs are shown, and how."""

    store: Path = Field(Path("runs.jsonl"), description="File of the runs.", json_schema_extra=ARGUMENT)
    as_: Literal["table", "compare", "ranks", "curves", "runs"] = Field(
        "table", alias="as", description="What is shown; curves and ranks also as a figure."
    )
    metric: str = Field("test_accuracy", description="What is compared.")
    baseline: str = Field("", description="What methods are compared with; gcn where it was run.")
    format: Literal["markdown", "latex", "html", "csv"] = Field("markdown", description="Form of the table.")
    out: Path | None = Field(None, description="File to write instead of the screen.")


def add(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Measure methods under noise, honestly.", no_args_is_help=True)
    command(group, Run)(run)
    command(group, Show)(show)
    app.add_typer(group, name="bench", rich_help_panel="Measure")


def run(options: Run) -> None:
    """Carry out runs of methods on datasets under noise; started again, it goes on."""
    from quietgraph.bench import Grid, parse_seeds, to_text
    from quietgraph.cli.console import results, say, tell
    from quietgraph.progress import Step, progress

    grid = Grid(
        _listed(options.datasets),
        _listed(options.methods),
        _listed(options.noise),
        parse_seeds(options.seeds),
        split=options.split,
        protocol=options.protocol,
        measures=_listed(options.measures),
    )
    limits: dict[str, Any] = {"jobs": options.jobs, "time_limit": options.time_limit, "ray": options.ray}
    with progress("runs") as show:
        runs = grid.run(options.store, on_run=lambda done, total: show(Step("runs", done, total)), **limits)
    failed = int((runs["status"] != "done").sum())
    say(f"{len(runs):,} runs in {options.store}" + (f", {failed:,} of them failed" if failed else ""))
    if options.json_:
        tell("", {"store": options.store, "runs": runs.to_dict("records")}, as_json=True)
    else:
        results.print(to_text(runs))


def show(options: Show) -> None:
    """Show stored runs as a table, comparison, ranks or curves."""
    from quietgraph.bench import compare, ranks, read_runs, to_text
    from quietgraph.cli.console import results, tell
    from quietgraph.files import write_file

    runs = read_runs(options.store)
    baseline = options.baseline or ("gcn" if "gcn" in set(runs["method"]) else None)
    if options.out is not None and options.as_ in {"curves", "ranks"}:
        from quietgraph import plots
        from quietgraph.cli.console import save_figure

        found = ranks(runs, options.metric)
        is_curve = options.as_ == "curves"
        axes = (
            plots.noise_curves(runs, options.metric)
            if is_curve
            else plots.mean_ranks(found.ranks, found.critical_difference)
        )
        save_figure(axes, options.out)
        return
    if options.as_ == "table":
        text = to_text(runs, options.format, metric=options.metric, baseline=baseline)
    else:
        frames = {
            "compare": lambda: compare(runs, baseline or "gcn", options.metric),
            "ranks": lambda: ranks(runs, options.metric).ranks.reset_index(name="rank"),
        }
        frame = frames.get(options.as_, lambda: runs)()
        if options.json_:
            tell("", {"rows": frame.to_dict("records")}, as_json=True)
            return
        text = frame.to_csv(index=False) if options.format == "csv" else frame.to_markdown(index=False)
    if options.out is not None:
        write_file(options.out, text)
    else:
        results.print(text)


def _listed(texts: tuple[str, ...]) -> list[str]:
    """Return texts that were given one by one or with commas between."""
    return [one for text in texts for one in text.split(",") if one]
