"""What a benchmark runs: datasets x methods x noise x seeds, carried out into a file."""

import contextlib
import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import cloudpickle
import pandas as pd
from sklearn.base import clone
from torch import Tensor

from quietgraph.bench.execute import CONTROL, MEASURES, PROTOCOLS, SAME_LABELS, Run
from quietgraph.bench.store import KEY, append_run, read_runs
from quietgraph.bench.workers import carry_out
from quietgraph.data.data import Data
from quietgraph.data.datasets import DATASETS, load_benchmark
from quietgraph.data.load import load
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.published import for_dataset
from quietgraph.methods.registry import METHODS, method_name
from quietgraph.params import parse_assignments
from quietgraph.rng import LARGEST_SEED

DatasetLike: TypeAlias = str | Path | Data
MethodLike: TypeAlias = str | NodeClassifier | type[NodeClassifier]


@dataclass(frozen=True, eq=False)
class Grid:
    """Runs of every method on every dataset under every noise setting and seed.

    Attributes:
        datasets: Names, folders, or `Data` of one's own, whose labels are taken as true and split 60/20/20 per seed.
        methods: Texts (`gcn`, `gcn:hidden=64`, `file.py:Class`), estimators or classes, also those of a notebook.
        noise: Settings, such as `symmetric:0.4`.
        seeds: Each draws split, noise and start of the method.
        split: Of datasets by name; `default` is their own.
        protocol: `same labels`: all labels teach and a method holds out itself what it needs to choose by; `paper`:
            training labels teach, validation labels choose.
        measures: What is recorded beside accuracy: `assess`, `folds`, `theory`.
    """

    datasets: DatasetLike | Sequence[DatasetLike]
    methods: MethodLike | Sequence[MethodLike]
    noise: str | Sequence[str] = "none"
    seeds: Iterable[int] = range(10)
    split: str = "default"
    protocol: str = SAME_LABELS
    measures: Sequence[str] = ()

    def runs(self) -> list[Run]:
        """Return every run once; datasets are read and noise settings parsed, so mistakes are reported here."""
        asked = [
            ("protocol", self.protocol, PROTOCOLS),
            *(("measure", name, tuple(MEASURES)) for name in self.measures),
        ]
        for kind, name, known in asked:
            if name not in known:
                raise UnknownNameError(kind, name, known)
        seeds, noises = list(self.seeds), [str(parse_noise(text)) for text in _several(self.noise)]
        runs: dict[object, Run] = {}
        for given in _several(self.datasets):
            name, digest, own = self._dataset(given, seeds[0] if seeds else 0)
            methods = [method_of(method, name) for method in _several(self.methods)]
            for (text, model), noise, seed in product(methods, noises, seeds):
                key = (name, digest, noise, text, _settings(model), seed, self.split, self.protocol)
                runs.setdefault(key, Run(*key, model, own, tuple(self.measures)))
        if not runs:
            raise InvalidParameterError("the grid is empty. Name at least one dataset, method, noise setting and seed.")
        return list(runs.values())

    def run(
        self,
        path: str | Path,
        *,
        jobs: int = 1,
        time_limit: float | None = None,
        ray: str | None = None,
        on_run: Callable[[int, int], Any] | None = None,
    ) -> pd.DataFrame:
        """Carry out what the file lacks and return all runs of the grid, one row each.

        Each finished run is appended at once; started again, a sweep goes on where it was stopped, and failures are
        tried again. One sweep writes to a file at a time.

        Args:
            path: JSON Lines file of the rows.
            jobs: Worker processes of one thread each.
            time_limit: Seconds a run may take.
            ray: Address of a Ray cluster that carries out the runs instead; `local` starts one.
            on_run: Called with the finished and all runs, at the start and after each run.
        """
        runs, batches = self.runs(), dict[object, list[Run]]()
        done, tell = _finished(path, self.measures), on_run or (lambda *_: None)
        for run in runs:
            if run.key not in done:
                batches.setdefault(run.group, []).append(run)
        over = len(runs) - sum(map(len, batches.values()))
        tell(over, len(runs))
        work: Any = partial(carry_out, jobs=jobs)
        if ray is not None and batches:
            from quietgraph.bench.ray import carry_out as carry_out_on_ray

            work = partial(carry_out_on_ray, address=ray)
        for number, row in enumerate(work(list(batches.values()), time_limit=time_limit), start=over + 1):
            append_run(path, row)
            tell(number, len(runs))
        return read_runs(path).set_index(list(KEY), drop=False).loc[[run.key for run in runs]].reset_index(drop=True)

    def _dataset(self, given: DatasetLike, seed: int) -> tuple[str, str, Data | None]:
        """Return the name of a dataset, the digest of graph and true labels, and one's own data."""
        if isinstance(given, str) and given in DATASETS:
            split = None if self.split == "default" else self.split
            _, truth = load_benchmark(given, seed=seed, split=split)
            return given, fingerprint(truth.graph, truth.codes), None
        if isinstance(given, str) and not Path(given).exists():
            raise UnknownNameError("dataset or folder", given, DATASETS)
        own = given if isinstance(given, Data) else load(given)
        return own.name, fingerprint(own.graph, own.codes), own


def parse_seeds(text: str) -> list[int]:
    """Return draws from a range ("1000-1009"), a list ("3,5") or one number ("9100"), which is that draw alone."""
    try:
        parts = [part.partition("-") for part in text.split(",")]
        spans = [range(int(first), int(last if dash else first) + 1) for first, dash, last in parts]
        seeds = [seed for span in spans for seed in span]
    except ValueError:
        seeds = []
    if not seeds or max(seeds) > LARGEST_SEED:
        raise InvalidParameterError(f"seeds must be draws such as 9100, 0-9 (ten of them) or 3,5, got '{text}'.")
    return seeds


def method_of(given: MethodLike, dataset: str = "") -> tuple[str, NodeClassifier]:
    """Return text and unfitted estimator of a method.

    Args:
        given: Text, class or estimator; an estimator keeps its parameters.
        dataset: Whose published settings a method by name starts from.
    """
    if isinstance(given, NodeClassifier):
        model = clone(given)
        usual = _parameters(type(model)())
        changed = [f"{name}={value}" for name, value in _parameters(model).items() if value != usual[name]]
        return ":".join([method_name(type(model)), *changed]), model
    if not isinstance(given, str):
        return method_of(given(), dataset)
    name, *pairs = given.split(":")
    is_file = name.endswith(".py")
    method = _class_of_file(name, pairs.pop(0) if pairs else "") if is_file else METHODS[name]
    own = [pair for pair in pairs if pair != CONTROL]
    if not all("=" in pair for pair in own):
        raise InvalidParameterError(f"a method is written name:key=value:key=value, got '{given}'.")
    values = parse_assignments(method, dict(pair.split("=", 1) for pair in own))
    return ":".join([method_name(method) if is_file else name, *pairs]), for_dataset(method, dataset, **values)


def fingerprint(graph: Graph, codes: Tensor) -> str:
    """Return a digest of features, edges and labels."""
    digest = hashlib.blake2b(digest_size=4)
    for matrix in (graph.features, graph.adjacency, codes):
        for part in [matrix.row_pointer, matrix.columns, matrix.values] if isinstance(matrix, CSR) else [matrix]:
            digest.update(part.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _finished(path: str | Path, measures: Sequence[str]) -> set[tuple[object, ...]]:
    """Return the keys of the runs in a file that are done with these measures."""
    if not Path(path).exists():
        return set()
    frame = read_runs(path)
    done = frame[frame["status"] == "done"]
    has_all = [set(measures) <= set(text.split()) for text in done["measures"]]
    return set(done.loc[has_all, list(KEY)].itertuples(index=False, name=None))


def _parameters(model: NodeClassifier) -> dict[str, Any]:
    return {name: value for name, value in model.get_params().items() if name not in {"seed", "device"}}


def _settings(model: NodeClassifier) -> str:
    """Return a digest of all parameters, the revision, and the file of a method that is not ours."""
    facts, method = [_parameters(model), model.revision], type(model)
    if not method.__module__.startswith("quietgraph."):
        whole = method if method.__module__ == "__main__" else sys.modules[method.__module__]
        with contextlib.suppress(OSError, TypeError):  # typed at a prompt
            facts.append(inspect.getsource(whole))
    return hashlib.blake2b(json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=4).hexdigest()


def _class_of_file(path: str, name: str) -> type[NodeClassifier]:
    """Return a method's class from a Python file; workers get it by value."""
    file = Path(path).resolve()
    if not file.is_file():
        raise UnreadableFileError(f"there is no Python file {path}. Write FILE.py:CLASS.")
    spec: Any = importlib.util.spec_from_file_location(file.stem, file)
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    known = {key: one for key, one in vars(module).items() if isinstance(one, type) and issubclass(one, NodeClassifier)}
    if name not in known:
        raise UnknownNameError(f"method class in {path}", name, known)
    return known[name]


def _several(given: Any) -> list[Any]:
    """Return what was given as a list; one of something is a list of one."""
    return [given] if isinstance(given, str | Path | Data | NodeClassifier | type) else list(given)
