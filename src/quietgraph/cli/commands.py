"""All commands, imported so that each registers itself."""

from quietgraph.cli import bench, fit, listings, predict

__all__ = ["bench", "fit", "listings", "predict"]
