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
    first = store.add("a", "Ann", "accept", "dog")
    store.add("b", " Bob ", "drop", "dog")
    found = store.after()
    assert [(one.id, one.node, one.reviewer, one.choice, one.label) for one in found] == [
        (1, "a", "Ann", "accept", "dog"),
        (2, "b", "Bob", "drop", ""),
    ]
    assert found[0].made <= found[1].made
    assert store.after(first) == found[1:]
    assert DecisionStore(store.path).after() == found


def test_each_reviewers_last_choice_counts(store: DecisionStore) -> None:
    for reviewer, choice in (("Ann", "keep"), ("Bob", "keep"), ("Ann", "accept"), ("Bob", "")):
        store.add("a", reviewer, choice)
    store.add("b", "Bob", "")
    found = latest_choices(store.after())
    assert {
        node: {who: one.choice for who, one in said.items()} for node, said in found.items()
    } == {"a": {"Ann": "accept"}}
    assert len(store.after()) == 5  # nothing is ever overwritten


CAT, DOG = ("keep", "cat"), ("accept", "dog")


@pytest.mark.parametrize(
    ("choices", "merged"),
    [
        ([DOG], DOG),
        ([CAT, CAT], CAT),
        ([DOG, ("unsure", "")], DOG),
        ([("unsure", ""), CAT], CAT),
        ([("unsure", ""), ("unsure", "")], ("unsure", "")),
        ([DOG, ("other", "dog")], ("other", "dog")),
        ([DOG, CAT, ("unsure", "")], ("conflict", "")),
        ([CAT, ("other", "cow")], ("conflict", "")),
        ([("drop", ""), CAT], ("conflict", "")),
        ([("drop", ""), ("drop", "")], ("drop", "")),
    ],
)
def test_who_is_unsure_leaves_it_to_the_others(choices: list, merged: tuple[str, str]) -> None:
    made = [
        Decision(place, "a", f"R{place}", *choice, f"2026-01-0{place + 1}")
        for place, choice in enumerate(choices)
    ]
    found = merge({one.reviewer: one for one in made})
    assert (found.decision, found.label) == merged
    sure = [one for one in made if one.choice != "unsure"] or made
    assert all(one.reviewer in found.by for one in sure)
    assert found.when == sure[-1].made


@pytest.mark.parametrize(
    ("reviewer", "choice", "sentence"),
    [
        ("  ", "keep", "1 to 80 characters, got 0"),
        ("x" * 81, "keep", "got 81"),
        ("A\0nn", "keep", "without control characters"),
        ("A\x1b[31m", "keep", "without control characters"),
        ("A\nB", "keep", "without control characters"),
        ("A\ud800", "keep", "without control characters"),
        ("A\u202eB", "keep", "without control characters"),
        ("Ann", "acept", "Did you mean 'accept'?"),
    ],
)
def test_what_is_no_decision_is_refused(
    store: DecisionStore, reviewer: str, choice: str, sentence: str
) -> None:
    with pytest.raises(QuietgraphError, match=sentence):
        store.add("a", reviewer, choice)
    assert store.after() == []


def test_a_file_of_an_earlier_release_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "decisions.sqlite"
    old = sqlite3.connect(path)
    old.executescript("""
        CREATE TABLE decision (id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL,
            reviewer TEXT NOT NULL, choice TEXT NOT NULL, made TEXT NOT NULL) STRICT;
        PRAGMA application_id = 0x51474432;
        INSERT INTO decision (node, reviewer, choice, made) VALUES ('a', 'Ann', 'keep', '2025');
    """)
    old.close()
    store = DecisionStore(path)
    store.add("b", "Bob", "other", "cow")
    assert store.after() == [
        Decision(1, "a", "Ann", "keep", "", "2025"),
        Decision(2, "b", "Bob", "other", "cow", store.after()[1].made),
    ]


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
