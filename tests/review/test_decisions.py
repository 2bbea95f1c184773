"""Decisions: kept by reviewer, never lost, merged without taking sides."""

import sqlite3
from pathlib import Path

import pytest

from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError
from quietgraph.review.decisions import Decision, DecisionStore, latest_choices, merge


@pytest.fixture
def store(tmp_path: Path) -> DecisionStore:
    return DecisionStore(tmp_path / "decisions.sqlite")


def test_what_was_decided_comes_back_in_order(store: DecisionStore) -> None:
    first = store.add("a", "Ann", "accept")
    store.add("b", " Bob ", "keep")
    assert store.after() == [Decision(1, "a", "Ann", "accept"), Decision(2, "b", "Bob", "keep")]
    assert store.after(first) == [Decision(2, "b", "Bob", "keep")]
    assert DecisionStore(store.path).after() == store.after()


def test_each_reviewers_last_choice_counts(store: DecisionStore) -> None:
    for reviewer, choice in (("Ann", "keep"), ("Bob", "keep"), ("Ann", "accept"), ("Bob", "")):
        store.add("a", reviewer, choice)
    store.add("b", "Bob", "")
    assert latest_choices(store.after()) == {"a": {"Ann": "accept"}}
    assert len(store.after()) == 5  # nothing is ever overwritten


@pytest.mark.parametrize(
    ("choices", "merged"),
    [
        (["accept"], "accept"),
        (["keep", "keep"], "keep"),
        (["accept", "unsure"], "accept"),
        (["unsure", "keep"], "keep"),
        (["unsure", "unsure"], "unsure"),
        (["accept", "keep", "unsure"], "conflict"),
    ],
)
def test_who_is_unsure_leaves_it_to_the_others(choices: list[str], merged: str) -> None:
    assert merge({str(place): choice for place, choice in enumerate(choices)}) == merged


@pytest.mark.parametrize(
    ("reviewer", "choice", "sentence"),
    [
        ("  ", "keep", "1 to 80 characters, got 0"),
        ("x" * 81, "keep", "got 81"),
        ("Ann", "acept", "Did you mean 'accept'?"),
    ],
)
def test_what_is_no_decision_is_refused(
    store: DecisionStore, reviewer: str, choice: str, sentence: str
) -> None:
    with pytest.raises(QuietgraphError, match=sentence):
        store.add("a", reviewer, choice)
    assert store.after() == []


def test_decisions_are_written_ahead_and_flushed(store: DecisionStore) -> None:
    with store._connect() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "decisions.sqlite"
    path.write_text("dear diary, this is no database")
    with pytest.raises(UnreadableFileError, match="is not a readable file of review decisions"):
        DecisionStore(path)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE diary (day TEXT)")
    other.close()
    with pytest.raises(UnreadableFileError, match="of another program"):
        DecisionStore(path)


def test_a_place_that_cannot_be_written_has_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "decisions.sqlite").mkdir()  # as for a folder without the right to write
    with pytest.raises(UnwritablePathError, match="copy the run to a folder"):
        DecisionStore(tmp_path / "decisions.sqlite")


def test_two_writers_lose_nothing(store: DecisionStore) -> None:
    second = DecisionStore(store.path)
    for place in range(10):
        (store, second)[place % 2].add(str(place), "Ann", "keep")
    assert [decision.node for decision in store.after()] == [str(place) for place in range(10)]
