"""`quietgraph fit`: learn from a noisy graph and write everything about it to a folder."""

import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, LABELS, Reading, command

if TYPE_CHECKING:
    from quietgraph.assessment.assess import Assessment
    from quietgraph.data.data import Data, Truth
    from quietgraph.data.decisions import Decisions

_SEED_MAX = 2**32 - 1


class Fit(Reading):
    """What to fit, on which labels, and where the results go."""

    source: str | None = Field(
        None, description="Dataset (digits), folder of tables, or graph file.", json_schema_extra=ARGUMENT
    )
    method: str = Field("quiet", description="One of `quietgraph list methods`.")
    set: dict[str, str] = Field(
        {}, description="A parameter of the method.", json_schema_extra={"metavar": "KEY=VALUE"}
    )
    beside: tuple[str, ...] = Field((), description="Compare with a method: gcn, gcn:hidden=32.")
    seed: int = Field(0, ge=0, le=_SEED_MAX, description="Seed of split, noise and training.")
    noise: str = Field("none", description="Make labels of a dataset wrong first: symmetric:0.4, ...")
    verified: tuple[Path, ...] = Field(
        (), description="Decisions of people: a reviewed run or a table.", json_schema_extra=LABELS
    )
    annotations: tuple[Path, ...] = Field((), description="Answers of several annotators.", json_schema_extra=LABELS)
    correct_in_place: bool = Field(
        False, description="Write corrections into the label column.", json_schema_extra=LABELS
    )
    out: Path | None = Field(None, description="Folder to write; without it a new one in runs/.")
    overwrite: bool = Field(False, description="Replace the run there; its decisions are kept.")
    threads: int | None = Field(None, ge=1, description="Threads of PyTorch.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Fit)(fit)


def fit(options: Fit) -> None:
    """Learn from a noisy graph: predictions, suspects, corrected table, model, report."""
    started = time.perf_counter()
    import torch

    from quietgraph.assessment.assess import assess
    from quietgraph.bench.execute import score
    from quietgraph.bench.grid import method_of
    from quietgraph.cli.console import note, say
    from quietgraph.progress import progress
    from quietgraph.report.folder import check_folder, free_folder, write_run

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    own = _is_own(options)
    dataset = "" if own else (options.source or "digits")
    texts = [_method_text(options), *options.beside]
    models = [method_of(text, dataset)[1].set_params(seed=options.seed) for text in texts]
    if options.out is not None:
        check_folder(options.out, overwrite=options.overwrite)
    data, truth = _read(options, own)
    decisions = _decisions(options)
    if decisions is not None:
        data = data.correct(decisions)
    folder = options.out or free_folder(Path("runs") / f"{data.name}-{options.method}-{options.seed}")
    for sentence in data.describe():
        say(sentence)
    scores = []
    for text, model in zip(texts, models, strict=True):
        with progress(f"fitting {text}") as on_epoch:
            model.fit(data, on_epoch=on_epoch)
        scores.append({"method": text, **({} if truth is None else score(model, data, truth))})
    with progress("assessing the labels") as tick:
        assessment, *others = (assess(model, progress=tick) for model in (models if truth is None else models[:1]))
    if others:  # nobody knows the true labels
        for row, one in zip(scores, [assessment, *others], strict=True):
            row["labels_predicted"] = float(
                (one.out_of_fold.argmax(axis=1) == one.codes.numpy())[one.codes >= 0].mean()
            )
    if truth is not None:
        note(f"{int(truth.wrong(data).sum()):,} of {int(data.known.sum()):,} labels were made wrong on purpose")
    write_run(
        folder,
        model=models[0],
        assessment=assessment,
        options=_options(options, own),
        truth=truth,
        scores=scores,
        decisions=decisions,
        seconds=lambda: time.perf_counter() - started,
        overwrite=options.overwrite,
    )
    _print(options, assessment, scores, folder)


def _method_text(options: Fit) -> str:
    return ":".join([options.method, *(f"{name}={value}" for name, value in options.set.items())])


def _is_own(options: Fit) -> bool:
    """Return whether the source is the user's own, not a dataset by name; a folder of tables is found where we are."""
    from quietgraph.data.load import is_path

    return bool(options.nodes or options.edges) or (
        is_path(options.source or ".") and (options.source is not None or any(Path(".").glob("nodes.*")))
    )


def _read(options: Fit, own: bool) -> "tuple[Data, Truth | None]":
    """Return the data, and what is true of them where they are a benchmark's."""
    from quietgraph.data.datasets import load_benchmark
    from quietgraph.data.load import load
    from quietgraph.data.noise import apply_noise
    from quietgraph.data.noise_setting import parse_noise
    from quietgraph.errors import InvalidParameterError

    setting, answers = parse_noise(options.noise), list(options.annotations) or None
    if own:
        if str(setting) != "none":
            raise InvalidParameterError(
                "--noise makes true labels wrong, and own labels may be wrong already. Leave it out."
            )
        source = options.source if options.nodes or options.edges else options.source or "."
        return load(source, seed=options.seed, annotations=answers, **options.given()), None
    clean, truth = load_benchmark(options.source or "digits", seed=options.seed)
    data = apply_noise(clean, truth, setting, seed=options.seed)
    return (data if answers is None else data.annotate(answers)), truth


def _decisions(options: Fit) -> "Decisions | None":
    """Return what people decided, later files over earlier ones."""
    from quietgraph.data.decisions import read_decisions

    found = [read_decisions(path) for path in options.verified]
    return reduce(lambda earlier, later: earlier.updated(later), found) if found else None


def _options(options: Fit, own: bool) -> dict[str, Any]:
    """Return the options that were set; tables that were found where we are have that folder as their source."""
    found = options.model_dump(exclude_defaults=True, mode="json")
    return {"source": ".", **found} if own and not (options.nodes or options.edges) else found


def _print(options: Fit, assessment: "Assessment", scores: list[dict[str, Any]], folder: Path) -> None:
    """Print scores of all methods, the verdict, and where the report is."""
    from quietgraph.cli.console import results, show_table, tell

    if options.json_:
        tell("", {"folder": folder, "scores": scores, **assessment.to_dict()}, as_json=True)
        return
    shown = {"test_accuracy": "test accuracy", "test_macro_f1": "macro-F1", "labels_predicted": "labels predicted"}
    names = [name for name in shown if name in scores[0]]
    if names:
        rows = [[one["method"], *(f"{one[name]:.3f}" for name in names)] for one in scores]
        show_table(["method", *(shown[name] for name in names)], rows)
    results.print(assessment.verdict.sentence)
    for reason in assessment.verdict.reasons:
        results.print(f"  {reason}")
    flagged, labelled = int(assessment.is_suspect.sum()), int(assessment.data.known.sum())
    results.print(f"{flagged:,} of {labelled:,} labels are probably wrong: {folder / 'suspects.csv'}")
    results.print(f"report: {folder / 'report.html'}")
    results.print(f"next: quietgraph review {folder}")
