"""A printed table becomes a file of results/tables, and the docs show it from there."""

import io
import sys
from pathlib import Path

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

import keep_table
from study import record_page, records

PRINTED = """making graphs
| graph | s | note |
|---|--:|---|
| cora | 1.5 | a, b |
| pubmed | 20 | |

| x |
|---|
| 1 |
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (keep_table, records):
        monkeypatch.setattr(module, "TABLES", tmp_path)
    return tmp_path


def keep(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", "cost"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    keep_table.main()


def test_every_table_is_kept_and_shown_as_it_was_printed(
    tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(PRINTED, monkeypatch)
    assert capsys.readouterr().out == PRINTED
    assert (tables / "cost.csv").read_text() == 'graph,s,note\ncora,1.5,"a, b"\npubmed,20,\n'
    assert (tables / "cost-2.csv").read_text() == "x\n1\n"
    shown = record_page.printed_table("cost").splitlines()
    assert shown[:3] == ["| graph | s | note |", "| :-- | --: | --: |", "| cora | 1.5 | a, b |"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("nothing\n", "no Markdown table"), ("| a | b |\n|---|---|\n| 1 |\n", "several lengths")],
)
def test_other_input_writes_nothing(
    text: str, message: str, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=message):
        keep(text, monkeypatch)
    assert not list(tables.iterdir())
