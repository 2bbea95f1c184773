"""`quietgraph paper`: what people type, what they see, and what they are told when it is wrong."""

import sqlite3
from pathlib import Path

import pytest

from command_line import printed, refused
from quietgraph.bench.store import Store
from quietgraph.errors import (
    UnknownNameError,
    UnreadableFileError,
    UnwritablePathError,
)
from quietgraph.paper.scope import make_scope
from quietgraph.paper.targets import TARGETS
from records import record_of


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the smoke of the rank ablation on the embedded graph."""
    path = tmp_path / "results.sqlite"
    scope = make_scope("smoke", data_root=str(tmp_path))
    with Store(path) as opened:
        for run in TARGETS["rank"].needs(scope).accuracy:
            opened.add(record_of(run, seconds=2.0, test_accuracy=0.5 + run.seed / 10))
    return path


def test_list_names_every_target_with_a_line() -> None:
    text = printed("paper", "list")
    assert all(name in text for name in TARGETS)
    assert all(target.title for target in TARGETS.values())


def test_what_the_store_has_is_printed_and_not_run(store: Path) -> None:
    words = ["rank", "--budget", "smoke", "--store", store, "--data-root", store.parent]
    before = store.read_bytes()
    text = printed("paper", *words)
    assert "SMOKE, no result" in text
    assert "| digits | best | 55.0 ± 7.1 (2) |" in text
    assert store.read_bytes() == before


def test_the_estimate_runs_nothing(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    text = printed("paper", "all", "--budget", "smoke", "--estimate", "--store", store)
    assert "rank: 4 of 4 runs are missing; about" in text
    assert "in all, shared runs once" in text
    assert not store.exists()


def test_no_run_shows_what_is_missing(store: Path) -> None:
    options = ["--budget", "small", "--store", store, "--no-run", "--data-root", store.parent]
    assert "files not here · *81.5 ± 0.5*" in printed("paper", "classification", *options)


def test_out_is_written_whole_with_its_format(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "table.html"
    options = ["--budget", "smoke", "--store", store, "--no-run", "--format", "html"]
    assert "written:" in printed(
        "paper", "rank", *options, "--data-root", store.parent, "--out", out
    )
    assert out.read_text(encoding="utf-8").startswith("<h2>Ablation of the rank")


def test_an_unknown_target_gets_the_nearest_name() -> None:
    error = refused("paper", "kernel-complexty")
    assert isinstance(error, UnknownNameError)
    assert "Did you mean 'kernel-complexity'?" in str(error)


@pytest.mark.parametrize("options", [["--budget", "large"], ["--format", "pdf"]])
def test_an_unknown_budget_or_format_is_told(options: list[str]) -> None:
    assert isinstance(refused("paper", "datasets", *options), UnknownNameError)


def test_a_store_of_another_version_is_refused(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    error = refused("paper", "rank", "--budget", "smoke", "--store", store)
    assert isinstance(error, UnreadableFileError)
    assert "has version 99" in str(error)


def test_an_unwritable_file_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    store = tmp_path / "results.sqlite"
    for out in (tmp_path / "file" / "table.md", tmp_path):
        words = ["classification", "--budget", "smoke", "--store", store, "--out", out]
        assert isinstance(refused("paper", *words), UnwritablePathError)
    assert not store.exists()


def test_no_run_needs_a_store(tmp_path: Path) -> None:
    error = refused("paper", "rank", "--no-run", "--store", tmp_path / "absent.sqlite")
    assert isinstance(error, UnreadableFileError)


def test_a_figure_is_drawn_beside_the_output(tmp_path: Path) -> None:
    out = tmp_path / "figure.md"
    words = ["projection", "--budget", "smoke", "--store", tmp_path / "results.sqlite"]
    words += ["--data-root", tmp_path, "--cache", tmp_path / "cache", "--seeds", "1", "--out", out]
    printed("paper", *words)
    assert (tmp_path / "figure-projection.svg").exists()
    assert "(figure-projection.svg)" in out.read_text(encoding="utf-8")
