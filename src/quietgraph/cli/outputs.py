"""Files that a command may write: never in the place of what it reads, or of a file of a run."""

import os
from pathlib import Path

from quietgraph.errors import UnwritablePathError
from quietgraph.report.run_files import OWN_NAMES, RUN_FILE

_TABLES = ("nodes", "edges")  # of a graph, whatever their ending


def checked_output(path: Path, *inputs: str | Path | None) -> Path:
    """Return the path of a file to write; raise where it would replace what must not be lost.

    Args:
        path: Of the file to write.
        inputs: Files and folders that the command reads.
    """
    target = Path(os.path.realpath(path))
    read = [Path(os.path.realpath(one)) for one in inputs if one is not None]
    in_source = target.parent in read and target.stem in _TABLES
    in_run = target.name in OWN_NAMES and (target.parent / RUN_FILE).is_file()
    if target in read or (in_source and target.exists()):
        raise UnwritablePathError(
            f"{path} is read by this command. Choose another file with --out."
        )
    if in_run:
        raise UnwritablePathError(f"{path} belongs to a run. Choose another file with --out.")
    return path


def free_file(path: Path) -> Path:
    """Return the path, or the first one with a number after its name that does not exist."""
    number, found = 2, path
    while found.exists():
        found = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return found
