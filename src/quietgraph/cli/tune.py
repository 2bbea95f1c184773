"""`quietgraph tune`: search the parameters of a method by noisy labels alone."""

from pathlib import Path
from typing import Literal

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Tune(Output):
    """What is searched, and by which labels."""

    dataset: str = Field(description="Dataset or folder of tables.", json_schema_extra=ARGUMENT)
    method: str = Field("gcl-lr-attention", description="Method whose parameters are searched.")
    param: tuple[str, ...] = Field((), description="A range: hidden=16,32 or dropout=0.2:0.8.")
    noise: str = Field("symmetric:0.4", description="Label noise of a dataset.")
    trials: int = Field(30, ge=1, description="How many settings are tried in the end.")
    by: Literal["validation", "folds"] = Field("validation", description="Labels that choose.")
    seeds: str = Field("1000-1002", description="Draws that a score is averaged over.")
    store: Path = Field(Path("tune.log"), description="Journal of the search.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Tune, panel="Measure")(tune)


def tune(options: Tune) -> None:
    """Search parameters by noisy validation labels or folds; started again, it goes on."""
    from quietgraph.bench import parse_seeds
    from quietgraph.bench import tune as search
    from quietgraph.cli.console import results, tell
    from quietgraph.progress import Step, progress

    with progress("trials") as show:
        trials = search(
            options.dataset,
            options.method,
            options.store,
            space=options.param,
            trials=options.trials,
            by=options.by,
            noise=options.noise,
            seeds=parse_seeds(options.seeds),
            on_trial=lambda done, total: show(Step("trials", done, total)),
        )
    if options.json_:
        tell("", {"store": options.store, "trials": trials.to_dict("records")}, as_json=True)
    else:
        results.print(trials.head(10).to_markdown(index=False))
