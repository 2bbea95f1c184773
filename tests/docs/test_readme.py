"""The README is a page that sells: short, its snippet runs, its commands and links exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from pages import blocks
from paths import ROOT
from quietgraph.cli.app import app

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short_and_has_one_picture_and_one_table_of_results() -> None:
    assert len(PAGE.splitlines()) <= 95
    assert len(re.findall(r"!\[", PAGE)) == 1
    assert len(re.findall(r"^\| :?-", PAGE, flags=re.MULTILINE)) == 1
    (snippet,) = blocks("python", PAGE)
    assert len([line for line in snippet.splitlines() if line and "import" not in line]) <= 10


def test_the_snippet_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (snippet,) = blocks("python", PAGE)
    known: dict[str, object] = {}
    exec(snippet, known)
    assert (tmp_path / "model").is_dir()


def test_its_commands_have_the_options_that_it_names() -> None:
    lines = [line for block in blocks("", PAGE) for line in block.splitlines()]
    calls = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("quiet")]
    assert len(calls) == 3
    group = typer.main.get_command(app)
    for name, *words in calls:
        options = {one for param in group.commands[name].params for one in param.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_its_links_lead_somewhere_and_its_picture_is_small_and_described() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    near = [link.partition("#")[0] for link in links if not link.startswith("http")]
    assert [link for link in near if not (ROOT / link).exists()] == []
    ((words, picture),) = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", PAGE)
    assert len(words) > 40
    assert (ROOT / picture).stat().st_size < 100_000
