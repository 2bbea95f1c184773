"""`quietgraph methods` and `quietgraph datasets`."""

import json
import re
from dataclasses import asdict
from typing import Any, Final

import typer
from rich.table import Column, Table

from quietgraph.cli.console import results
from quietgraph.data.datasets import DATASETS, describe
from quietgraph.data.sources import find_root
from quietgraph.methods import METHODS, get_method
from quietgraph.params import parameters

_CITED: Final = re.compile(r" \([^()]*\)\.$")  # where a summary ends with its source
_NUMBERS: Final = ("nodes", "edges", "features", "classes", "homophily")


def methods(
    *,
    name: str | None,
    as_json: bool,
) -> None:
    """List the methods, or the parameters of one."""
    facts = [_method_facts(one) for one in ([name] if name else METHODS)]
    if as_json:
        typer.echo(json.dumps(facts if name is None else facts[0], indent=1))
    elif name is None:
        table = _table("method", "what it is")
        for fact in facts:
            mark = "" if fact["inductive"] else " *"
            table.add_row(fact["name"] + mark, _CITED.sub(".", fact["summary"]))
        results.print(table)
        results.print(
            "* answers for the graph of its fit only; `quietgraph methods NAME` says more"
        )
    else:
        results.print(f"{name}: {facts[0]['summary']}")
        results.print(facts[0]["citation"])
        table = _table("parameter", "type", "default", "meaning")
        for row in facts[0]["parameters"]:
            table.add_row(row["name"], row["type"], str(row["default"]), row["help"])
        results.print(table)


def datasets(
    *,
    data_root: str | None,
    as_json: bool,
) -> None:
    """List the datasets: size, homophily, split, whether they are here."""
    facts = [describe(name, data_root=data_root) for name in DATASETS]
    if as_json:
        plain = [{**asdict(fact), "path": fact.path and str(fact.path)} for fact in facts]
        typer.echo(json.dumps(plain, indent=1))
        return
    numbers = (Column(name, justify="right") for name in _NUMBERS)
    table = _table("dataset", *numbers, "here", "split")
    for fact in facts:
        counts = (f"{count:,}" for count in (fact.nodes, fact.edges, fact.features, fact.classes))
        homophily = f"{fact.homophily:.2f}" + ("" if fact.measured else " *")
        here = "yes" if fact.available else "no"
        table.add_row(fact.name, *counts, homophily, here, fact.split.split(":")[0])
    results.print(table)
    results.print("* as published, not measured here\n")
    splits = _table("split", "nodes in it")
    for words in dict.fromkeys(fact.split for fact in facts):
        splits.add_row(*words.split(": "))
    results.print(splits)
    root = find_root(data_root)
    missing = {
        fact.name: str(fact.path.relative_to(root))
        for fact in facts
        if not fact.available and fact.path is not None
    }
    if missing:
        results.print("\nThose that are not here are read from the raw files of their authors in")
        results.print(f"{root} (or --data-root, or QUIETGRAPH_DATA):\n")
        folders = _table("dataset", "folder of its raw files")
        for name, folder in missing.items():
            folders.add_row(name, folder)
        results.print(folders)


def _table(*columns: str | Column) -> Table:
    """Return a table without rules, which leaves room for words in a terminal of 80 columns."""
    return Table(*columns, box=None, padding=(0, 1, 0, 0), header_style="bold underline")


def _method_facts(name: str) -> dict[str, Any]:
    method = get_method(name)
    rows = [
        {
            "name": parameter.name,
            "type": parameter.kind_name,
            "default": parameter.default,
            "help": parameter.rule.help,
            "choices": parameter.rule.choices,
        }
        for parameter in parameters(method).values()
    ]
    summary = (method.__doc__ or "").strip().splitlines()[0]
    return {
        "name": name,
        "summary": summary,
        "citation": method.citation,
        "inductive": method.is_inductive(),
        "parameters": rows,
    }
