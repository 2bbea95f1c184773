"""All commands, imported so that each registers itself."""

from quietgraph.cli import bench, diagnose, fit, listings, predict

__all__ = ["bench", "diagnose", "fit", "listings", "predict"]
