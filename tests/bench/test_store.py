"""The store of runs: what goes in comes out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quietgraph.bench.record import records_frame
from quietgraph.bench.store import Store
from quietgraph.errors import UnknownNameError
from tests.bench.test_record import KEY, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


def test_a_record_comes_back_as_it_was(store: Store) -> None:
    store.add(record())
    assert store.records() == [record()]


def test_a_metric_that_is_not_a_number_stays_one(store: Store) -> None:
    store.add(record(metrics={"train_accuracy_wrong": float("nan")}))
    (back,) = store.records()
    assert str(back.metrics) == "{'train_accuracy_wrong': nan}"


def test_a_run_of_the_same_key_is_replaced(store: Store) -> None:
    store.add(record(status="failed", reason="out of luck"))
    store.add(record())
    assert [found.status for found in store.records()] == ["done"]


def test_finished_are_the_wanted_keys_that_are_done(store: Store) -> None:
    for seed, status in enumerate(["done", "failed", "timeout", "out-of-memory", "done"]):
        store.add(record(seed, status=status))
    wanted = [replace(KEY, seed=seed) for seed in (0, 1, 2, 3, 9)]
    digests = [key.digest for key in wanted]
    assert store.finished(wanted) == {digests[0]}
    assert store.finished(wanted, keep_failures=True) == set(digests[:4])


def test_records_are_filtered_by_value_or_values(store: Store) -> None:
    for seed in range(4):
        store.add(record(seed, status="done" if seed else "failed"))
    assert [found.key.seed for found in store.records(seed=[1, 3])] == [1, 3]
    assert [found.key.seed for found in store.records(status="failed", dataset="cora")] == [0]


def test_an_unknown_filter_names_the_nearest(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="'dataset'"):
        store.records(datasets="cora")


def test_a_frame_has_one_row_a_run_and_metrics_as_columns(store: Store) -> None:
    store.add(record(1, metrics={"test_accuracy": 0.5, "mine": 2.0}))
    store.add(record(0, status="timeout", metrics={}, reason="over 60 s"))
    frame = store.to_frame()
    assert frame["seed"].tolist() == [0, 1]
    assert frame["test_accuracy"].isna().tolist() == [True, False]
    assert frame.loc[1, ["test_accuracy", "mine"]].tolist() == [0.5, 2.0]
    assert frame["digest"].tolist() == [replace(KEY, seed=seed).digest for seed in (0, 1)]


def test_an_empty_store_gives_an_empty_frame_with_all_columns(store: Store) -> None:
    assert list(store.to_frame()) == list(records_frame([record()]))


def test_closing_leaves_one_file_and_may_be_done_twice(path: Path) -> None:
    store = Store(path)
    store.add(record())
    store.close()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reader_reads_while_the_writer_writes(store: Store, path: Path) -> None:
    store.add(record(0))
    with Store(path, read_only=True) as reader:
        assert len(reader.records()) == 1
        store.add(record(1))
        assert len(reader.records()) == 2


def test_a_reader_waits_for_no_open_transaction(store: Store, path: Path) -> None:
    store.add(record(0))
    store._connection.execute("BEGIN IMMEDIATE")
    store.add(record(1))
    with Store(path, read_only=True) as reader:
        assert len(reader.records()) == 1
    store._connection.execute("COMMIT")
