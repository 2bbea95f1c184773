"""Runs in a file: appended line by line while a sweep runs, read as one table."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from quietgraph.errors import UnreadableFileError

KEY: Final = ("dataset", "data", "noise", "method", "settings", "seed", "split", "protocol")
_ORDER: Final = (*KEY, "measures", "status", "reason", "seconds_fit", "seconds")
_TEXTS: Final = ("data", "settings", "measures", "reason")  # empty rather than missing


def append_run(path: str | Path, row: Mapping[str, Any]) -> None:
    """Add a row to a JSON Lines file; when this returns, it is on the disk. A torn last line goes."""
    with Path(path).open("a+b") as file:
        file.seek(max(0, file.tell() - 1))
        if file.read() not in {b"", b"\n"}:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_runs(*paths: str | Path) -> pd.DataFrame:
    """Return the runs of JSON Lines or CSV files, one row a run; of a run that was repeated, the last row counts."""
    frames = [_read(Path(path)) for path in paths]
    frame = pd.concat([frame for frame in frames if len(frame)] or [pd.DataFrame(columns=list(_ORDER))])
    for name in _TEXTS:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "") if name in frame else ""
    return frame.drop_duplicates(list(KEY), keep="last").reset_index(drop=True)


def keep_runs(frame: pd.DataFrame, path: str | Path) -> None:
    """Write runs as a flat CSV file that can be committed: sorted, numbers of eight digits."""
    names = [*(name for name in _ORDER if name in frame), *sorted(set(map(str, frame)) - set(_ORDER))]
    ordered = frame.sort_values(list(KEY), kind="stable")[names]
    ordered.to_csv(path, index=False, float_format="%.8g", lineterminator="\n")


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".csv":
            texts = dict.fromkeys([*KEY, *_TEXTS], str) | {"seed": int}
            frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
        else:
            whole = path.read_text(encoding="utf-8").split("\n")[:-1]  # a line without an end was torn
            frame = pd.DataFrame([json.loads(line) for line in whole], columns=None if whole else list(_ORDER))
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"cannot read runs from {path}: {error}. Name a file of `bench run`.") from error
    missing = [name for name in (*KEY, "status") if name not in frame]
    if missing:
        raise UnreadableFileError(f"{path} has no column {', '.join(missing)}. Name a file of `bench run`.")
    return frame
