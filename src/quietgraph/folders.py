"""Folders that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quietgraph.errors import UnwritablePathError


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give a folder to fill, which takes the place of `target` at the end of the block.

    If the block fails or is interrupted, whatever was at `target` is still there.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UnwritablePathError(f"{target} cannot be written: {error}.") from error
    old = scratch.with_name(scratch.name + "-old")
    try:
        yield scratch
        os.chmod(scratch, 0o755)  # noqa: S103  (mkdtemp makes private folders; results are shared)
        if target.exists():
            target.rename(old)
        scratch.rename(target)
    except OSError as error:
        raise UnwritablePathError(f"{target} cannot be written: {error}.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif old.exists():
            old.rename(target)
