"""Files of a benchmark run no code, though some of them are pickles."""

import pickle
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from quietgraph.data.datasets import load_benchmark
from quietgraph.data.safe_pickle import ArrayPickle
from quietgraph.errors import UnreadableFileError


class Hostile:
    """Runs a command when it is unpickled (`commands.call` is its name in Python 2)."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return subprocess.call, (["touch", str(self.target)],)


def test_a_hostile_planetoid_file_is_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIETGRAPH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "Planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for ending in ("x", "tx", "allx", "y", "ty", "ally", "graph"):
        content = pickle.dumps(Hostile(tmp_path / "ran"), protocol=2)
        (folder / f"ind.cora.{ending}").write_bytes(content)
    (folder / "ind.cora.test.index").write_text("0\n")
    with pytest.raises(UnreadableFileError, match=r"commands\.call"):
        load_benchmark("cora", data_root=tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "numpy.load", "posix.system"])
def test_nothing_but_arrays_dicts_and_lists_is_made(name: str, tmp_path: Path) -> None:
    module, _, attribute = name.rpartition(".")
    (tmp_path / "one").write_bytes(f"c{module}\n{attribute}\n.".encode())
    with (tmp_path / "one").open("rb") as file, pytest.raises(UnreadableFileError, match=name):
        ArrayPickle.load(file, encoding="latin1")


def test_what_the_published_files_hold_is_read(tmp_path: Path) -> None:
    by_hand = b"ccollections\ndefaultdict\n(c__builtin__\nlist\ntR."
    (tmp_path / "graph").write_bytes(by_hand)
    with (tmp_path / "graph").open("rb") as file:
        assert ArrayPickle.load(file, encoding="latin1") == defaultdict(list)
