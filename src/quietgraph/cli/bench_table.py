"""`quietgraph bench table`, `compare`, `curves`, `ranks`, `export`, `import`: what a store says."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import pandas as pd
import typer

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.renames import has_current_parameters
from quietgraph.bench.runs_csv import read_runs, write_runs
from quietgraph.bench.statistics import against, mean_ranks
from quietgraph.bench.store import Store
from quietgraph.cli.bench import names
from quietgraph.cli.console import results, tell
from quietgraph.cli.outputs import checked_output
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.files import write_file
from quietgraph.report.benchmark_figures import critical_difference_diagram, noise_curves, save
from quietgraph.report.tables import render_table

OURS = ("gcl-lrr", "gcl-lr-attention", "quiet")
_FORMATS = ("markdown", "csv", "json")


class Selection(TypedDict):
    """Which runs of a store, as options say it; an empty text lets all pass."""

    datasets: str
    methods: str
    noise: str
    seeds: str
    split: str
    current: bool


def table(
    *,
    store: Path,
    format: str,  # noqa: A002
    metric: str,
    baseline: str,
    out: Path | None,
    as_json: bool,
    **filters: Unpack[Selection],
) -> None:
    """Print mean ± std (n) of every method, dataset and noise."""
    frame = read_frame(store, **filters)
    form = "json" if as_json else format
    text = render_table(frame, format=form, metric=metric, baseline=names(baseline) or None)
    _deliver(text, out, store)


def compare(
    *,
    store: Path,
    baseline: str,
    best_of: str,
    metric: str,
    format: str,  # noqa: A002
    out: Path | None,
    as_json: bool,
    **filters: Unpack[Selection],
) -> None:
    """Test every method against a baseline, draw by draw, and rank them."""
    form = "json" if as_json else format
    if form not in _FORMATS:
        raise UnknownNameError("format of comparisons", form, _FORMATS)
    frame = read_frame(store, **filters)
    rivals = names(best_of) or [m for m in _methods(frame) if m.partition(":")[0] not in OURS]
    tests = [against(frame, baseline, metric)]
    if len(rivals) > 1 and set(_methods(frame)) - set(rivals):
        tests.append(against(frame, rivals, metric))
    both = pd.concat([tests[0].assign(against="baseline"), *_best_rows(tests[1:])])
    if form == "csv":
        _deliver(both.to_csv(index=False, lineterminator="\n"), out, store)
        return
    if form == "json":
        _deliver(both.to_json(orient="records", indent=1), out, store)
        return
    parts = [f"Against {baseline}:\n\n{_markdown(tests[0])}"]
    parts += [f"Against the best of {', '.join(rivals)}:\n\n{_markdown(t)}" for t in tests[1:]]
    _deliver("\n".join([*parts, _ranks_words(frame, metric), ""]), out, store)


def curves(
    *,
    store: Path,
    metric: str,
    out: Path,
    as_json: bool,
    **filters: Unpack[Selection],
) -> None:
    """Draw accuracy against the noise rate."""
    frame = read_frame(store, **filters)
    figure = noise_curves(frame, metric=metric, methods=names(filters["methods"]) or None)
    save(figure, checked_output(out, store))
    tell(f"curves: {out}", {"curves": out}, as_json=as_json)


def ranks(
    *,
    store: Path,
    metric: str,
    out: Path,
    as_json: bool,
    **filters: Unpack[Selection],
) -> None:
    """Draw mean ranks with the critical difference."""
    frame = read_frame(store, **filters)
    save(critical_difference_diagram(mean_ranks(frame, metric)), checked_output(out, store))
    tell(f"ranks: {out}", {"ranks": out}, as_json=as_json)


def export(
    *,
    store: Path,
    out: Path,
    is_compact: bool,
    as_json: bool,
) -> None:
    """Write every run, finished or failed, as a line of a CSV file."""
    with Store(store, read_only=True) as opened:
        found = opened.records()
    write_runs(checked_output(out, store), found, is_compact=is_compact)
    tell(f"{len(found)} runs: {out}", {"runs": len(found), "file": out}, as_json=as_json)


def import_runs(
    *,
    files: list[Path],
    store: Path,
    as_json: bool,
) -> None:
    """Take runs from CSV files into a store, to go on from there."""
    found = [record for file in files for record in read_runs(file)]
    with Store(store) as opened:
        added = opened.add_missing(found)
    facts = {"new": added, "runs": len(found), "store": store}
    tell(f"{added} of {len(found)} runs were new: {store}", facts, as_json=as_json)


def read_frame(  # noqa: PLR0917
    store: Path,
    datasets: str = "",
    methods: str = "",
    noise: str = "",
    seeds: str = "",
    split: str = "",
    *,
    current: bool,
) -> pd.DataFrame:
    """Return the runs of a store that pass the filters; an empty filter lets all pass."""
    wanted: dict[str, Sequence[str | int]] = {
        "dataset": names(datasets),
        "method": names(methods),
        "noise": [str(parse_noise(text)) for text in names(noise)],
        "seed": parse_seeds(seeds) if seeds else [],
        "split": names(split),
    }
    with Store(store, read_only=True) as opened:
        frame = opened.to_frame(**{name: values for name, values in wanted.items() if values})
        total = len(opened.records())
    if current:
        columns = (frame[name] for name in ("dataset", "method", "parameters"))
        frame = frame[[has_current_parameters(*row) for row in zip(*columns, strict=True)]]
    if frame.empty:
        reason = f"none of its {total} runs passes the filters" if total else "it has no runs"
        raise InvalidParameterError(f"there is nothing to show of the store {store}: {reason}.")
    return frame


def _methods(frame: pd.DataFrame) -> list[str]:
    return sorted(set(frame["method"]))


def _best_rows(tests: list[pd.DataFrame]) -> list[pd.DataFrame]:
    return [table.assign(against="best baseline") for table in tests]


def _markdown(tests: pd.DataFrame) -> str:
    """Return comparisons as a markdown table."""
    shown = pd.DataFrame(
        {
            "dataset": tests["dataset"],
            "noise": tests["noise"],
            "method": tests["method"],
            "baseline": tests["baseline"],
            "difference": tests["difference"].map("{:+.4f}".format),
            "n": tests["n"].astype(str),
            "wins/losses": tests["wins"].astype(str) + "/" + tests["losses"].astype(str),
            **{name: tests[name].map("{:.2g}".format) for name in _P_VALUES},
        }
    )
    return shown.to_markdown(index=False, disable_numparse=True) + "\n"


_P_VALUES = ("t_p", "t_holm", "wilcoxon_p", "wilcoxon_holm")


def _ranks_words(frame: pd.DataFrame, metric: str) -> str:
    """Return the mean ranks as sentences."""
    found = mean_ranks(frame, metric)
    order = ", ".join(f"{method} {rank:.2f}" for method, rank in found.ranks.items())
    return (
        f"Mean ranks over {found.num_blocks} (dataset, noise, seed) that all methods finished: "
        f"{order}.\nCritical difference (Nemenyi, level {found.alpha:g}): "
        f"{found.critical_difference:.2f}; Friedman p = {found.friedman_p:.2g}."
    )


def _deliver(text: str, out: Path | None, store: Path) -> None:
    if out is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_file(checked_output(out, store), text)
        results.print(f"written: {out}")
