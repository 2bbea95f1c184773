"""The user's own table of nodes with corrected labels and the reason of each; all other cells stay as they are."""

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.assessment.assess import Assessment
from quietgraph.data.decisions import CORRECTED_COLUMN
from quietgraph.graph.io.tables import id_keys, open_database, quoted, read_header
from quietgraph.types import UNKNOWN

WHY_COLUMN: Final = "quietgraph_why"
NAME: Final = "nodes_corrected"
_CELL: Final = r'([ \t]*"(?:[^"]|"")*"[^{sep}\r\n]*|[^{sep}\r\n]*)({sep}|\r\n|\n|\r|\Z)'


def write_corrected(assessment: Assessment, folder: Path, *, in_place: bool, method: str) -> Path:
    """Write the table of nodes with the labels that hold now and why; return its path.

    Text files keep separator, encoding, line ends and every cell that is not corrected, byte for byte; Parquet and
    Excel stay what they are. Sources without a table of nodes give one of ids and labels.

    Args:
        assessment: Of the labels.
        folder: Where to write.
        in_place: Whether corrections go into the label column instead of a column of their own.
        method: Name of the method, for the reasons.
    """
    data, (labels, reasons) = assessment.data, corrections(assessment, method)
    nodes = None if data.source is None else data.source.nodes
    columns = None if data.source is None else data.source.columns
    label = columns.label if columns is not None and in_place else None
    path = nodes if isinstance(nodes, Path) else Path("table.csv")
    target = folder / f"{NAME}{path.suffix}"
    keys = id_keys(data.ids)
    found = {CORRECTED_COLUMN: [labels.get(key) for key in keys], WHY_COLUMN: [reasons.get(key, "") for key in keys]}
    added = pd.DataFrame(found, dtype="string")
    if isinstance(nodes, Path) and nodes.suffix not in {".parquet", ".xlsx"} and columns is not None:
        id_name = columns.id or read_header(nodes)[0][0]
        target.write_bytes(edit_text(nodes, id_name, label, labels, reasons))
    elif isinstance(nodes, Path) and nodes.suffix == ".parquet":
        _write_parquet(nodes, target, added, label)
    else:
        if nodes is None:
            frame = pd.DataFrame({"id": data.ids, "label": pd.Series(data.labels).where(data.known.numpy(), "")})
        else:
            frame = nodes.copy() if isinstance(nodes, pd.DataFrame) else pd.read_excel(nodes, dtype=object)
        if label is not None:
            values, new = {str(one): one for one in assessment.classes.tolist()}, added.pop(CORRECTED_COLUMN)
            held = pd.Series([values.get(one) for one in new], index=frame.index, dtype=object)
            frame[label] = frame[label].astype(object).where(new.isna().to_numpy(), held)
        frame = frame.assign(**{str(name): cells.fillna("").to_numpy() for name, cells in added.items()})
        (frame.to_excel if target.suffix == ".xlsx" else frame.to_csv)(target, index=False)
    return target


def _write_parquet(nodes: Path, target: Path, added: pd.DataFrame, label: str | None) -> None:
    """Write a Parquet table with added columns, or with its label column changed; types stay what they are."""
    with open_database() as db:
        db.register("added", added)
        table = f"read_parquet({quoted(str(nodes))})"
        rows, new = db.execute(f"DESCRIBE SELECT * FROM {table}").fetchall(), f"a.{CORRECTED_COLUMN}"
        cells = list[str]()
        for name, kind in [row[:2] for row in rows if row[0] not in added]:
            cell = '"' + name.replace('"', '""') + '"'
            changed = f"CASE WHEN {new} IS NULL THEN t.{cell} ELSE nullif({new}, '')::{kind} END AS {cell}"
            cells.append(changed if name == label else f"t.{cell}")
        cells += [] if label else [f"coalesce({new}, '') AS {CORRECTED_COLUMN}"]
        chosen = f"SELECT {', '.join(cells)}, a.{WHY_COLUMN} FROM {table} t POSITIONAL JOIN added a"
        db.execute(f"COPY ({chosen}) TO {quoted(str(target))} (FORMAT parquet)")


def corrections(assessment: Assessment, method: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the new label of nodes whose label is another one now, and the reasons, by node id."""
    data, classes = assessment.data, assessment.classes
    keys, labels, reasons = id_keys(data.ids), dict[str, str](), dict[str, str]()
    predicted = assessment.predictions.numpy()
    for node in np.flatnonzero(assessment.is_suspect):
        key, odds = keys[node], f"{assessment.p_wrong[node]:.2f}".replace("1.00", "> 0.99")  # never certain
        labels[key] = str(classes[predicted[node]])
        given = classes[int(assessment.codes[node])]
        reasons[key] = f"corrected by {method}, not reviewed; it was {given}, wrong with probability {odds}"
    before, now = data.before.numpy(), data.codes.numpy()
    for node in np.flatnonzero((before != now) | data.verified.numpy()):
        key, was = keys[node], "unknown" if before[node] == UNKNOWN else str(data.classes[before[node]])
        if now[node] == UNKNOWN:
            labels[key], reasons[key] = "", f"dropped by a reviewer; it was {was}"
        elif before[node] != now[node]:
            labels[key], reasons[key] = str(data.classes[now[node]]), f"corrected by a reviewer; it was {was}"
        else:
            reasons[key] = "kept by a reviewer"
    return labels, reasons


def edit_text(
    path: Path, id_name: str, label_name: str | None, labels: Mapping[str, str], reasons: Mapping[str, str]
) -> bytes:
    """Return a text file with its corrections in added columns, or in the label column; all else byte for byte.

    Args:
        path: Of the table of nodes.
        id_name: Name of its id column.
        label_name: Name of the column that corrections go into; None for a column of their own.
        labels: New label by node id.
        reasons: Reason by node id.
    """
    raw = path.read_bytes()
    start = raw[:3] if raw.startswith(b"\xef\xbb\xbf") else b""
    text = raw[len(start) :].decode("utf-8")
    names, separator, _ = read_header(path)
    id_place, label_place = names.index(id_name), None if label_name is None else names.index(label_name)
    ours = [WHY_COLUMN] if label_name else [CORRECTED_COLUMN, WHY_COLUMN]
    new_names = [name for name in ours if name not in names]
    places = [names.index(name) if name in names else len(names) + new_names.index(name) for name in ours]
    parts, cells, added = list[str](), list[str](), ours
    for cell, end in re.findall(_CELL.format(sep=re.escape(separator)), text):
        cells.append(cell)
        if end == separator:
            continue
        if len(cells) == 1 and not cell.strip() and (len(names) > 1 or not end):  # a blank line, or the end
            parts.append(cell + end)
        else:
            if not added:
                key = id_keys([_unquoted(cells[id_place])])[0]
                new, why = labels.get(key), reasons.get(key, "")
                if label_place is not None and new is not None:
                    cells[label_place] = _quoted(new, separator)
                added = [_quoted(one, separator) for one in ([why] if label_name else [new or "", why])]
            cells += [""] * (max(places) + 1 - len(cells))
            for place, one in zip(places, added, strict=True):
                cells[place] = one
            parts.append(separator.join(cells) + end)
            added = []
        cells = []
    return start + "".join(parts).encode("utf-8")


def _unquoted(cell: str) -> str:
    stripped = cell.strip()
    return stripped[1:-1].replace('""', '"') if stripped.startswith('"') else stripped


def _quoted(cell: str, separator: str) -> str:
    """Return a cell as CSV writes it."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator="").writerow([cell, "x"])
    return buffer.getvalue()[:-2]
