"""How large a fit is done: in partitions, by several processes, with checkpoints."""

import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.markup import escape
from threadpoolctl import threadpool_limits

from quietgraph.bench.engines.worker import end_with_parent
from quietgraph.cli.console import hushed, say
from quietgraph.embed.scale.checkpoint import Checkpoints
from quietgraph.embed.scale.distributed import ALONE, World, join_world
from quietgraph.embed.scale.partitions import count_per_step, describe_partitions
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods import NodeClassifier
from quietgraph.methods.low_rank.contrast import LowRankContrast
from quietgraph.methods.low_rank.graph_settings import is_dense
from quietgraph.methods.quiet.quiet import Quiet
from quietgraph.params import parameters
from quietgraph.report.run_files import RUN_FILE

_RESTARTS = 3  # after a worker has died


def use_threads(count: int | None) -> None:
    """Compute with so many threads, in torch and in the libraries below numpy; None: as it is."""
    if count is not None:
        torch.set_num_threads(count)
        threadpool_limits(count)


def newer_of(partitions: str, parts: str | None) -> str:
    """Return --partitions, or what its old name --parts says, with a FutureWarning."""
    if parts is None:
        return partitions
    warnings.warn(
        "--parts is now called --partitions; the old name will be removed in the next release.",
        FutureWarning,
        stacklevel=2,
    )
    return parts


def set_partitions(model: NodeClassifier, text: str) -> None:
    """Set the partitions that a method trains in, as the command line gives them."""
    if text == "auto":
        return
    if "partitions" not in parameters(type(model)):
        raise InvalidParameterError(
            f"--partitions does not apply to {type(model).__name__}, which trains on the whole "
            "graph."
        )
    if not text.isdecimal() or int(text) == 0:
        raise InvalidParameterError(f"--partitions must be auto or a number from 1, got '{text}'.")
    model.set_params(partitions=int(text))


def say_partitions(model: NodeClassifier, graph: Graph, world: World) -> None:
    """Tell how the graph is trained on, where the method has a choice."""
    if isinstance(model, Quiet) and not model.learns_embeddings(graph):
        near = f" on a graph of {_degree(graph):.0f} neighbours a node with similar attributes"
        why = near if model.encoder is None else ""
        say(f"no encoder is trained: smoothed attributes are used alone{why}")
        return
    wanted = getattr(model, "partitions", None)
    if wanted is not None:
        per_step = count_per_step(getattr(model, "partitions_per_step", 1), world)
        way = getattr(model, "partitioner", "auto")
        say(describe_partitions(graph, wanted, per_step=per_step, partitioner=way))
    if isinstance(model, Quiet) and model.encoder is None and is_dense(graph):
        say(
            f"the graph has {_degree(graph):.0f} neighbours a node with different attributes: "
            "validation labels decide whether embeddings are used"
        )


def _degree(graph: Graph) -> float:
    return 2 * graph.num_edges / max(graph.num_nodes, 1)


@contextmanager
def enter_world(distributed: bool, model: NodeClassifier, *, alone: bool) -> Iterator[World]:
    """Join the processes that train together; a world of one without --distributed.

    Args:
        distributed: Whether torchrun started this process.
        model: What is fitted.
        alone: Whether it is all that is fitted, and once.
    """
    if not distributed:
        yield ALONE
        return
    if not isinstance(model, LowRankContrast | Quiet):
        raise InvalidParameterError(
            "several processes train quiet, gcl-lrr or gcl-lr-attention, not "
            f"{type(model).__name__}. Leave out --workers and --distributed."
        )
    if not alone:
        raise InvalidParameterError(
            "several processes fit one method once. Leave out --beside and --drop-suspects."
        )
    with join_world() as world, hushed(not world.is_first):
        yield world


def was_written(folder: Path | None) -> bool:
    """Whether processes that torchrun has started again find the run of those before them."""
    restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    return restarts > 0 and folder is not None and (folder / RUN_FILE).is_file()


def checkpoints_for(
    run: Path, folder: Path | None, minutes: float, world: World, *, alone: bool
) -> Checkpoints | None:
    """Return the checkpoints of a run: where asked for, and always with several processes."""
    if folder is None and world.size == 1:
        return None
    if not alone:
        raise InvalidParameterError(
            "a checkpoint is of one training. Leave out --beside and --drop-suspects, or "
            "--checkpoint."
        )
    found = Checkpoints(folder or run.with_name(f"{run.name}.checkpoint"), minutes)
    if found.has_one and world.is_first:
        say(f"continuing from the checkpoint in {found.folder}")
    return found


def launch_workers(count: int) -> int:
    """Run this very command in several processes of this machine; return the exit code.

    A worker that dies takes the others with it, and all start again from the last checkpoint.
    """
    from torch.distributed.elastic.multiprocessing import (  # noqa: PLC0415  (slow)
        DefaultLogsSpecs,
        SignalException,
    )
    from torch.distributed.elastic.multiprocessing.errors import (  # noqa: PLC0415
        ChildFailedError,
    )
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch  # noqa: PLC0415

    logs = tempfile.TemporaryDirectory(prefix="quietgraph-workers-")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        run_id=f"quietgraph-{count}",
        max_restarts=_RESTARTS,
        monitor_interval=0.5,
        start_method="spawn",
        logs_specs=DefaultLogsSpecs(log_dir=logs.name),
    )
    threads = max(1, torch.get_num_threads() // count)
    try:
        arguments = _worker_arguments(sys.argv[1:])
        with logs:
            codes: dict[int, int] = elastic_launch(config, work)(arguments, threads)
    except SignalException as error:  # Ctrl-C or SIGTERM: the launcher has ended its workers
        say("stopped.")
        return 128 + int(error.sigval)
    except ChildFailedError as error:
        first = escape(str(error.get_first_failure()[1]))  # it may hold brackets
        say(f"[red]error:[/] a worker failed {_RESTARTS + 1} times: {first}")
        return 1
    return max(codes.values())


def work(arguments: list[str], threads: int) -> int:
    """Carry out the command in one worker; a user's mistake is an exit code, not a failure."""
    from quietgraph.cli.app import main  # noqa: PLC0415  (a fresh process)

    end_with_parent()
    torch.set_num_threads(threads)
    sys.argv = ["quietgraph", *arguments]
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if code not in {0, 2}:
            raise
        return code
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # only to end is left, and its parent may die
    return 0


def _worker_arguments(arguments: list[str]) -> list[str]:
    """Return the arguments of a worker: without --workers, with --distributed."""
    kept, skip = [], False
    for one in arguments:
        if not skip and one != "--workers" and not one.startswith("--workers="):
            kept.append(one)
        skip = one == "--workers" and not skip
    return [*kept, "--distributed"]
