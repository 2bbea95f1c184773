"""Help without torch, and declarations that fit the functions they call."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, get_args, get_type_hints

import click
import pytest
import typer

from quietgraph.cli import commands
from quietgraph.cli.app import app

HEAVY = {"torch", "numpy", "pandas", "scipy", "sklearn", "matplotlib", "torch_geometric"}
GROUPS = {"filters", "options", "tables"}  # options that come as keywords
SCRIPT = """
import sys
from typer.testing import CliRunner
from quietgraph.cli.app import app
for arguments in {calls}:
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, (arguments, outcome.output)
print(" ".join(sys.modules))
"""


def declared() -> dict[str, object]:
    """Return every declared command by module and name."""
    modules = [import_module(f"{commands.__name__}.{name}") for name in MODULES]
    return {
        f"{module.__name__}.{info.callback.__name__}": info.callback
        for module in modules
        for info in module.commands.registered_commands
    }


MODULES = (
    *("bench", "bench_table", "convert", "diagnose", "fit"),
    *("listings", "paper", "predict", "review", "serve", "tune"),
)


def help_calls(group: click.Group, path: tuple[str, ...] = ()) -> list[list[str]]:
    calls = [[*path, "--help"]]
    for name, command in group.commands.items():
        below = (*path, name)
        calls += (
            help_calls(command, below) if hasattr(command, "commands") else [[*below, "--help"]]
        )
    return calls


def test_help_and_version_import_nothing_heavy() -> None:
    calls = [["--version"], *help_calls(typer.main.get_command(app))]
    assert len(calls) > len(MODULES)
    script = SCRIPT.format(calls=calls)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stdout.split())


def expected_types(work: Callable[..., None]) -> dict[str, Any]:
    """Return the types of all options; `**options: Unpack[...]` stands for those it names."""
    found = get_type_hints(work)
    for group in GROUPS & found.keys():
        (named,) = get_args(found.pop(group))
        found |= get_type_hints(named)
    return found


@pytest.mark.parametrize("place", declared())
def test_a_declaration_fits_the_function_it_calls(place: str) -> None:
    declaration = declared()[place]
    module, _, name = place.replace(".commands.", ".").rpartition(".")
    work = getattr(import_module(module), name)
    inspect.signature(work).bind(**dict.fromkeys(inspect.signature(declaration).parameters))
    wanted, have = expected_types(work), get_type_hints(declaration)
    assert all(have[name] == kind for name, kind in wanted.items())
    assert inspect.getdoc(work) == inspect.getdoc(declaration)


@pytest.mark.parametrize(
    ("given", "used"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_waiting_threads_spin_for_a_short_time_unless_the_user_says_otherwise(
    given: dict[str, str], used: str
) -> None:
    script = (
        "import os, sys\n"
        "from quietgraph.cli.app import main\n"
        "assert 'torch' not in sys.modules\n"  # which reads it once, when it is imported
        "try: main()\n"
        "except SystemExit: print(os.environ.get('GOMP_SPINCOUNT'))"
    )
    ours = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
    inherited = {name: text for name, text in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        env=inherited | given,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == used
