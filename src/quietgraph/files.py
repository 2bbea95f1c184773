"""Files and folders that are replaced in one step: the old one or the new one, never a part."""

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from quietgraph.errors import UnwritablePathError


def write_file(target: str | Path, content: str | bytes) -> None:
    """Write a file in one step; text is UTF-8 and keeps its line ends."""
    target = Path(target)
    with _beside(target) as scratch:
        if target.is_dir():
            raise UnwritablePathError(f"{target} is a folder. Name a file.")
        new = scratch / "new"
        new.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(new, target)


@contextmanager
def write_folder(
    target: str | Path, *, marker: str, known: Collection[str] | None = None, earlier: str | None = None
) -> Iterator[Path]:
    """Give a folder to fill, which takes the place of `target` after the block, whole or not at all.

    Args:
        target: A new or empty folder, or one that may be replaced.
        marker: Name of a file that a folder holds that may be replaced.
        known: Names of the files that may be in it; any without it.
        earlier: Name in the new folder under which the replaced one is kept; removed without it.
    """
    target = Path(target)
    with _beside(target) as scratch:
        found = {path.name for path in target.iterdir()} if target.exists() else set()  # of a file it is an error
        other = sorted(found - {*known} if known and marker in found else found if marker not in found else ())
        if other:
            raise UnwritablePathError(f"{target} holds other files ({other[0]}). Choose an empty or new folder.")
        new = scratch / "new"
        old = scratch / "old" if earlier is None else new / earlier
        new.mkdir()
        yield new
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a hidden folder beside a path, on the same disk, for the time of the block."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden = tempfile.TemporaryDirectory(prefix=".quietgraph-", dir=target.parent, ignore_cleanup_errors=True)
        with hidden as folder:
            yield Path(folder)
    except OSError as error:
        reason = error.strerror or error
        raise UnwritablePathError(f"{target} cannot be written: {reason}. Choose another place.") from error
