from pathlib import Path

import pytest

from quietgraph.errors import UnwritablePathError
from quietgraph.folders import whole_folder


def test_a_filled_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with whole_folder(tmp_path / "a" / "b") as folder:
            (folder / "file").write_text(text)
    assert (tmp_path / "a" / "b" / "file").read_text() == "second"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def write_half(target: Path, harm: type[BaseException]) -> None:
    with whole_folder(target) as folder:
        (folder / "file").write_text("half")
        raise harm


@pytest.mark.parametrize("harm", [KeyboardInterrupt, ValueError])
def test_an_interrupted_block_leaves_what_was_there(tmp_path: Path, harm) -> None:
    with whole_folder(tmp_path / "kept") as folder:
        (folder / "file").write_text("old")
    with pytest.raises(harm):
        write_half(tmp_path / "kept", harm)
    assert (tmp_path / "kept" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UnwritablePathError, match="cannot be written"),
        whole_folder(tmp_path / "file" / "run"),
    ):
        pass
