"""`quietgraph bench`: sweeps that survive, tables that can be trusted."""

from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars

from quietgraph.bench.engines.local import LocalEngine
from quietgraph.bench.engines.ray import RayEngine
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.runner import Engine, Progress, run_sweep
from quietgraph.bench.store import Store
from quietgraph.cli.console import errors, results, say
from quietgraph.data.sources import user_cache
from quietgraph.errors import InvalidParameterError, UnknownNameError

_ENGINES = ("local", "ray")


def run(
    *,
    datasets: str,
    methods: str,
    noise: str,
    seeds: str,
    store: Path,
    jobs: int | None,
    split: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    engine: str,
    address: str | None,
    keep_failures: bool,
    clean_validation: bool,
    class_prior: bool,
    cache: Path | None,
    no_cache: bool,
    data_root: str | None,
) -> None:
    """Run a grid; what the store already has is not run again."""
    grid = Grid.parse(
        datasets=names(datasets),
        methods=names(methods),
        is_controlled=class_prior,
        noise=[text + "+clean-validation" * clean_validation for text in names(noise)],
        seeds=parse_seeds(seeds),
        split=split,
        data_root=data_root,
        cache=None if no_cache else str(cache or user_cache() / "embeddings"),
    )
    runs = grid.runs()
    where = _engine(engine, jobs, time_limit, memory_limit, address)
    if engine == "local":  # a cluster may hold data that this machine does not
        grid.rehearse()
    for warning in grid.warnings():
        say(f"[yellow]note:[/] {warning}")
    with Store(store) as open_store:
        try:
            with _Bar() as bar:
                new = run_sweep(
                    runs, open_store, where, retry_failures=not keep_failures, tell=bar.show
                )
        except KeyboardInterrupt:
            say(f"stopped; finished runs are in {store}, the same command goes on from there.")
            raise typer.Exit(130) from None
    failed = sum(record.status != "done" for record in new)
    kept = len(runs) - len(new)
    results.print(f"{len(new)} runs done ({failed} failed), {kept} were there: {store}")


class _Bar:
    """A progress bar with an estimate of what remains; plain lines where it is no terminal."""

    def __init__(self) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self.bars = Bars(*columns, console=errors, disable=not errors.is_terminal)
        self.task = self.bars.add_task("", total=None)

    def __enter__(self) -> "_Bar":
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def show(self, progress: Progress) -> None:
        """Show where the sweep stands."""
        words = (
            ""
            if progress.seconds_left is None
            else f"about {span_words(progress.seconds_left)} left"
        )
        last = progress.last
        if last is not None:
            value = last.metrics.get("test_accuracy")
            outcome = last.reason or last.status if value is None else f"{value:.3f}"
            key = last.key
            line = f"{key.dataset} {key.method} {key.noise} seed {key.seed}: {outcome}"
            if errors.is_terminal:
                words += f" · {line}"
            else:
                say(f"[{progress.done}/{progress.total}] {line}".replace("[", r"\["))
        self.bars.update(
            self.task, completed=progress.done, total=progress.total, description=words
        )


def _engine(
    name: str,
    jobs: int | None,
    time_limit: float | None,
    memory_limit: float | None,
    address: str | None,
) -> Engine:
    if name not in _ENGINES:
        raise UnknownNameError("engine", name, _ENGINES)
    if name == "local":
        if address is not None:
            raise InvalidParameterError("--address is for --engine ray.")
        return LocalEngine(jobs or 1, time_limit, memory_limit)
    if memory_limit is not None:
        raise InvalidParameterError(
            "--memory-limit is for --engine local; on Ray the cluster guards its own memory."
        )
    return RayEngine(address, time_limit, jobs)


def names(text: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name.strip() for name in text.split(",") if name.strip()]


def span_words(seconds: float) -> str:
    """Return a time as people say it."""
    minutes, hours = seconds / 60, seconds / 3600
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{hours:.1f} h"
