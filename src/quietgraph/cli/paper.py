"""`quietgraph paper`: every table and figure of the paper, ours beside theirs."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
import typer
from rich.markup import escape
from rich.table import Table

from quietgraph.bench.runner import Progress
from quietgraph.cli.bench import span_words
from quietgraph.cli.console import results, say, tell
from quietgraph.cli.outputs import checked_output
from quietgraph.data.sources import user_cache
from quietgraph.errors import UnknownNameError, UnreadableFileError, UnwritablePathError
from quietgraph.files import write_file
from quietgraph.paper.comparison import Comparison
from quietgraph.paper.results import Needs, read_results
from quietgraph.paper.scope import Scope, make_scope
from quietgraph.paper.sweeps import Estimate, carry_out, estimate
from quietgraph.paper.targets import TARGETS, Target, find_targets
from quietgraph.report.paper_tables import render_comparisons
from quietgraph.report.table_formats import NAMES
from quietgraph.report.theory_figures import projection_figure, save_figure


def paper(
    *,
    target: str,
    budget: str,
    store: Path,
    jobs: int,
    format: str,  # noqa: A002
    out: Path | None,
    cache: Path | None,
    is_estimate: bool,
    is_shown_only: bool,
    seeds: str | None,
    data_root: str | None,
    as_json: bool,
) -> None:
    """Print a table of the paper, our numbers beside the printed ones."""
    if target == "list":
        _list(as_json=as_json)
        return
    form = "json" if as_json else format
    if form not in NAMES:
        raise UnknownNameError("table format", form, NAMES)
    wanted = find_targets(target)
    folder = str(cache or user_cache() / "embeddings")
    scope = make_scope(budget, seeds=seeds, data_root=data_root, cache=folder)
    if is_estimate:
        _tell_estimates(wanted, scope, store, jobs, as_json=as_json)
        return
    _check_out(out, store)
    if is_shown_only:
        _check_store(store)
    else:
        _run(wanted, scope, store, jobs)
    torch.set_num_threads(1)  # as the workers: embeddings are cached by the number of threads
    found = read_results(store)
    tables = [each.compare(scope, found) for each in wanted]
    figures = _draw(tables, out) if out else {}
    text = render_comparisons(tables, format=form, figures=figures)
    if out is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_file(out, text)
        tell(f"written: {out}", {"written": out}, as_json=as_json)


def _list(*, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({name: each.title for name, each in TARGETS.items()}, indent=1))
        return
    table = Table("target", "what it is")
    for name, each in TARGETS.items():
        table.add_row(name, each.title)
    results.print(table)


def _run(wanted: Sequence[Target], scope: Scope, store: Path, jobs: int) -> None:
    needs = _needs(wanted, scope)
    found = read_results(store)
    ahead = estimate(needs, found, jobs=jobs)
    if not ahead.missing:
        return
    say(escape(_estimate_words("in all" if len(wanted) > 1 else wanted[0].target, ahead, jobs)))
    try:
        carry_out(needs, store, found, jobs=jobs, tell=_show)
    except KeyboardInterrupt:
        say(f"stopped; finished runs are in {store}, the same command goes on from there.")
        raise typer.Exit(130) from None


def _needs(wanted: Sequence[Target], scope: Scope) -> Needs:
    """Return the runs of all targets, each once: tables share many."""
    needs = Needs()
    for each in wanted:
        needs |= each.needs(scope)
    return needs


def _tell_estimates(
    wanted: Sequence[Target], scope: Scope, store: Path, jobs: int, *, as_json: bool
) -> None:
    found = read_results(store)
    ahead = {each.target: estimate(each.needs(scope), found, jobs=jobs) for each in wanted}
    if len(wanted) > 1:
        ahead["in all, shared runs once"] = estimate(_needs(wanted, scope), found, jobs=jobs)
    words = [_estimate_words(name, each, jobs) for name, each in ahead.items()]
    tell("\n".join(words), {name: asdict(each) for name, each in ahead.items()}, as_json=as_json)


def _estimate_words(name: str, ahead: Estimate, jobs: int) -> str:
    words = f"{name}: {ahead.missing:,} of {ahead.total:,} runs are missing"
    if not ahead.missing:
        return words
    words += f"; about {span_words(ahead.seconds)} with {jobs} job{'s' * (jobs > 1)}"
    return words + (f" ({ahead.guessed:,} of them guessed by size)" if ahead.guessed else "")


def _show(progress: Progress) -> None:
    """Say which run has ended; plain lines, since several sweeps follow each other."""
    if progress.last is None:
        return
    key, left = progress.last.key, progress.seconds_left
    outcome = progress.last.reason or f"{progress.last.seconds:.1f} s"
    line = f"[{progress.done}/{progress.total}] {key.dataset} {key.method} {key.noise}"
    line += f" seed {key.seed}: {outcome}"
    say(escape(line + (f"; about {span_words(left)} left" if left else "")))


def _draw(tables: Sequence[Comparison], out: Path) -> dict[str, str]:
    """Draw the figures beside the output; return their names by target."""
    names = {}
    for table in tables:
        if table.projections is not None:
            names[table.target] = f"{out.stem}-{table.target}"
            path = out.parent / f"{names[table.target]}.svg"
            save_figure(projection_figure(table.projections()), path)
    return names


def _check_out(out: Path | None, store: Path) -> None:
    """Tell before hours of work that the result could not be written."""
    if out is None:
        return
    checked_output(out, store)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritablePathError(
            f"cannot write {out}: {error.strerror}. Choose another --out."
        ) from error
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise UnwritablePathError(f"cannot write {out}. Choose a file in a writable folder.")


def _check_store(store: Path) -> None:
    if not store.exists():
        raise UnreadableFileError(f"there is no store at {store}. Leave out --no-run to make one.")
