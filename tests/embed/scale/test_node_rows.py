"""Ranges of rows that several processes share, and the file that holds all rows."""

import numpy as np
import pytest
import torch

from quietgraph.embed.scale import distributed
from quietgraph.embed.scale.distributed import World
from quietgraph.embed.scale.node_rows import NodeRows, SharedRows, node_rows, npy_header
from quietgraph.errors import InvalidParameterError


@pytest.mark.parametrize(("count", "size"), [(10, 3), (500, 2), (9_000, 2), (100_001, 7)])
def test_ranges_cover_all_rows_once_and_none_is_empty(count: int, size: int) -> None:
    owns = [SharedRows(count, None, World(rank, size)).own for rank in range(size)]
    assert [own.start for own in owns] == [0, *(own.stop for own in owns[:-1])]
    assert owns[-1].stop == count
    assert all(own.stop > own.start for own in owns)
    if count >= 4 * 1024 * size:
        assert all(own.start % 1024 == 0 for own in owns)


def test_blocks_stay_within_the_rows_of_a_process() -> None:
    rows = SharedRows(80, 30, World(1, 2))
    assert list(rows.blocks()) == [slice(40, 70), slice(70, 80)]


@pytest.mark.parametrize(("count", "size"), [(100, 2), (1_000, 3), (181, 3)])
def test_blocks_of_several_processes_are_those_of_one(count: int, size: int) -> None:
    blocks = [list(SharedRows(count, 30, World(rank, size)).blocks()) for rank in range(size)]
    assert [one for several in blocks for one in several] == list(NodeRows(count, 30).blocks())
    assert max(map(len, blocks)) <= min(map(len, blocks)) + 1


def test_sums_and_matrices_of_one_process_are_those_of_all_rows(tmp_path) -> None:
    values, rows = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)), NodeRows(50, 16)
    assert torch.equal(rows.fill("any", lambda some: values[some]), values)
    torch.testing.assert_close(rows.sum(lambda some: values[some].sum(dim=0)), values.sum(dim=0))
    assert torch.equal(rows.numbers(lambda some: values[some, 0]), values[:, 0])
    rows.save(tmp_path / "rows.npy", values)
    assert np.array_equal(np.load(tmp_path / "rows.npy"), values.numpy())


def test_the_header_of_a_file_is_a_page_long() -> None:
    header = npy_header((10**8, 256), np.dtype(np.float32))
    assert len(header) == 4096
    assert header.startswith(b"\x93NUMPY")


def test_processes_without_a_folder_to_share_are_told_so(monkeypatch) -> None:
    monkeypatch.setattr(distributed, "current_world", lambda: World(0, 2))
    monkeypatch.setattr("quietgraph.embed.scale.node_rows.current_world", distributed.current_world)
    with pytest.raises(InvalidParameterError, match="folder of checkpoints"):
        node_rows(10)


def test_a_sum_does_not_depend_on_how_rows_are_shared(monkeypatch) -> None:
    rows = torch.rand(4_000, 3, generator=torch.Generator().manual_seed(0))
    shares = [SharedRows(4_000, 100, World(rank, 3)) for rank in range(3)]
    told: list[torch.Tensor] = []
    monkeypatch.setattr(World, "total", lambda _, tensor: told.append(tensor) or tensor)
    for share in shares:
        share.sum(lambda some: rows[some].sum(dim=0))
    whole = NodeRows(4_000, 100).sum(lambda some: rows[some].sum(dim=0))
    assert whole.dtype == rows.dtype
    assert torch.equal(sum(told[:3]).float(), whole)
    assert int(NodeRows(7, 2).sum(lambda some: torch.tensor(some.stop - some.start))) == 7
