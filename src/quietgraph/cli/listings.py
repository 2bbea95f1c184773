"""`quietgraph list`: the methods and datasets, or all about one method."""

from typing import Any

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class List(Output):
    """What is listed."""

    name: str = Field("methods", description="methods, datasets, or the name of a method.", json_schema_extra=ARGUMENT)


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, List, name="list", panel="Measure")(list_)


def list_(options: List) -> None:
    """List methods or datasets, or the parameters of a method."""
    import json

    from quietgraph.cli.console import results, show_table

    if options.name == "methods":
        facts = [_method_facts(name) for name in _names()]
        rows = [[one["name"], one["summary"], "yes" if one["inductive"] else "no"] for one in facts]
        columns = ["method", "what it is", "new graphs"]
    elif options.name == "datasets":
        from quietgraph.data.datasets import describe_datasets

        facts = describe_datasets()
        columns = ["name", "nodes", "edges", "features", "classes", "here", "split"]
        rows = [[one[name] for name in columns] for one in facts]
    else:
        facts = [_method_facts(options.name)]
        rows = [[one[name] for name in ("name", "type", "default", "help")] for one in facts[0]["parameters"]]
        columns = ["parameter", "type", "default", "meaning"]
    if options.json_:
        results.print(json.dumps(facts, indent=1, default=str))
        return
    if options.name not in {"methods", "datasets"}:
        results.print(f"{options.name}: {facts[0]['summary']}\n")
    show_table(columns, rows)


def _names() -> list[str]:
    from quietgraph.methods.registry import METHODS

    return list(METHODS)


def _method_facts(name: str) -> dict[str, Any]:
    from quietgraph.methods.base import NodeClassifier
    from quietgraph.methods.registry import METHODS
    from quietgraph.params import parameters

    method = METHODS[name]
    rows = [
        {"name": one.name, "type": one.kind_name, "default": one.default, "help": one.help}
        for one in parameters(method).values()
    ]
    return {
        "name": name,
        "summary": (method.__doc__ or "").strip().splitlines()[0],
        "inductive": method._network is not NodeClassifier._network,
        "revision": method.revision,
        "parameters": rows,
    }
