"""Files and folders are replaced in one step, whatever happens on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import SafetensorError

from quietgraph import files
from quietgraph.errors import UnwritablePathError
from quietgraph.files import whole_file, whole_folder, write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill(target: Path, text: str) -> None:
    with whole_folder(target) as folder:
        (folder / "file").write_text(text)


def fail(target: Path, error: BaseException) -> None:
    with whole_folder(target) as folder:
        (folder / "file").write_text("half")
        raise error


def test_a_filled_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for text in ("first", "second"):
        fill(tmp_path / "a" / "b", text)
    assert (tmp_path / "a" / "b" / "file").read_text() == "second"
    assert names(tmp_path / "a") == ["b"]


def test_a_written_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for text in ("first\n", "zweitens: ü\r\n"):
        write_file(tmp_path / "a" / "b", text)
    assert (tmp_path / "a" / "b").read_bytes() == "zweitens: ü\r\n".encode()
    assert names(tmp_path / "a") == ["b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError()])
def test_an_interrupted_block_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    fill(tmp_path / "kept", "old")
    with pytest.raises(type(error)):
        fail(tmp_path / "kept", error)
    assert (tmp_path / "kept" / "file").read_text() == "old"
    assert names(tmp_path) == ["kept"]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SafetensorError("No space left on device")]
)
def test_a_full_disk_is_one_sentence_and_leaves_what_was_there(
    tmp_path: Path, error: Exception
) -> None:
    fill(tmp_path / "kept", "old")
    with pytest.raises(UnwritablePathError, match=r"kept cannot be written: No space left"):
        fail(tmp_path / "kept", error)
    assert (tmp_path / "kept" / "file").read_text() == "old"


def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "runs.csv", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritablePathError, match="No space left"):
        write_file(tmp_path / "runs.csv", "new")
    assert names(tmp_path) == ["runs.csv"]
    assert (tmp_path / "runs.csv").read_text() == "old"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file" / "run", tmp_path / "file"):
        with pytest.raises(UnwritablePathError, match=r"file.* cannot be written"):
            fill(target, "text")
    assert names(tmp_path) == ["file"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    fill(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fill(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "new"


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    (tmp_path / ".quietgraph-killed").mkdir()
    (tmp_path / ".quietgraph-killed" / "half").touch()
    with whole_file(tmp_path / "first") as scratch:
        scratch.touch()
        write_file(tmp_path / "second", "")  # leaves the folder that is in use alone
    assert names(tmp_path) == ["first", "second"]


def test_without_an_exchange_the_next_write_restores_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    for text in ("first", "second"):
        fill(tmp_path / "run", text)
    assert (tmp_path / "run" / "file").read_text() == "second"
    killed = tmp_path / ".quietgraph-killed" / "old"
    killed.mkdir(parents=True)
    (tmp_path / "run").rename(killed / "run")  # as if killed between the two renames
    write_file(tmp_path / "other", "")
    assert names(tmp_path) == ["other", "run"]


WRITER = """
import sys
from pathlib import Path
from quietgraph.files import whole_folder
for number in range(1_000_000):
    with whole_folder(sys.argv[1]) as folder:
        for name in "abc":
            (folder / name).write_text(str(number))
    print(number, flush=True)
"""


@pytest.mark.parametrize("milliseconds", [0, 1, 3, 7])
def test_a_kill_at_any_moment_leaves_a_whole_folder(tmp_path: Path, milliseconds: int) -> None:
    target = tmp_path / "run"
    command = [sys.executable, "-c", WRITER, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(milliseconds / 1000)
        writer.send_signal(signal.SIGKILL)
    texts = {(target / name).read_text() for name in "abc"}
    assert len(texts) == 1
    fill(target, "after")
    assert names(tmp_path) == ["run"]
