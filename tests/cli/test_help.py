"""What the command line shows fits a terminal of 80 columns and, for `fit --help`, 24 rows."""

import json
from pathlib import Path

import pytest
import typer

from command_line import call, printed
from quietgraph.cli.app import app
from quietgraph.cli.console import results

WIDTH, SCREEN, SMALL_SCREEN = 80, 52, 24
ALL = {("fit",): "--help-all"}  # where `--help` does not explain every option


def names(group: object, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return every command as the words that call it."""
    below = getattr(group, "commands", None)
    if below is None:
        return [above]
    return [above] + [name for word, one in below.items() for name in names(one, (*above, word))]


COMMANDS = names(typer.main.get_command(app))


def is_group(words: tuple[str, ...]) -> bool:
    """Return whether other commands stand below these words."""
    return any(one[: len(words)] == words and one != words for one in COMMANDS)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", WIDTH)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_80_columns_and_one_screen(words: tuple[str, ...]) -> None:
    lines = call(*words, ALL.get(words, "--help")).output.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= SCREEN


def test_help_of_fit_fits_a_terminal_of_80_x_24_and_names_every_option() -> None:
    said = call("fit", "--help").output
    assert max(map(len, said.splitlines())) <= WIDTH
    assert len(said.splitlines()) < SMALL_SCREEN  # and a line for the prompt
    fit = typer.main.get_command(app).commands["fit"]
    shown = [one for one in fit.params if one.param_type_name == "option" and not one.hidden]
    assert [one.name for one in shown if f"{one.opts[0]}" not in said.split()] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_many_options_stand_in_groups(words: tuple[str, ...]) -> None:
    lines = call(*words, ALL.get(words, "--help")).output.splitlines()
    options = [line for line in lines if line.startswith("│") and " --" in line[:6]]
    panels = [line for line in lines if line.startswith("╭─") and "Arguments" not in line]
    assert len(options) <= 10 * len(panels)


def test_fit_shows_common_options_first() -> None:
    said = call("fit", "--help-all").output
    first, second = (said.index(f"─ {panel} ─") for panel in ("Options", "Own tables"))
    assert all(first < said.index(f" {one} ") < second for one in ("--method", "--seed", "--out"))


@pytest.mark.parametrize("words", [("methods",), ("methods", "quiet"), ("datasets",)])
def test_listings_fit_80_columns_without_cut_words(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "width", WIDTH)
    said = call(*words).stdout
    tables = [line for line in said.splitlines() if "or --data-root" not in line]  # has a path
    assert max(map(len, tables)) <= WIDTH
    assert "…" not in said


@pytest.mark.parametrize("words", [one for one in COMMANDS if not is_group(one)], ids=" ".join)
def test_every_command_takes_json(words: tuple[str, ...]) -> None:
    assert "--json" in call(*words, "--help").output


def test_what_a_command_writes_is_named_in_its_json(tmp_path: Path) -> None:
    graph, store, runs = tmp_path / "graph", tmp_path / "runs.sqlite", tmp_path / "runs.csv"
    converted = json.loads(printed("convert", "sbm", graph, "--json"))
    assert (converted["folder"], converted["nodes"]) == (str(graph), 1000)
    sweep = ("--datasets", "sbm", "--methods", "s2gc:epochs=2", "--seeds", "1", "--store", store)
    done = json.loads(printed("bench", "run", *sweep, "--json"))
    assert done == {"done": 1, "failed": 0, "there_before": 0, "store": str(store)}
    kept = ("--store", store, "--out", runs, "--json")
    assert json.loads(printed("bench", "export", *kept)) == {"runs": 1, "file": str(runs)}
    again = json.loads(printed("bench", "import", runs, "--store", store, "--json"))
    assert again == {"new": 0, "runs": 1, "store": str(store)}
    assert "classification" in json.loads(printed("paper", "list", "--json"))
