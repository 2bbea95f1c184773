"""`quietgraph fit`: learn from a noisy graph and write everything about it to a folder."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import typer
from rich.markup import escape

from quietgraph.annotators.consensus import with_consensus
from quietgraph.bench.protocol import score
from quietgraph.cli.console import progress_bars, say, say_seconds
from quietgraph.cli.fit_request import DEFAULT_METHOD, FitOptions, FitRequest
from quietgraph.cli.fit_results import print_results
from quietgraph.cli.scale import (
    checkpoints_for,
    enter_world,
    launch_workers,
    say_partitions,
    use_threads,
    was_written,
)
from quietgraph.data.homophily import measure_homophily
from quietgraph.data.noise_setting import NoiseSetting, warn_if_uninformative
from quietgraph.data.observation import Observation, Reference
from quietgraph.embed.scale.checkpoint import use_checkpoints
from quietgraph.embed.scale.distributed import World
from quietgraph.errors import InvalidParameterError
from quietgraph.graph.io import Corrections
from quietgraph.methods import METHODS
from quietgraph.methods.base.cache import share_first_stage
from quietgraph.progress import stage
from quietgraph.report.earlier import earlier_run
from quietgraph.report.fit_run import FitRun
from quietgraph.report.run_files import shown_command
from quietgraph.report.shared_rows import sample_fit
from quietgraph.report.write_run import check_folder, free_folder, write_run


def fit(
    *,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    workers: int,
    checkpoint: Path | None,
    checkpoint_minutes: float,
    threads: int | None,
    **options: Unpack[FitOptions],
) -> None:
    """Learn from a noisy graph: predictions, label issues, model, report."""
    use_threads(threads)
    if workers > 1:
        raise typer.Exit(launch_workers(workers))
    request = FitRequest.of(**options)
    if was_written(out):
        return
    if out is not None:
        check_folder(out, overwrite=overwrite)
    alone = request.is_one_fit
    with enter_world(options["distributed"], request.model, alone=alone) as world:
        with progress_bars(), stage(f"reading {escape(request.source)}"):
            observed, reference = request.observe()
        new = f"{observed.name}-{request.name}-{request.seed}"
        folder = world.agree(out or free_folder(Path("runs") / new))
        checkpoints = checkpoints_for(folder, checkpoint, checkpoint_minutes, world, alone=alone)
        _say_plan(request, observed, reference, world)
        sizes = {"nodes": observed.graph.num_nodes, "classes": len(observed.classes)}
        check_folder(folder, overwrite=overwrite, **sizes)
        decisions = request.decisions.about(observed.codes, observed.classes, observed.node_ids)
        request = replace(request, decisions=decisions)
        observed = _take_up(decisions, observed)
        with use_checkpoints(checkpoints):
            run = _learn(request, observed, reference)
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


def _learn(request: FitRequest, observed: Observation, reference: Reference | None) -> FitRun:
    """Fit every model and score those whose true labels are known."""
    model, others = request.model, request.others
    with progress_bars(), share_first_stage():
        learned = _fit_all(request, observed)
        shown = sample_fit(learned, model, reference)
    scores = {} if reference is None else score(model, observed, reference)
    beside = {one: {} if reference is None else score(one, observed, reference) for one in others}
    return FitRun(
        source=request.source,
        noise=request.noise,
        model=shown.model,
        observation=shown.observation,
        reference=shown.reference,
        metrics=scores,
        beside=beside,
        command=shown_command(["quietgraph", *sys.argv[1:]]),
        decisions=request.decisions,
        whole=shown.whole,
    )


def _fit_all(request: FitRequest, observed: Observation) -> Observation:
    """Fit every model, and return what they were fitted on in the end."""
    model, others = request.model, request.others
    if request.drop_suspects:
        observed = observed.drop(model.fit(observed).suspects(), request.drop_suspects)
    for one in [model, *others]:
        one.fit(observed)
    for one in others:
        one.quality()
    if model.consensus_ is not None:
        observed = with_consensus(observed, model.consensus_)
    return observed


def _write(run: FitRun, folder: Path, *, overwrite: bool) -> None:
    for change in run.observation.changes:
        say(escape(change))
    with progress_bars(), stage("writing report and tables"):
        write_run(run, folder, overwrite=overwrite)
    kept = earlier_run(folder)
    if kept is not None:
        say(f"suspects and decisions of the run that was replaced: {escape(str(kept))}")


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


def _say_plan(
    request: FitRequest, observed: Observation, reference: Reference | None, world: World
) -> None:
    """Say what was read, and how it is learned from."""
    _say_understood(observed, reference, request.noise)
    if isinstance(request.model, METHODS[DEFAULT_METHOD]):
        _say_heterophily(observed)
    say_partitions(request.model, observed.graph, world)


def _say_heterophily(observed: Observation) -> None:
    """Say where a method for heterophilous graphs may do better than the default."""
    found = measure_homophily(observed)
    if found.is_low:
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
