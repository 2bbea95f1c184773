"""The user's own table of nodes with corrected labels and the reason of each; all other cells stay as they are."""

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.assess.assess import Assessment
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
    source, (labels, reasons) = assessment.data.source, corrections(assessment, method)
    nodes = None if source is None else source.nodes
    if source is None or nodes is None or source.columns is None or source.columns.id is None:
        return _write_ids(assessment, labels, reasons, folder)
    id_name, label_name = source.columns.id, source.columns.label
    if isinstance(nodes, Path) and nodes.suffix not in {".parquet", ".xlsx"}:
        target = folder / f"{NAME}{nodes.suffix}"
        edited = edit_text(nodes, id_name, label_name if in_place else None, labels, reasons)
        target.write_bytes(edited)
        return target
    frame = _frame(nodes)
    keys = id_keys(frame[id_name])
    held, why = [labels.get(key, "") for key in keys], [reasons.get(key, "") for key in keys]
    if in_place and label_name is not None:
        is_new = np.array([key in labels for key in keys])
        frame[label_name] = frame[label_name].astype(object).where(~is_new, held)
    else:
        frame[CORRECTED_COLUMN] = held
    frame[WHY_COLUMN] = why
    target = folder / f"{NAME}{nodes.suffix if isinstance(nodes, Path) else '.csv'}"
    if target.suffix == ".parquet":
        with open_database() as db:
            db.from_df(frame).write_parquet(str(target))
    elif target.suffix == ".xlsx":
        frame.to_excel(target, index=False)
    else:
        frame.to_csv(target, index=False)
    return target


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


def _write_ids(assessment: Assessment, labels: Mapping[str, str], reasons: Mapping[str, str], folder: Path) -> Path:
    data = assessment.data
    keys = id_keys(data.ids)
    given = [str(one) if known else "" for one, known in zip(data.labels, data.known.tolist(), strict=True)]
    columns = {"id": data.ids, "label": given}
    columns |= {
        name: [of.get(key, "") for key in keys] for name, of in ((CORRECTED_COLUMN, labels), (WHY_COLUMN, reasons))
    }
    target = folder / f"{NAME}.csv"
    pd.DataFrame(columns).to_csv(target, index=False)
    return target


def _frame(nodes: "Path | pd.DataFrame") -> pd.DataFrame:
    """Return the user's table as a DataFrame of its own."""
    if isinstance(nodes, pd.DataFrame):
        return nodes.copy()
    if nodes.suffix == ".xlsx":
        return pd.read_excel(nodes, dtype=object)
    with open_database() as db:
        return db.sql(f"SELECT * FROM read_parquet({quoted(str(nodes))})").df()
