"""Tensors on disk: a changed byte is noticed."""

from pathlib import Path

import pytest
import torch

from quietgraph.errors import UnreadableFileError
from quietgraph.tensor_file import read_tensors, write_tensors


def test_tensors_and_facts_come_back(tmp_path: Path) -> None:
    write_tensors(tmp_path / "t", {"a": torch.eye(2).T, "b": torch.zeros(0)}, {"x": [1]})
    tensors, facts = read_tensors(tmp_path / "t")
    assert facts == {"x": [1]}
    assert torch.equal(tensors["a"], torch.eye(2))
    assert tensors["b"].shape == (0,)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_tensors(path, {"a": torch.arange(4.0)}, {"x": 1})
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            found = read_tensors(path)
        except UnreadableFileError:
            continue
        # A space more or less in the header changes nothing that is read.
        assert found[1] == {"x": 1}
        assert torch.equal(found[0]["a"], torch.arange(4.0))


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no file"):
        read_tensors(Path("/dev/zero"))
