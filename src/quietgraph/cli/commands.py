"""All commands, imported so that each registers itself."""

from quietgraph.cli import (
    bench,
    bench_table,
    convert,
    diagnose,
    fit,
    listings,
    paper,
    predict,
    review,
    tune,
)

__all__ = [
    "bench",
    "bench_table",
    "convert",
    "diagnose",
    "fit",
    "listings",
    "paper",
    "predict",
    "review",
    "tune",
]
