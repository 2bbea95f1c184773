"""SQLite files: what is refused, and that nothing is lost; shown with the store of runs."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from paths import ROOT
from quietgraph.bench.store import RUNS, Store
from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError
from quietgraph.files import write_file
from tests.bench.test_record import record


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
    with pytest.raises(UnreadableFileError, match=f"version 7, .* reads version {RUNS.version}"):
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
    with pytest.raises(UnreadableFileError, match="not a readable store of runs"):
        Store(path, read_only=read_only)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_text().startswith("method")


def test_a_missing_store_cannot_be_read(path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no store of runs at"):
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
    with pytest.raises(UnwritablePathError, match="cannot write the store of runs"):
        Store(tmp_path / "file" / "results.sqlite")


def test_a_read_only_folder_cannot_be_written_to(read_only_folder: Path) -> None:
    with pytest.raises(UnwritablePathError, match="you may write to"):
        Store(read_only_folder / "new.sqlite")
    with pytest.raises(UnwritablePathError, match="writable"):
        write_file(read_only_folder / "runs.csv", "")


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


@pytest.mark.parametrize("seed", range(200))
def test_any_damage_is_refused_in_one_sentence_or_harmless(path: Path, seed: int) -> None:
    with Store(path) as store:
        for number in range(20):
            store.add(record(number))
    content = bytearray(path.read_bytes())
    draws = np.random.default_rng(seed)
    for place in draws.integers(len(content), size=8):
        content[place] = draws.integers(256)
    path.write_bytes(content)
    with suppress(UnreadableFileError, UnwritablePathError), Store(path) as store:
        store.records()
        store.add(record(30))


def test_misuse_is_no_error_of_the_user(store: Store) -> None:
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.records()
    assert not issubclass(sqlite3.ProgrammingError, QuietgraphError)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[2])))
from quietgraph.files import write_file
from tests.bench.test_record import record
from quietgraph.bench.store import Store
with Store(sys.argv[1]) as store:
    for seed in range(1_000_000):
        store.add(record(seed))
        print(seed, flush=True)
"""


@pytest.mark.parametrize("num_lines", [1, 20, 77])
def test_a_killed_writer_loses_nothing_that_was_added(path: Path, num_lines: int) -> None:
    command = [sys.executable, "-c", WRITER, str(path), str(ROOT)]
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


def test_a_reader_undoes_what_a_killed_process_began(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA cache_size = 1")  # so that half of the transaction is on disk
        file.execute("BEGIN")
        file.execute("CREATE TABLE half (text)")
        file.executemany("INSERT INTO half VALUES (?)", [("x" * 2000,)] * 50)
        (tmp_path / "killed").mkdir()
        for name in (path.name, f"{path.name}-journal"):
            shutil.copy(path.with_name(name), tmp_path / "killed" / name)
    with pytest.raises(UnreadableFileError, match="is empty: nothing was written"):
        Store(tmp_path / "killed" / path.name, read_only=True)
    assert not (tmp_path / "killed" / f"{path.name}-journal").exists()
