"""All commands, imported so that each registers itself."""

from quietgraph.cli import bench, bench_table, diagnose, fit, listings, paper, predict, tune

__all__ = ["bench", "bench_table", "diagnose", "fit", "listings", "paper", "predict", "tune"]
