"""`quietgraph fit`: learn from a noisy graph and write everything about it to a folder."""

import json
import sys
from pathlib import Path
from typing import Unpack

import typer
from rich.markup import escape

from quietgraph.annotators.consensus import with_consensus
from quietgraph.bench.protocol import score
from quietgraph.bench.variant import Variant, parse_variants
from quietgraph.cli.console import progress_bars, say, say_seconds
from quietgraph.cli.fit_results import print_results
from quietgraph.cli.reading import Reading, Tables, split_pairs
from quietgraph.cli.scale import (
    checkpoints_for,
    enter_world,
    launch_workers,
    newer_of,
    say_partitions,
    set_partitions,
    use_threads,
    was_written,
)
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.homophily import measure_homophily
from quietgraph.data.load import is_path, load
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting, parse_noise, warn_if_uninformative
from quietgraph.data.observation import Observation, Reference
from quietgraph.embed.scale.checkpoint import use_checkpoints
from quietgraph.embed.scale.distributed import World
from quietgraph.errors import InvalidParameterError
from quietgraph.graph.io import Corrections, read_corrections
from quietgraph.methods import METHODS, NodeClassifier
from quietgraph.methods.base.cache import share_first_stage
from quietgraph.methods.base.device import find_device
from quietgraph.progress import stage
from quietgraph.report.earlier import earlier_run
from quietgraph.report.fit_run import FitRun
from quietgraph.report.run_files import ANNOTATIONS_FILE, shown_command
from quietgraph.report.shared_rows import SampledFit, sample_fit
from quietgraph.report.write_run import check_folder, free_folder, write_run
from quietgraph.review.run import read_decisions

_FEW_EDGES = 15  # between labelled nodes, below which nothing is said of their homophily
DEFAULT_METHOD = "quiet"
DEFAULT_OF_SEVERAL = "gcl-lr-attention"  # trains in several processes


def fit(
    *,
    source: str,
    method: str | None,
    settings: list[str] | None,
    beside: str,
    noise: str,
    columns: list[str] | None,
    fix: Path | None,
    annotations: list[Path] | None,
    verified: list[Path] | None,
    drop_suspects: int,
    seed: int,
    out: Path | None,
    overwrite: bool,
    data_root: str | None,
    as_json: bool,
    partitions: str,
    parts: str | None,
    workers: int,
    distributed: bool,
    checkpoint: Path | None,
    checkpoint_minutes: float,
    threads: int | None,
    **tables: Unpack[Tables],
) -> None:
    """Learn from a noisy graph: predictions, label issues, model, report."""
    use_threads(threads)
    if workers > 1:
        raise typer.Exit(launch_workers(workers))
    setting = parse_noise(noise)
    partitions = newer_of(partitions, parts)
    name = method or (DEFAULT_OF_SEVERAL if distributed else DEFAULT_METHOD)
    reading = Reading.of(columns, **tables)
    source = reading.name_of(source)
    dataset = None if is_path(source) or reading.is_given else source
    model = _estimator(name, settings, dataset, seed)
    beside_it = parse_variants(filter(None, beside.split(",")))
    others = [variant.estimator(dataset, seed=seed) for variant in beside_it]
    for one in (model, *others):
        find_device(one.device)
    set_partitions(model, partitions)
    alone = not (others or drop_suspects)
    decisions = _read_decisions(verified, fix)
    if was_written(out):
        return
    if out is not None:
        check_folder(out, overwrite=overwrite)
    with enter_world(distributed, model, alone=alone) as world:
        files = _answer_files(annotations)
        with progress_bars(), stage(f"reading {escape(source)}"):
            observed, reference = _observe(
                source, setting, reading, files, seed=seed, data_root=data_root
            )
        folder = world.agree(out or free_folder(Path("runs") / f"{observed.name}-{name}-{seed}"))
        checkpoints = checkpoints_for(folder, checkpoint, checkpoint_minutes, world, alone=alone)
        _say_plan(observed, reference, setting, model, world)
        sizes = {"nodes": observed.graph.num_nodes, "classes": len(observed.classes)}
        check_folder(folder, overwrite=overwrite, **sizes)
        observed = _take_up(decisions, observed)
        with use_checkpoints(checkpoints):
            with progress_bars(), share_first_stage():
                learned = _fit_all(observed, model, others, drop_suspects)
                shown = sample_fit(learned, model, reference)
            run = FitRun(
                source=source,
                noise=setting,
                model=shown.model,
                observation=shown.observation,
                reference=shown.reference,
                metrics=_metrics(shown, model, observed, reference),
                beside={one: score(one, observed, reference) for one in others},
                command=_command(),
                decisions=decisions,
                whole=shown.whole,
            )
            _write(run, folder, overwrite=overwrite)
        if not world.is_first:
            return
        if checkpoints is not None:
            checkpoints.forget()
    if as_json:
        typer.echo(json.dumps(run.facts(), indent=1))
    else:
        print_results(run, folder)
    say_seconds()


def _metrics(
    shown: SampledFit, model: NodeClassifier, observed: Observation, reference: Reference | None
) -> dict[str, float]:
    """Return the scores of a fit; own data is scored by validation labels, which the sample has.

    Dropped labels count: without those it disagrees with, any model looks good.
    """
    if shown.whole is None or reference is not None:
        return score(model, observed, reference)
    return score(shown.model, shown.observation, None)


def _write(run: FitRun, folder: Path, *, overwrite: bool) -> None:
    for change in run.observation.changes:
        say(escape(change))
    with progress_bars(), stage("writing report and tables"):
        write_run(run, folder, overwrite=overwrite)
    kept = earlier_run(folder)
    if kept is not None:
        say(f"suspects and decisions of the run that was replaced: {escape(str(kept))}")


def _estimator(
    method: str, settings: list[str] | None, dataset: str | None, seed: int
) -> NodeClassifier:
    """Return the method with the settings published for the dataset, those of --set on top."""
    own = split_pairs("--set", settings)
    if "seed" in own:
        raise InvalidParameterError("the seed is set with --seed, not with --set.")
    return Variant(method, tuple(own.items())).estimator(dataset, seed=seed)


def _read_decisions(verified: list[Path] | None, fix: Path | None) -> Corrections:
    """Return all decisions that are given, those of --fix last."""
    found = Corrections(Path(), {})
    for path in verified or []:
        found = found.updated(read_decisions(path))
    return found.updated(read_corrections(fix)) if fix else found


def _take_up(decisions: Corrections, observed: Observation) -> Observation:
    """Return the observation with the decisions in it."""
    if not decisions.decisions:
        return observed
    here = decisions.within(observed.node_ids)
    away = len(decisions.decisions) - len(here.decisions)
    if away and not here.decisions:
        raise InvalidParameterError(
            f"none of the {away} decisions of {decisions.path} is about a node of this graph. "
            "Check the ids."
        )
    if away:
        say(
            f"[yellow]note:[/] {away} decisions are about nodes that are not in this graph; they "
            "are kept in verified.csv"
        )
    return observed.correct(here)


def _observe(
    source: str,
    noise: NoiseSetting,
    reading: Reading,
    annotations: list[Path] | None,
    *,
    seed: int,
    data_root: str | None,
) -> tuple[Observation, Reference | None]:
    """Return the observation, and true labels to score with where the source is a benchmark."""
    if is_path(source) or reading.is_given:
        if str(noise) != "none":
            raise InvalidParameterError(
                f"--noise needs clean labels to make wrong, and nobody knows those of {source}. "
                "Leave it out, or name a dataset."
            )
        given, options = reading.source_of(source), reading.options()
        return load(given, seed=seed, annotations=annotations, **options), None
    clean, reference = load_benchmark(source, seed=seed, data_root=data_root)
    observed = apply_noise(clean, noise, seed=seed, reference=reference)
    return (observed.annotate(annotations) if annotations else observed), reference


def _answer_files(paths: list[Path] | None) -> list[Path] | None:
    """Return files of answers; of a run folder, those that its fit was given."""
    if not paths:
        return None
    return [path / ANNOTATIONS_FILE if path.is_dir() else path for path in paths]


def _fit_all(
    observed: Observation, model: NodeClassifier, others: list[NodeClassifier], drop_suspects: int
) -> Observation:
    """Fit every model, and return what they were fitted on in the end."""
    if drop_suspects:
        observed = observed.drop(model.fit(observed).suspects(), drop_suspects)
    for one in [model, *others]:
        one.fit(observed)
    for one in others:
        one.quality()
    if model.consensus_ is not None:
        observed = with_consensus(observed, model.consensus_)
    return observed


def _say_plan(
    observed: Observation,
    reference: Reference | None,
    setting: NoiseSetting,
    model: NodeClassifier,
    world: World,
) -> None:
    """Say what was read, and how it is learned from."""
    _say_understood(observed, reference, setting)
    if isinstance(model, METHODS[DEFAULT_METHOD]):
        _say_heterophily(observed)
    say_partitions(model, observed.graph, world)


def _say_heterophily(observed: Observation) -> None:
    """Say where a method for heterophilous graphs may do better than the default."""
    found = measure_homophily(observed)
    if found.edges >= _FEW_EDGES and found.observed < found.by_chance:
        say(
            f"[yellow]note:[/] {found.observed:.0%} of edges join equal labels, "
            f"{found.by_chance:.0%} would by chance. Under heterophily tedgcn may do better: "
            "--beside tedgcn compares."
        )


def _say_understood(
    observed: Observation, reference: Reference | None, setting: NoiseSetting
) -> None:
    for note in observed.annotations.notes if observed.annotations is not None else ():
        say(f"[yellow]note:[/] {escape(note)}")
    if observed.understood is not None:
        for sentence in observed.understood.sentences():
            say(escape(sentence))
    if reference is None:
        return
    graph, split = observed.graph, observed.split
    say(
        f"{observed.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_features:,} features, {len(observed.classes)} classes; "
        f"{int(split.train.sum()):,} training and {int(split.validation.sum()):,} validation "
        f"labels, {int(reference.wrong(observed).sum()):,} of these "
        f"{int(split.labelled.sum()):,} made wrong on purpose"
    )
    warning = warn_if_uninformative(setting, len(observed.classes))
    if warning:
        say(f"[yellow]note:[/] {warning}")


def _command() -> str:
    return shown_command(["quietgraph", *sys.argv[1:]])
