"""A run folder opened for review, and the decisions that leave it."""

from pathlib import Path

import pytest

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.corrections import read_corrections
from quietgraph.report.run_files import DECISIONS_FILE
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run, read_decisions


def test_the_suspects_are_those_of_the_csv(folder: Path) -> None:
    run = open_run(folder)
    assert list(run.suspects)[:3] == ["=odd", "semi;colon", "n2"]
    assert run.label_after("n2", "accept", "") == "dog"
    assert run.label_after("n2", "keep", "") == "cat"
    assert run.label_after("n2", "other", "cow") == "cow"
    assert run.label_after("n2", "drop", "cow") == ""


def test_an_export_holds_earlier_decisions_too(folder: Path) -> None:
    earlier = "node,label,decision,by,when\nx,cow,other,Eve,2025\nn2,cat,keep,Eve,2025\n"
    (folder / "verified.csv").write_text(earlier)
    store = DecisionStore(folder / DECISIONS_FILE)
    store.add("=odd", "Ann", "accept", "dog")
    store.add("n2", "Ann", "drop")
    store.add("n3", "Ann", "accept", "dog")
    store.add("n3", "Bob", "keep", "cat")
    text, counts = open_run(folder).export(store.after())
    (folder.parent / "v.csv").write_text(text, newline="")
    found = read_corrections(folder.parent / "v.csv").decisions
    kinds = {node: (one.decision, one.label, one.by) for node, one in found.items()}
    assert kinds == {
        "x": ("other", "cow", "Eve"),
        "n2": ("drop", "", "Ann"),
        "=odd": ("accept", "dog", "Ann"),
        "n3": ("unsure", "", "Ann: dog; Bob: cat"),
    }
    assert counts == {"accept": 1, "drop": 1, "conflict": 1}


def test_a_folder_gives_all_decisions_that_were_made_in_it(folder: Path) -> None:
    with pytest.raises(UnreadableFileError, match="holds no decisions"):
        read_decisions(folder)
    (folder / "verified.csv").write_text("node,label,decision\nx,cow,other\n")
    edited = "node,given,suggested,score,decision\nn5,cat,dog,0.5,keep\nn6,cat,dog,0.5,accept\n"
    (folder / "suspects.csv").write_text(edited)
    DecisionStore(folder / DECISIONS_FILE).add("n6", "Ann", "other", "cow")
    labels = read_decisions(folder).labels
    assert labels == {"x": "cow", "n5": "cat", "n6": "cow"}


def test_decisions_of_an_earlier_release_get_their_labels(folder: Path) -> None:
    store = DecisionStore(folder / DECISIONS_FILE)
    store.add("n2", "Ann", "accept")  # without a label, as quietgraph 0.1 wrote it
    store.add("n3", "Ann", "keep")
    assert read_decisions(folder).labels == {"n2": "dog", "n3": "cat"}


def test_a_conflict_decides_nothing(folder: Path) -> None:
    store = DecisionStore(folder / DECISIONS_FILE)
    store.add("n2", "Ann", "accept", "dog")
    store.add("n2", "Bob", "keep", "cat")
    store.add("n3", "Bob", "keep", "cat")
    assert read_decisions(folder).labels == {"n3": "cat"}


@pytest.mark.parametrize("name", ["run.json", "suspects.csv", "evidence.jsonl", "report.html"])
@pytest.mark.parametrize("text", [None, "", "[1, 2", "[]", "\0\1"])
def test_a_damaged_folder_has_its_sentence(folder: Path, name: str, text: str | None) -> None:
    (folder / name).unlink()
    if text is not None:
        (folder / name).write_text(text)
    if name == "report.html" and text is not None:
        assert open_run(folder).page == text
        return
    if (name, text) == ("evidence.jsonl", ""):
        assert open_run(folder).evidence == {}
        return
    with pytest.raises(UnreadableFileError):
        open_run(folder)


def test_the_next_command_keeps_what_was_typed(folder: Path) -> None:
    assert open_run(folder).next_command("v.csv") == "quietgraph fit pets --verified v.csv"
