"""Runs on a Ray cluster: the same batches as those of local workers, one task of one CPU each."""

from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle

from quietgraph.bench.execute import Row, Run
from quietgraph.errors import QuietgraphError


class UnreachableClusterError(QuietgraphError):
    """No Ray cluster can be used under the given address."""


def carry_out(batches: Sequence[list[Run]], *, address: str, time_limit: float | None) -> Iterator[Row]:
    """Give a row for each run of the batches as it finishes; closing the iterator cancels the tasks.

    The machines need this version of quietgraph and, under the same paths, the data.

    Args:
        batches: Runs that share embeddings.
        address: Of the cluster; `local` starts one on this machine.
        time_limit: Seconds a run may take.
    """
    try:
        import ray
    except ImportError as error:
        raise UnreachableClusterError("Ray is not installed. Install it with: pip install 'quietgraph[ray]'") from error
    try:
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UnreachableClusterError(
            f"no Ray cluster answers at '{address}' ({error}). Start one with `ray start --head`, or leave --ray out."
        ) from error
    task = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_task)
    open_runs = {task.remote(cloudpickle.dumps((runs, time_limit))): list(runs) for runs in batches}
    try:
        while open_runs:
            ready, _ = ray.wait(list(open_runs), num_returns=1, fetch_local=False)
            for stream in ready:
                yield from _received(ray, stream, open_runs)
    finally:
        for stream in open_runs:
            ray.cancel(stream, force=True)


def _received(ray: Any, stream: Any, open_runs: dict[Any, list[Run]]) -> Iterator[Row]:
    """Give the next row of a task; the rows of all its runs that are open where the task has died."""
    runs = open_runs[stream]
    try:
        yield ray.get(next(stream))
        runs.pop(0)
    except (ray.exceptions.RayError, StopIteration) as error:
        yield from (run.row("failed", reason=f"the task ended: {' '.join(str(error).split())}") for run in runs)
        runs.clear()
    if not runs:
        del open_runs[stream]


def _task(batch: bytes) -> Iterator[Row]:
    from quietgraph.bench.workers import carry_out as carry_out_here

    runs, time_limit = cloudpickle.loads(batch)
    yield from carry_out_here([runs], jobs=1, time_limit=time_limit)
