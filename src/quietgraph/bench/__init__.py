"""Benchmarks: grids of runs, their tables and comparisons."""

from quietgraph.bench.execute import PAPER, PROTOCOLS, SAME_LABELS, cross_validate
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.statistics import compare, ranks, summary
from quietgraph.bench.store import keep_runs, read_runs
from quietgraph.bench.tables import table, to_text
from quietgraph.bench.tune import tune

__all__ = ["PAPER", "PROTOCOLS", "SAME_LABELS", "Grid"]
__all__ += ["compare", "cross_validate", "keep_runs", "parse_seeds", "ranks", "read_runs", "summary", "table"]
__all__ += ["to_text", "tune"]
