"""What the pages tell a reader to type runs as it is printed."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import typer

from quietgraph.cli.app import app, main
from quietgraph.review.decisions import open_run

ROOT = Path(__file__).resolve().parents[2]
FILES = [*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
WITH_PYTHON = sorted(name for name, text in PAGES.items() if "```python\n" in text)
SHORTER = {'"quiet", ': "", "seeds=range(2)": "seeds=range(1)", "jobs=2": "jobs=1"}  # of sweeps
PRINTED = {"README.md": 1, "docs/theory.md": 1}  # which block shows what is printed
_done: set[str] = set()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a clone to who reads the shop."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "docs" / "shop", folder / "docs" / "shop")
    (folder / "reviewed.csv").write_text("node,label\nP00143,tools\n")
    return folder


@pytest.fixture(autouse=True)
def here(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(clone)
    yield
    plt.close("all")


def blocks(page: str, language: str = "") -> list[str]:
    """Return the blocks of code of a page in a language."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)
    return [code for name, code in fences if name == language]


def run(line: str) -> int:
    """Run a line of a shell block; one that ran before on another page is left out."""
    words = shlex.split(line, comments=True)
    if not words or shlex.join(words) in _done:
        return 0
    _done.add(shlex.join(words))
    if words[0] == "cp":
        shutil.copytree(words[2], words[3])
    elif words[0] == "echo":
        with Path(words[3]).open("a") as file:
            file.write(words[1] + "\n")
    elif words[:2] == ["quietgraph", "review"] and "--export" not in words:
        reviewed = open_run(Path(words[2]))  # the command serves until it is stopped: decide as its page does
        for node in reviewed.suspects.index[:3]:
            reviewed.decide(node, "accept", "", "Ann")
    else:
        assert words.pop(0) == "quietgraph", line
        return exit_code(words)
    return 0


def exit_code(words: list[str]) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["quietgraph", *words])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/guide/own-data.md"])
def test_commands_run(page: str) -> None:
    for line in "\n".join(blocks(page, "sh")).splitlines():
        is_quicker = line.startswith("quietgraph fit") and "--out runs/shop" not in line  # the one that start.md shows
        assert run(line.partition(" #")[0] + " --method s2gc" * is_quicker) == 0, line


def test_start_shows_what_the_fit_finds() -> None:
    assert run("quietgraph fit docs/shop --out runs/shop") == 0
    table, shown, row = blocks("docs/start.md")
    assert Path("docs/shop/nodes.csv").read_text().startswith(table)
    facts = json.loads(Path("runs/shop/run.json").read_text())
    assert facts["assessment"]["verdict"]["sentence"] in shown
    for line in shown.splitlines()[:3]:
        assert any(sentence.startswith(line.removesuffix("...")) for sentence in facts["data"]["understood"]), line
    corrected, truth = pd.read_csv("runs/shop/nodes_corrected.csv"), pd.read_csv("docs/shop/truth.csv")["label"]
    assert ",".join(corrected) == row.splitlines()[0]
    known, held = corrected["label"].notna(), corrected["quietgraph_label"].fillna(corrected["label"])
    assert (held == truth)[known].mean() > (corrected["label"] == truth)[known].mean() + 0.15


def test_messages_of_own_data_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = next(block for block in blocks("docs/guide/own-data.md") if block.startswith("$"))
    run("quietgraph fit docs/shop --out runs/shop")
    for command, said in re.findall(r"^\$ (quietgraph .*)\n(error: .*)", text, re.MULTILINE):
        for line in re.findall(r"^\$ (cp .*)$", text, re.MULTILINE):
            for part in line.split(" && "):
                run(part)
        capsys.readouterr()
        assert exit_code(shlex.split(command)[1:]) == 2
        assert " ".join(capsys.readouterr().err.split()) == said


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    quick = "qg.Quiet(epochs=3, " if page == "docs/quiet.md" else "qg.S2GC("
    for block in blocks(page, "python"):
        code = block if page == "README.md" else block.replace("qg.Quiet(seed=0", f"{quick}seed=0")
        for long, short in SHORTER.items():
            code = code.replace(long, short)
        exec(compile(code, page, "exec"), names)
    if page in PRINTED:
        shown, printed = blocks(page)[PRINTED[page]].splitlines(), capsys.readouterr().out.splitlines()
        assert [re.sub(r"[\d.]+", "0", line) for line in shown[:2]] == [
            re.sub(r"[\d.]+", "0", line) for line in printed[:2]
        ]
    names["answers"] = pd.DataFrame({"node": [0, 0, 1], "annotator": ["ann", "bob", "ann"], "label": [0, 1, 1]})
    for row in rows(page):
        exec(compile(row, page, "exec"), names)


def rows(page: str) -> list[str]:
    """Return the code that the last cell of each row of a table begins with; of the Python page alone."""
    if page != "docs/guide/python.md":
        return []
    cells = [line.rstrip("| ").rsplit(" | ", 1)[1] for line in PAGES[page].splitlines() if line.count(" | ")]
    return [found[0] for cell in cells if (found := re.findall(r"`([^`]+)`", cell))]


def test_links_lead_somewhere() -> None:
    for page, text in PAGES.items():
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", text):
            path = (ROOT / page).parent / target if target else ROOT / page
            assert path.exists(), (page, target)
            assert not anchor or anchor in anchors(path), (page, target, anchor)


def anchors(path: Path) -> list[str]:
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


def test_options_that_pages_name_exist() -> None:
    commands = typer.main.get_command(app).commands
    commands |= commands["bench"].commands
    known = {option for one in commands.values() for value in one.params for option in value.opts}
    for page, text in PAGES.items():
        for line in re.findall(r"`(?:quietgraph |--)[^`]*`|^ *quietgraph .*$", text, re.MULTILINE):
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", line):
                assert option in {*known, "--help", "--version"}, (page, option)


def test_pages_are_short() -> None:
    sizes = {name: len(text.encode()) for name, text in PAGES.items() if "results" not in name}
    assert sum(sizes.values()) < 125_000
    assert max(sizes.values()) < 10_000, sizes
