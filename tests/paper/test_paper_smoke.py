"""Every table and figure of the paper at the smallest budget, on the real datasets."""

import csv
import io
from pathlib import Path

import pytest

from command_line import printed
from quietgraph.paper.targets import TARGETS

pytestmark = pytest.mark.data


def call(folder: Path, *words: str) -> str:
    options = ["--budget", "smoke", "--store", str(folder / "smoke.sqlite")]
    options += ["--cache", str(folder / "cache")]
    return printed("paper", *words, *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores and files of one smoke of everything."""
    folder = tmp_path_factory.mktemp("paper")
    call(folder, "all", "--format", "csv", "--out", str(folder / "all.csv"))
    return folder


def test_every_target_has_numbers_of_ours(folder: Path) -> None:
    text = (folder / "all.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert {line["target"] for line in lines} == set(TARGETS)
    assert all(line["ours"] for line in lines)
    assert not [line["words"] for line in lines if "failed" in line["words"]]


def test_the_figures_are_drawn(folder: Path) -> None:
    names = {path.name for path in folder.glob("*.svg")}
    figures = ("projection", "projection-more", "projection-heterophilic")
    assert names == {f"all-{name}.svg" for name in figures}


def test_nothing_is_run_twice(folder: Path) -> None:
    assert "in all, shared runs once: 0 of" in call(folder, "all", "--estimate")
    assert "runs are missing" not in call(folder, "bound")
