"""What the command line shows fits a terminal of 80 columns and, for `fit --help`, one screen."""

import pytest
import typer

from command_line import call
from quietgraph.cli.app import app
from quietgraph.cli.console import results

WIDTH, SCREEN = 80, 50


def names(group: object, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return every command as the words that call it."""
    below = getattr(group, "commands", None)
    if below is None:
        return [above]
    return [above] + [name for word, one in below.items() for name in names(one, (*above, word))]


COMMANDS = names(typer.main.get_command(app))


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", WIDTH)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_80_columns_and_one_screen(words: tuple[str, ...]) -> None:
    lines = call(*words, "--help").output.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= SCREEN


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_many_options_stand_in_groups(words: tuple[str, ...]) -> None:
    lines = call(*words, "--help").output.splitlines()
    options = [line for line in lines if line.startswith("│") and " --" in line[:6]]
    panels = [line for line in lines if line.startswith("╭─") and "Arguments" not in line]
    assert len(options) <= 10 * len(panels)


def test_fit_shows_common_options_first() -> None:
    said = call("fit", "--help").output
    first, second = (said.index(f"─ {panel} ─") for panel in ("Options", "Own tables"))
    assert all(first < said.index(f" {one} ") < second for one in ("--method", "--seed", "--out"))


@pytest.mark.parametrize("words", [("methods",), ("methods", "quiet"), ("datasets",)])
def test_listings_fit_80_columns_without_cut_words(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "width", WIDTH)
    said = call(*words).stdout
    tables = [line for line in said.splitlines() if "put its raw files" not in line]
    assert max(map(len, tables)) <= WIDTH
    assert "…" not in said
