"""`quietgraph bench run`: run a grid and store every finished run."""

from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars

from quietgraph.bench.engines.local import LocalEngine
from quietgraph.bench.engines.ray import RayEngine
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import records_frame
from quietgraph.bench.runner import Engine, Progress, plan_sweep, run_sweep
from quietgraph.bench.store import Store
from quietgraph.cli.console import errors, say, tell
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
    is_estimate: bool,
    cache: Path | None,
    no_cache: bool,
    data_root: str | None,
    as_json: bool,
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
    if is_estimate:
        _tell_estimate(runs, store, jobs or 1, as_json=as_json)
        return
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
    facts = {"done": len(new), "failed": failed, "there_before": kept, "store": store}
    words = f"{len(new)} runs done ({failed} failed), {kept} were there: {store}"
    tell(words, facts, as_json=as_json)


def _tell_estimate(runs: list[Run], store: Path, jobs: int, *, as_json: bool) -> None:
    """Say what is missing and how long it takes, by what the store has."""
    frame = records_frame([])
    if store.exists():
        with Store(store, read_only=True) as opened:
            frame = opened.to_frame()
    finished = set(frame[frame["status"] == "done"]["digest"])
    missing = [run for run in runs if run.key().digest not in finished]
    words = f"{len(missing):,} of {len(runs):,} runs are missing"
    seconds = plan_sweep(runs, missing, frame).span(jobs) if missing else 0.0
    if missing:
        words += f"; about {span_words(seconds)} with {jobs} job{'s' * (jobs > 1)}"
    facts = {"missing": len(missing), "runs": len(runs), "seconds": seconds, "jobs": jobs}
    tell(words, facts, as_json=as_json)


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
