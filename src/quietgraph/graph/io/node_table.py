"""The user's own table of nodes, as it stands in the file."""

from pathlib import Path
from typing import Final

import pandas as pd

from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.table import TABLE_ENDINGS, Table, open_table

ID_COLUMN: Final = "node"  # of files whose ids are no column


def read_node_table(source: Path) -> pd.DataFrame | None:
    """Return one row of texts per node, in the order of the graph; None where there is no table.

    Args:
        source: A folder of tables, a table of nodes, or a `.graphml` or `.gml` file; other formats
            have no columns.
    """
    if source.suffix in {".graphml", ".gml"} and source.is_file():
        from quietgraph.graph.io.networks import read_network  # noqa: PLC0415  (slow import)

        raw = read_network(source, budget_of(str(source), [source], None))
        table = pd.DataFrame() if raw.table is None else _as_texts(raw.table)
        table.insert(0, ID_COLUMN, [id_key(node) for node in raw.ids or ()], allow_duplicates=True)
        return table
    nodes = [source / f"nodes{end}" for end in TABLE_ENDINGS if source.is_dir()]
    nodes += [source] if source.suffix in TABLE_ENDINGS else []
    found = next((path for path in nodes if path.is_file()), None)
    if found is None:
        return None
    return _as_texts(open_table(found, budget_of(str(found), [found], None)))


def _as_texts(table: Table) -> pd.DataFrame:
    rows = [tuple(row.values()) for piece in table.pieces() for row in piece.to_pylist()]
    cells = [["" if cell is None else id_key(cell) for cell in row] for row in rows]
    return pd.DataFrame(cells, columns=list(table.names), dtype=object)
