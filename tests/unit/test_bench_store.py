"""The store of runs: what goes in comes out, whatever happens meanwhile."""

import csv
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quietgraph.bench.record import Record, RunKey, canonical_json, records_frame
from quietgraph.bench.store import Store
from quietgraph.bench.store_file import SCHEMA_VERSION, write_whole
from quietgraph.errors import (
    InvalidParameterError,
    QuietgraphError,
    UnknownNameError,
    UnreadableFileError,
    UnwritablePathError,
)

KEY = RunKey(
    dataset="cora",
    method="gcn",
    parameters=canonical_json({"hidden": 64, "rate": 0.5}),
    noise="symmetric:0.4",
    seed=0,
    split="public",
    protocol_version=1,
)


def record(seed: int = 0, **changes: object) -> Record:
    base = Record(
        key=replace(KEY, seed=seed),
        status="done",
        metrics={"test_accuracy": 0.1 + 0.2, "seconds_fit": 1.5},
        seconds=2.0,
        peak_memory_mb=100.0,
        started="2025-01-01T00:00:00+00:00",
        versions={"quietgraph": "0.1.0"},
    )
    return replace(base, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder with a closed store in it, in which this process may write nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "results.sqlite") as opened:
            opened.add(record())
        folder.chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:  # root may write everywhere
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical_json({"b": 1, "a": [1, 2]}) == canonical_json({"a": [1, 2], "b": 1})


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_what_is_not_plain_json_cannot_determine_a_run(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="plain finite JSON"):
        canonical_json({"value": value})


def test_equal_keys_have_equal_digests_in_every_process() -> None:
    text = (
        r'{"dataset":"cora","method":"gcn","noise":"symmetric:0.4",'
        r'"parameters":"{\"hidden\":64,\"rate\":0.5}","protocol_version":1,"seed":0,"split":"public"}'
    )
    assert KEY.digest == hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    assert KEY.digest == "675f65d4dd75e7a1f23aec910aa90a3a"


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "photo"},
        {"method": "s2gc"},
        {"parameters": "{}"},
        {"noise": "none"},
        {"seed": 1},
        {"split": "noisygl"},
        {"protocol_version": 2},
    ],
)
def test_everything_in_the_key_changes_the_digest(change: dict[str, object]) -> None:
    assert replace(KEY, **change).digest != KEY.digest


@pytest.mark.parametrize("text", ['{"b": 1}', '{"b":1,"a":2}', "hidden=64"])
def test_parameters_that_are_not_canonical_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="canonical_json"):
        replace(KEY, parameters=text)


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="out-of-memory"):
        record(status="lost")


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


def test_the_csv_holds_every_digit(store: Store, tmp_path: Path) -> None:
    store.add(record())
    store.export_csv(tmp_path / "out" / "runs.csv")
    with open(tmp_path / "out" / "runs.csv", newline="", encoding="utf-8") as file:
        (back,) = csv.DictReader(file)
    assert float(back["test_accuracy"]) == 0.1 + 0.2
    assert json.loads(back["parameters"]) == {"hidden": 64, "rate": 0.5}


def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "runs.csv"
    write_whole(target, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritablePathError, match="No space left"):
        write_whole(target, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["runs.csv"]
    assert target.read_text() == "old"


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


def test_there_is_one_writer_at_a_time(store: Store, path: Path) -> None:
    with pytest.raises(UnwritablePathError, match="another process writes"):
        Store(path)
    store.close()
    Store(path).close()


def test_a_reader_cannot_write(path: Path) -> None:
    Store(path).close()
    with Store(path, read_only=True) as reader, pytest.raises(UnwritablePathError):
        reader.add(record())


def test_a_store_of_another_version_is_refused_and_left_alone(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 7")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(UnreadableFileError, match=f"version 7, .* reads version {SCHEMA_VERSION}"):
        Store(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE diary (entry TEXT)")
    raw.close()
    with pytest.raises(UnreadableFileError, match="another program"):
        Store(path)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, read_only: bool) -> None:
    path.write_text("method,accuracy\n" * 100)
    with pytest.raises(UnreadableFileError, match="not a readable SQLite store"):
        Store(path, read_only=read_only)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_text().startswith("method")


def test_a_missing_store_cannot_be_read(path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no store at"):
        Store(path, read_only=True)
    assert not path.exists()


def test_an_empty_file_cannot_be_read(path: Path) -> None:
    path.touch()
    with pytest.raises(UnreadableFileError, match="empty"):
        Store(path, read_only=True)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(UnwritablePathError, match="Choose"):
        Store(tmp_path)


def test_a_file_is_no_folder_for_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnwritablePathError, match="cannot make the folder"):
        Store(tmp_path / "file" / "results.sqlite")


def test_a_read_only_folder_cannot_be_written_to(read_only_folder: Path) -> None:
    with pytest.raises(UnwritablePathError, match="you may write to"):
        Store(read_only_folder / "new.sqlite")
    with pytest.raises(UnwritablePathError, match="writable"):
        write_whole(read_only_folder / "runs.csv", "")


def test_a_store_in_a_read_only_folder_can_be_read(read_only_folder: Path) -> None:
    with Store(read_only_folder / "results.sqlite", read_only=True) as reader:
        assert reader.records() == [record()]


def test_a_full_disk_keeps_what_was_written(path: Path) -> None:
    with Store(path) as store:
        store.add(record(0))
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own full disk
        with pytest.raises(UnwritablePathError, match="no room left"):
            store.add(record(1, reason="x" * 100_000))
    with Store(path) as store:
        assert store.records() == [record(0)]


def test_a_damaged_store_is_refused(path: Path) -> None:
    with Store(path) as store:
        for seed in range(50):
            store.add(record(seed))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with Store(path) as store, pytest.raises(UnreadableFileError):
        store.records()


def test_misuse_is_no_error_of_the_user(store: Store) -> None:
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.records()
    assert not issubclass(sqlite3.ProgrammingError, QuietgraphError)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[2])))
from test_bench_store import record
from quietgraph.bench.store import Store
with Store(sys.argv[1]) as store:
    for seed in range(1_000_000):
        store.add(record(seed))
        print(seed, flush=True)
"""


@pytest.mark.parametrize("num_lines", [1, 20, 77])
def test_a_killed_writer_loses_nothing_that_was_added(path: Path, num_lines: int) -> None:
    command = [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        watchdog = threading.Timer(60, writer.kill)
        watchdog.start()
        assert writer.stdout is not None
        for _ in range(num_lines):
            last = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        last = max([last, *map(int, writer.stdout.read().split())])
        watchdog.cancel()
    with Store(path) as store:  # the writer's place is free again
        assert store._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        seeds = [found.key.seed for found in store.records()]
    assert seeds[: last + 1] == list(range(last + 1))
    assert len(seeds) <= last + 2  # at most one was added but not yet said
