"""Reads mutated files in a process of its own, and prints what went wrong as JSON lines.

Called with the number of cases of each format, the first case, and perhaps formats.
"""

import gc
import json
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz.asked import ASKED
from fuzz.hostile import HOSTILE
from fuzz.mutate import mutate_file
from fuzz.seeds import SEEDS
from fuzz.stored import STORED
from quietgraph.errors import QuietgraphError
from quietgraph.graph import CSR
from quietgraph.graph.io import ReadGraph
from quietgraph.graph.io.convert import convert_graph

SECONDS = 10
MEGABYTES = 200
TIMES_THE_FILE = 20


def main(cases: int, first: int, only: Collection[str]) -> None:
    """Run all cases and print every finding."""
    known = json.loads((Path(__file__).parent / "found.json").read_text())  # went wrong once
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        gc.freeze()  # what the libraries hold need not be looked through in every case
        if not only or "hostile" in only:
            for name, write in HOSTILE.items():
                target = fresh(folder / "case")
                source = write(target)
                report("hostile", name, run(lambda one=source: read_both(one), target))
        for place, (form, (write, read)) in enumerate((SEEDS | STORED | ASKED).items()):
            if only and form not in only:
                continue
            seed = fresh(folder / f"seed{place}")
            source = write(seed)
            read(source)  # warms up, and must work
            gc.freeze()
            for case in (*known.get(form, ()), *range(first, first + cases)):
                report(form, case, one_case(form, case, (seed, source, folder), read))
    print(json.dumps({"done": True}), flush=True)


def one_case(form: str, case: int, paths: tuple[Path, Path, Path], read: Any) -> str | None:
    """Return what went wrong with one mutated file."""
    seed, source, folder = paths
    target = folder / "case"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(seed, target)
    changed = target / source.relative_to(seed)
    draws = np.random.default_rng([zlib.crc32(form.encode()), case])
    files = sorted(path for path in changed.rglob("*") if path.is_file()) or [changed]
    mutate_file(files[int(draws.integers(len(files)))], draws)
    is_graph = form in SEEDS and form not in {"encoding", "corrections"}
    both = is_graph and bool(draws.integers(2))
    return run(lambda: read_both(changed) if both else check(read(changed)), target)


def read_both(source: Path) -> None:
    """Read a source as `fit` does and as `convert` does; the outcome must be the same."""
    outcomes = []
    for way in (lambda: SEEDS["csv"][1](source), lambda: converted(source)):
        gc.collect()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcomes.append(check(way()))
        except QuietgraphError as error:
            outcomes.append(f"{type(error).__name__}: {error}")
    if outcomes[0] != outcomes[1]:
        raise AssertionError(f"fit: {outcomes[0]}; convert: {outcomes[1]}")


def converted(source: Path) -> ReadGraph:
    """Return a graph by way of a converted folder."""
    with tempfile.TemporaryDirectory() as scratch:
        convert_graph(source, Path(scratch) / "mapped")
        return SEEDS["csv"][1](Path(scratch) / "mapped")


def check(read: Any) -> str:
    """Raise where a graph does not keep its promises; return its fingerprint."""
    if not isinstance(read, ReadGraph):
        return ""
    graph = read.graph
    dense = graph.features.values if isinstance(graph.features, CSR) else graph.features
    assert torch.isfinite(dense).all(), "features are not finite"
    assert tuple(graph.features.shape) == (graph.num_nodes, graph.num_features)
    assert len(read.labels) == len(read.node_ids) == graph.num_nodes, "lengths differ"
    assert all(label is None or isinstance(label, str | int) for label in read.labels)
    matrix = graph.adjacency.to_scipy()
    matrix.check_format(full_check=True)
    assert np.isfinite(matrix.data).all(), "weights are not finite"
    assert (matrix.data > 0).all(), "weights are not positive"
    assert not matrix.diagonal().any(), "self-loops"
    assert (matrix != matrix.T).nnz == 0, "not symmetric"
    read.encoding.to_json()
    read.understood.sentences()
    return graph.fingerprint


def run(action: Callable[[], Any], folder: Path) -> str | None:
    """Return what went wrong: another error than ours, too long, too much memory."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    gc.collect()
    before = reset_peak()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of computing: the machine may be shared
    signal.alarm(30 * SECONDS)
    wrong = None
    try:
        action()
    except QuietgraphError as error:
        if len(str(error)) > 20_000:
            wrong = f"a message of {len(str(error))} characters"
    except _TooLong:
        wrong = f"took more than {SECONDS} seconds"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        wrong = f"{type(error).__name__}: {str(error)[:300]} ({place})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    grown = (peak() - before) / 1e6
    if wrong is None and grown > MEGABYTES + TIMES_THE_FILE * size / 1e6:
        wrong = f"took {grown:.0f} MB for a file of {size / 1e6:.3f} MB"
    return wrong


def reset_peak() -> int:
    """Forget the peak of the memory, where the system can; return the memory in use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return memory("VmRSS")


def peak() -> int:
    """Return the peak of the memory in bytes."""
    return memory("VmHWM") or 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory(name: str) -> int:
    """Return a line of the process's own status in bytes; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def report(form: str, case: Any, wrong: str | None) -> None:
    """Print a finding."""
    if wrong is not None:
        print(json.dumps({"format": form, "case": case, "wrong": wrong}), flush=True)


def fresh(folder: Path) -> Path:
    """Return an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


class _TooLong(BaseException):
    """Time is up; no error that anybody else would catch."""


def _too_long(*_: Any) -> None:
    raise _TooLong


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGPROF, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
