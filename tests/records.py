"""Records of runs that nobody carried out."""

from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record


def record_of(run: Run, status: str = "done", *, seconds: float = 1.0, **metrics: float) -> Record:
    """Return a record of a run; one that is not done has no metrics."""
    return Record(
        key=run.key(),
        status=status,  # type: ignore[arg-type]
        metrics=metrics if status == "done" else {},
        seconds=seconds,
        peak_memory_mb=1.0,
        started="2025-01-01T00:00:00+00:00",
    )
