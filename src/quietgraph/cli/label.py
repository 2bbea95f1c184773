"""`quietgraph label`: what to label next, prompts for language models, and their answers."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
from rich.markup import escape

from quietgraph.annotators.batch_answers import read_batch_answers
from quietgraph.annotators.prompts import batch_lines
from quietgraph.cli.console import say, tell
from quietgraph.cli.outputs import checked_output, free_file
from quietgraph.cli.reading import split_pairs
from quietgraph.data.datasets import DATASETS, load_benchmark
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.files import write_file
from quietgraph.graph.io.labels import LABEL_NAMES
from quietgraph.graph.io.node_table import read_node_table
from quietgraph.graph.io.raw import id_key
from quietgraph.methods import NodeClassifier, load_model
from quietgraph.report.run_files import (
    PREDICTIONS_FILE,
    SAMPLE_FILE,
    VERIFIED_FILE,
    RunFacts,
    next_command,
    read_facts,
)
from quietgraph.report.write_run import write_table
from quietgraph.review.run import read_decisions
from quietgraph.types import AnyArray

_SHOWN = 5  # answers that could not be read


def choose(
    *,
    run_dir: Path,
    budget: int,
    annotator: str | None,
    costs: list[str] | None,
    out: Path | None,
    data_root: str | None,
    as_json: bool,
) -> None:
    """Choose the nodes whose labels are worth most, new ones or again."""
    facts = read_facts(run_dir)
    if out is not None:
        checked_output(out, run_dir)
    model = load_model(run_dir / "model")
    shared = (run_dir / SAMPLE_FILE).is_file()  # several processes wrote predictions in parts
    table = run_dir / (SAMPLE_FILE if shared else PREDICTIONS_FILE)
    ids = _node_ids(table, len(model.scores_))
    prices = {name: _price(value) for name, value in split_pairs("--cost", costs).items()}
    among = _open_nodes(run_dir, facts, ids, data_root)
    _note_new_name(annotator, model)
    asked = model.next_labels(budget, annotator=annotator, costs=prices, among=among)
    target = free_file(run_dir / "next_labels.csv") if out is None else out
    path = write_table(asked.assign(node=ids[asked["node"]]), target)
    again = int((asked["action"] == "label again").sum())
    tell(
        f"{len(asked)} labels to give, {again} of them again: {path}. Fill in the column label.",
        {"labels": len(asked), "again": again, "file": path},
        as_json=as_json,
    )
    command = next_command(facts.command, str(path))
    if model.consensus_ is not None:
        kept = command.removesuffix(f"--verified {shlex.quote(str(path))}")
        command = f"{kept}--annotations {shlex.quote(str(path))}"
    say(f"next: {escape(command)}")


def prompt(
    *,
    source: Path,
    text: str,
    classes: str,
    id_column: str,
    nodes: Path | None,
    provider: str,
    model: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Write prompts for a language model, as its provider's batches take them."""
    table = read_node_table(source)
    if table is None:
        raise UnreadableFileError(
            f"{source} has no table of nodes with columns of text. Name a folder with nodes.csv, "
            "or a table."
        )
    key = id_column or str(table.columns[0])
    named = _names(classes) or _label_names(table)
    if nodes is not None:
        wanted = read_node_table(nodes)
        if wanted is None or "node" not in wanted.columns:
            raise UnreadableFileError(f"{nodes} must be a table with a column node.")
        table = _rows_of(table, key, [id_key(node) for node in wanted["node"]], nodes, source)
    lines = list(
        batch_lines(
            table,
            named,
            id_column=key,
            text_columns=_names(text),
            provider=provider,
            model=model,
        )
    )
    write_file(checked_output(out, source, nodes), "".join(f"{line}\n" for line in lines))
    words = f"{len(lines):,} prompts for {provider}: {out}"
    tell(words, {"prompts": len(lines), "provider": provider, "file": out}, as_json=as_json)
    command = f"quietgraph label answers RESULTS.jsonl --classes {shlex.quote(','.join(named))}"
    say(f"upload them as a batch, then: {escape(command)}")


def answers(*, file: Path, classes: str, annotator: str | None, out: Path, as_json: bool) -> None:
    """Turn the answers of a language model into a table for fit --annotations."""
    found = read_batch_answers(file, _names(classes), annotator=annotator)
    for node, reason in list(found.failed.items())[:_SHOWN]:
        say(f"[yellow]note:[/] node {escape(node)}: {escape(reason)}")
    if found.table.empty:
        raise UnreadableFileError(
            f"none of the {len(found.failed)} answers of {file} names a class. Check --classes."
        )
    write_table(found.table, checked_output(out, file))
    tell(
        f"{len(found.table):,} answers, {len(found.failed):,} without a class: {out}",
        {"answers": len(found.table), "failed": found.failed, "file": out},
        as_json=as_json,
    )
    say(f"next: quietgraph fit SOURCE --annotations {escape(str(out))}")


def _node_ids(path: Path, count: int) -> AnyArray:
    """Return the ids of the nodes of a run, as its table of predictions has them."""
    table = read_node_table(path)
    if table is None or "node" not in table.columns or len(table) != count:
        raise UnreadableFileError(
            f"{path} must have a column node with the {count} nodes of the run. Fit again."
        )
    return table["node"].to_numpy()


def _open_nodes(run_dir: Path, facts: RunFacts, ids: AnyArray, data_root: str | None) -> AnyArray:
    """Return the nodes that may be asked about: not verified, no test nodes of a benchmark."""
    among = np.ones(len(ids), dtype=bool)
    if facts.source in DATASETS:
        clean, _ = load_benchmark(facts.source, seed=facts.seed, data_root=data_root)
        among &= ~clean.split.test.numpy()[ids.astype(np.int64)]
    if (run_dir / VERIFIED_FILE).is_file():
        among &= ~read_decisions(run_dir / VERIFIED_FILE).verified(ids)
    return among


def _note_new_name(annotator: str | None, model: NodeClassifier) -> None:
    """Say so where a new annotator may be a known one, written otherwise."""
    known = () if model.consensus_ is None else model.consensus_.answers.names
    if annotator is None or annotator in known:
        return
    alike = [name for name in known if name.strip().lower() == annotator.strip().lower()]
    if alike:
        say(
            f"[yellow]note:[/] '{escape(annotator)}' counts as a new annotator; "
            f"'{escape(alike[0])}' has answered before"
        )


def _rows_of(
    table: pd.DataFrame, key: str, wanted: list[str], nodes: Path, source: Path
) -> pd.DataFrame:
    """Return the rows of some nodes; one that the table does not have is refused."""
    if key not in table.columns:
        raise UnknownNameError("column", key, map(str, table.columns))
    known = {*table[key]}
    unknown = [node for node in wanted if node not in known]
    if len(unknown) == len(wanted):
        raise UnreadableFileError(f"no node of {nodes} is in {source}. Check the ids.")
    if unknown:
        raise UnreadableFileError(
            f"the node '{unknown[0]}' of {nodes} is not in {source}. Check the ids."
        )
    return table[table[key].isin(wanted)]


def _price(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(f"--cost takes NAME=NUMBER, got '{text}'.") from None


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _label_names(table: pd.DataFrame) -> list[str]:
    """Return the classes of the label column of a table."""
    column = next((name for name in table.columns if str(name).lower() in LABEL_NAMES), None)
    if column is None:
        raise InvalidParameterError("name the classes: --classes a,b,c.")
    return sorted({str(name) for name in table[column] if str(name) not in {"", "-1"}})
