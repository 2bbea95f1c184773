"""Runs on a Ray cluster: the batches of local workers, each a task of one CPU."""

from collections.abc import Iterator, Sequence

import cloudpickle

from quietgraph.bench.execute import Row, Run
from quietgraph.errors import QuietgraphError


def carry_out(batches: Sequence[list[Run]], *, address: str, time_limit: float | None) -> Iterator[Row]:
    """Give the rows of each batch as it finishes; closing the iterator cancels the tasks.

    The machines need this version of quietgraph and, under the same paths, the data. The address `local` starts a
    cluster on this machine.
    """
    try:
        import ray

        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    except ImportError as error:
        raise QuietgraphError("Ray is not installed. Install it with: pip install 'quietgraph[ray]'") from error
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise QuietgraphError(
            f"no Ray cluster answers at '{address}' ({error}). Start one with `ray start --head`, or leave --ray out."
        ) from error
    task = ray.remote(num_cpus=1, max_retries=0)(_task)
    left = {task.remote(cloudpickle.dumps(runs), time_limit): runs for runs in batches}
    try:
        while left:
            (done,), _ = ray.wait(list(left), num_returns=1)
            runs = left.pop(done)
            try:
                yield from ray.get(done)
            except ray.exceptions.RayError as error:
                yield from (run.row("failed", reason=f"the task ended: {error}") for run in runs)
    finally:
        for open_task in left:
            ray.cancel(open_task, force=True)


def _task(batch: bytes, time_limit: float | None) -> list[Row]:
    from quietgraph.bench import workers  # on the machine that carries it out

    return list(workers.carry_out([cloudpickle.loads(batch)], jobs=1, time_limit=time_limit))
