"""The table of edges as a symmetric adjacency; of parallel edges the heaviest stays."""

from typing import Final, NamedTuple

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


def pick_ends(table: Table, weight: str | None) -> Ends:
    """Return the columns of both ends, by their usual names or the first two, and of the weight."""
    if len(table.names) < 2:
        raise UnreadableFileError(
            f"{table.where} must have two columns, source and target, got only {', '.join(table.names) or 'none'}."
        )
    lower = {name.lower(): name for name in reversed(table.names)}
    pair = next((pair for pair in _ENDS if {*pair} <= lower.keys()), None)
    source, target = (lower[end] for end in pair) if pair else [name for name in table.names if name != weight][:2]
    usual = lower.get("weight")
    return Ends(source, target, weight or (usual if usual not in {source, target} else None))


def fill_edges(table: Table, ends: Ends) -> None:
    """Read the columns of both ends and of the weight."""
    table.fill([one for one in ends if one is not None], raw=ends[:2])


def make_ids(nodes: Table, name: str) -> None:
    """Make the table `ids` of the database: each node's id as text; missing or repeated ones are refused."""
    if not nodes.rows:
        raise UnreadableFileError(f"{nodes.where} has no rows. Put one row per node in it.")
    nodes.all(f"CREATE TABLE ids AS SELECT {ID.format(nodes.column(name))} AS key, _row AS code FROM {{table}}")
    lost, row = nodes.all("SELECT count(*), min(code) FROM ids WHERE key IS NULL")[0]
    if lost:
        raise UnreadableFileError(
            f"{nodes.where} {nodes.place(row)} has no id ({lost} such rows). Give every node one."
        )
    again = "SELECT key, min(code), max(code) AS last FROM ids GROUP BY key HAVING count(*) > 1 ORDER BY last LIMIT 1"
    for key, first, last in nodes.all(again):
        raise UnreadableFileError(
            f"{nodes.where} {nodes.place(last)} has the id '{key}' again (first {nodes.place(first)}). Keep one row per "
            "node."
        )


def ids_of_edges(table: Table, ends: Ends) -> int:
    """Make the same of all ids in a table of edges, in the order in which they appear; return how many there are."""
    first, second = (ID.format(table.column(end)) for end in ends[:2])
    for (row,) in table.all(f"SELECT _row FROM {{table}} WHERE {first} IS NULL OR {second} IS NULL ORDER BY 1 LIMIT 1"):
        raise UnreadableFileError(f"{table.where} {table.place(row)} lacks an end. Fill it in.")
    both = f"SELECT {first} AS key, 2 * _row AS place FROM {table.name} UNION ALL SELECT {second}, 2 * _row + 1"
    order = f"SELECT key, min(place) AS place FROM ({both} FROM {table.name}) GROUP BY key"
    table.all(
        f"CREATE TABLE ids AS SELECT key, (row_number() OVER (ORDER BY place) - 1)::INTEGER AS code FROM ({order})"
    )
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
    dropped = table.all("SELECT count(*) FROM links WHERE s IS NULL OR t IS NULL")[0][0]
    if dropped and not drop_dangling:
        raise _dangling(table, ends, dropped)
    if ends.weight is not None:
        _check_weights(table, ends.weight)
    table.all(
        "CREATE TABLE folded AS SELECT least(s, t) AS a, greatest(s, t) AS b, max(w)::FLOAT AS w, count(*) AS n, "
        "count_if(s < t) AS f FROM links WHERE s <> t GROUP BY 1, 2"
    )
    loops = table.all("SELECT count(*) FROM links WHERE s = t")[0][0]
    opposite, duplicates = table.all(
        "SELECT count_if(f > 0 AND f < n), sum(greatest(f - 1, 0) + greatest(n - f - 1, 0)) FROM folded"
    )[0]
    table.all("DROP TABLE links; DROP TABLE {table}")
    adjacency = _adjacency(table, num_nodes, allocate)
    table.all("DROP TABLE folded")
    isolated = int((adjacency.row_pointer.diff() == 0).sum())
    notes = [
        f"edges: directions ignored ({opposite:,} given both ways count once), {int(duplicates or 0):,} duplicates and "
        f"{loops:,} self-loops removed, {isolated:,} nodes isolated"
    ]
    notes += [f"{dropped:,} edges to ids that are no nodes left out"] if dropped else []
    unused = [name for name in table.names if name not in ends]
    shown = ", ".join(unused[:10]) + (", ..." if len(unused) > 10 else "")
    return adjacency, notes + ([f"columns of the edges not used: {shown}"] if unused else [])


def _dangling(table: Table, ends: Ends, count: int) -> UnreadableFileError:
    names = ", ".join(f"e.{table.column(end)}::VARCHAR" for end in ends[:2])
    row, no_source, source, target = table.all(
        f"SELECT e._row, s IS NULL, {names} FROM links JOIN {{table}} e USING (_row) WHERE s IS NULL OR t IS NULL "
        "ORDER BY e._row LIMIT 1"
    )[0]
    end, given = (ends.source, source) if no_source else (ends.target, target)
    return UnreadableFileError(
        f"{table.where} {table.place(row)} names the {end} '{given or ''}', which is no id of a node ({count} such "
        "edges). Add the node, or leave such edges out with --drop-dangling."
    )


def _check_weights(table: Table, weight: str) -> None:
    wrong = f"w IS NULL OR NOT (w >= {_FLOATS.tiny} AND w <= {_FLOATS.max})"
    found = table.all(
        f"SELECT e._row, e.{table.column(weight)}::VARCHAR FROM links JOIN {{table}} e USING (_row) WHERE {wrong} "
        "ORDER BY e._row LIMIT 1"
    )
    if found:
        raise UnreadableFileError(
            f"{table.where} {table.place(found[0][0])} has the weight '{found[0][1] or ''}'; weights must be positive "
            "numbers below 3.4e38. Leave out edges that do not count."
        )


def _adjacency(table: Table, num_nodes: int, allocate: Allocate) -> CSR:
    """Return both directions of the folded edges in order, some rows at a time."""
    degrees = np.zeros(num_nodes, dtype=np.int64)
    for end in "ab":
        nodes, counts = table.arrays(f"SELECT {end}, count(*) FROM folded GROUP BY {end}")
        degrees[nodes] += counts
    total = np.concatenate([[0], degrees.cumsum()])
    index = np.int32 if max(total[-1], num_nodes) < 2**31 - 1 else np.int64
    pointer = allocate("row_pointer", (num_nodes + 1,), index)
    pointer[:] = total
    columns, weights = allocate("columns", (total[-1],), index), allocate("weights", (total[-1],), np.float32)
    first = 0
    while first < num_nodes:
        last = max(first + 1, int(np.searchsorted(total, total[first] + _AT_ONCE, side="right")) - 1)
        inside = " UNION ALL ".join(
            f"SELECT {one} AS r, {other} AS c, w FROM folded WHERE {one} >= {first} AND {one} < {last}"
            for one, other in ("ab", "ba")
        )
        ends, others, values = table.arrays(inside)
        shape = (last - first, num_nodes)
        rows = scipy.sparse.csr_matrix((values, (ends - first, others)), shape=shape, dtype=np.float32)
        rows.sort_indices()
        columns[total[first] : total[last]], weights[total[first] : total[last]] = rows.indices, rows.data
        first = last
    return CSR(*map(torch.from_numpy, (pointer, columns, weights)), (num_nodes, num_nodes))
