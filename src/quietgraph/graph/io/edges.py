"""The table of edges as a symmetric adjacency; of parallel edges the heaviest stays."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse
import torch

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.columns import number_of
from quietgraph.graph.io.encode import Allocate
from quietgraph.graph.io.tables import ID, Table
from quietgraph.graph.sparse import CSR

_ENDS: Final = (("source", "target"), ("from", "to"), ("src", "dst"))
_AT_ONCE: Final = 2**22  # entries of the adjacency put in order at a time
_FLOATS: Final = np.finfo(np.float32)


class Ends(NamedTuple):
    """The columns of a table of edges."""

    source: str
    target: str
    weight: str | None


def fill_edges(table: Table, weight: str | None) -> Ends:
    """Read both ends, by their usual names or the first two columns, and the weight; return their columns."""
    lower = {name.lower(): name for name in reversed(table.names)}
    pair = next((pair for pair in _ENDS if {*pair} <= lower.keys()), None)
    first = [lower[end] for end in pair] if pair else [name for name in table.names if name != weight][:2]
    if weight is not None and weight not in table.names:
        raise UnreadableFileError(f"{table.where} must have the column '{weight}', the weights of the fit. Add it.")
    if len(first) < 2:
        raise UnreadableFileError(
            f"{table.where} must have two columns, source and target, got only {', '.join(table.names) or 'none'}."
        )
    usual = lower.get("weight")
    ends = Ends(first[0], first[1], weight or (usual if usual not in first else None))
    table.fill([one for one in ends if one is not None], raw=first)
    return ends


def make_ids(nodes: Table, name: str) -> None:
    """Make the table `ids` of the database: each node's id as text; missing or repeated ones are refused."""
    if not nodes.rows:
        raise UnreadableFileError(f"{nodes.where} has no rows. Put one row per node in it.")
    nodes.all(f"CREATE TABLE ids AS SELECT {ID.format(nodes.column(name))} AS key, _row AS code FROM {{table}}")
    for row, count in nodes.all("SELECT min(code), count(*) FROM ids WHERE key IS NULL HAVING count(*) > 0"):
        raise UnreadableFileError(
            f"{nodes.where} {nodes.place(row)} has no id ({count} such rows). Give every node one."
        )
    again = "SELECT key, min(code), max(code) AS last FROM ids GROUP BY key HAVING count(*) > 1 ORDER BY last LIMIT 1"
    for key, first, last in nodes.all(again):
        rows = f"{nodes.place(last)} has the id '{key}' again (first {nodes.place(first)})"
        raise UnreadableFileError(f"{nodes.where} {rows}. Keep one row per node.")


def ids_of_edges(table: Table, ends: Ends) -> int:
    """Make the same of all ids in a table of edges, in the order in which they appear; return how many there are."""
    keys = [ID.format(table.column(end)) for end in ends[:2]]
    for (row,) in table.all(f"SELECT _row FROM {{table}} WHERE {' IS NULL OR '.join(keys)} IS NULL ORDER BY 1 LIMIT 1"):
        raise UnreadableFileError(f"{table.where} {table.place(row)} lacks an end. Fill it in.")
    both = " UNION ALL ".join(
        f"SELECT {key} AS key, 2 * _row + {n} AS place FROM {{table}}" for n, key in enumerate(keys)
    )
    order = f"SELECT key, min(place) AS place FROM ({both}) GROUP BY key"
    codes = f"SELECT key, (row_number() OVER (ORDER BY place) - 1)::INTEGER AS code FROM ({order})"
    table.all(f"CREATE TABLE ids AS {codes}")
    if not table.rows:
        raise UnreadableFileError(f"{table.where} has no rows. Put one edge in each.")
    return int(table.all("SELECT count(*) FROM ids")[0][0])


def read_edges(
    table: Table, ends: Ends, num_nodes: int, allocate: Allocate, *, drop_dangling: bool
) -> tuple[CSR, list[str]]:
    """Return the symmetric adjacency [nodes, nodes], and what became of the edges in words.

    Args:
        table: Filled with the columns of both ends and of the weight.
        ends: Their names.
        num_nodes: Number of nodes; their ids and codes are the table `ids` of the database.
        allocate: Makes the arrays.
        drop_dangling: Leave out edges to ids that are no nodes, instead of refusing them.
    """
    weight = "1.0" if ends.weight is None else number_of(table, ends.weight)
    first, second = (ID.format(f"e.{table.column(end)}") for end in ends[:2])
    table.all(
        f"CREATE TABLE links AS SELECT e._row, a.code AS s, b.code AS t, {weight} AS w FROM {{table}} e "
        f"LEFT JOIN ids a ON {first} = a.key LEFT JOIN ids b ON {second} = b.key"
    )
    wrong = f"w IS NULL OR NOT (w >= {_FLOATS.tiny} AND w <= {_FLOATS.max})"
    counts = f"count(*) FILTER (s IS NULL OR t IS NULL), count(*) FILTER (s = t), count(*) FILTER ({wrong})"
    dropped, loops, bad = table.all(f"SELECT {counts} FROM links")[0]
    if dropped and not drop_dangling:
        row, no_source, source, target = _first(table, "s IS NULL OR t IS NULL", ends[:2])
        end = f"{ends.source} '{source or ''}'" if no_source else f"{ends.target} '{target or ''}'"
        raise UnreadableFileError(
            f"{table.where} {row} names the {end}, which is no id of a node ({dropped} such edges). Add it, or leave "
            "such edges out with --drop-dangling."
        )
    if bad and ends.weight is not None:
        row, _, given = _first(table, wrong, ends[2:])
        raise UnreadableFileError(
            f"{table.where} {row} has the weight '{given or ''}'; weights must be positive numbers below 3.4e38. Leave "
            "out edges that do not count."
        )
    table.all(
        "CREATE TABLE folded AS SELECT least(s, t) AS a, greatest(s, t) AS b, max(w)::FLOAT AS w, count(*) AS n, "
        "count(*) FILTER (s < t) AS f FROM links WHERE s <> t GROUP BY 1, 2"
    )
    again = "coalesce(sum(greatest(f - 1, 0) + greatest(n - f - 1, 0)), 0)::BIGINT"
    opposite, duplicates = table.all(f"SELECT count(*) FILTER (f > 0 AND f < n)::BIGINT, {again} FROM folded")[0]
    table.all("DROP TABLE links; DROP TABLE {table}")
    adjacency = _adjacency(table, num_nodes, allocate)
    table.all("DROP TABLE folded")
    isolated = int((adjacency.row_pointer.diff() == 0).sum())
    notes = [
        f"edges: directions ignored ({opposite:,} given both ways count once), {duplicates:,} duplicates and "
        f"{loops:,} self-loops removed, {isolated:,} nodes isolated"
    ]
    notes += [f"{dropped:,} edges to ids that are no nodes left out"] if dropped else []
    unused = [name for name in table.names if name not in ends]
    shown = ", ".join(unused[:10]) + (", ..." if len(unused) > 10 else "")
    return adjacency, notes + ([f"columns of the edges not used: {shown}"] if unused else [])


def _first(table: Table, condition: str, columns: Sequence[str | None]) -> tuple[Any, ...]:
    """Return where the first edge of this kind stands, whether its source is unknown, and some of its cells."""
    cells = ", ".join(f"e.{table.column(name)}::VARCHAR" for name in columns if name is not None)
    found = f"SELECT e._row, s IS NULL, {cells} FROM links JOIN {{table}} e USING (_row) WHERE {condition}"
    row, *rest = table.all(f"{found} ORDER BY 1 LIMIT 1")[0]
    return table.place(row), *rest


def _adjacency(table: Table, num_nodes: int, allocate: Allocate) -> CSR:
    """Return both directions of the folded edges in order, some rows at a time."""
    degrees = np.zeros(num_nodes, dtype=np.int64)
    for end in "ab":
        nodes, counts = table.arrays(f"SELECT {end}, count(*) FROM folded GROUP BY {end}")
        degrees[nodes] += counts
    total, first = np.concatenate([[0], degrees.cumsum()]), 0
    index = np.int32 if max(total[-1], num_nodes) < 2**31 - 1 else np.int64
    pointer = allocate("row_pointer", (num_nodes + 1,), index)
    pointer[:] = total
    columns, weights = allocate("columns", (total[-1],), index), allocate("weights", (total[-1],), np.float32)
    while first < num_nodes:
        last = max(first + 1, int(np.searchsorted(total, total[first] + _AT_ONCE, side="right")) - 1)
        inside = " UNION ALL ".join(
            f"SELECT {one} AS r, {other} AS c, w FROM folded WHERE {one} >= {first} AND {one} < {last}"
            for one, other in ("ab", "ba")
        )
        ends, others, values = table.arrays(inside)
        rows = scipy.sparse.csr_matrix((values, (ends - first, others)), shape=(last - first, num_nodes))
        rows.sort_indices()
        columns[total[first] : total[last]], weights[total[first] : total[last]] = rows.indices, rows.data
        first = last
    parts = [torch.from_numpy(part) for part in (pointer, columns, weights)]
    return CSR(parts[0], parts[1], parts[2], (num_nodes, num_nodes))
