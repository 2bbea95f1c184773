"""Embeddings that runs share, and which of them are there."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from quietgraph.bench.grid import embedding_group
from quietgraph.bench.protocol import Run
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph
from quietgraph.methods import EmbeddingCache
from quietgraph.methods.base.two_stage import embedding_key

Group: TypeAlias = tuple[str, float, int]  # what they depend on, attribute noise, seed


def learned_groups(
    missing: Iterable[Run], finished: Iterable[Run], *, cache: str | None
) -> set[Group]:
    """Return the embeddings that are there for missing runs.

    They are looked up in the cache, whichever command left them. Attribute noise makes a graph of
    its own for every draw; its embeddings are taken to be there after a finished run of the sweep.
    """
    if cache is None or not has_files(cache):
        return set()
    folder, graphs = EmbeddingCache(Path(cache)), {}
    found = {
        group
        for run in finished
        if (group := group_of(run)) is not None and has_attribute_noise(run)
    }
    asked = {group: run for run in missing if (group := group_of(run)) is not None}
    for group, run in asked.items():
        if has_attribute_noise(run):
            continue
        if run.dataset not in graphs:
            graphs[run.dataset] = _graph_of(run)
        graph = graphs[run.dataset]
        if graph is None:
            continue
        if folder.has(embedding_key(run.estimator(), graph, run.seed, threads=1)):
            found.add(group)
    return found


def has_attribute_noise(run: Run) -> bool:
    """Whether the attributes of a run are its own."""
    return run.noise.attribute_rate > 0


def _graph_of(run: Run) -> Graph | None:
    """Return the graph of a dataset, None where its files are not here."""
    try:
        return load_benchmark(run.dataset, seed=run.seed, data_root=run.data_root)[0].graph
    except QuietgraphError:
        return None


def has_files(folder: str) -> bool:
    """Whether a folder is there and holds anything."""
    path = Path(folder)
    return path.is_dir() and any(path.iterdir())


def group_of(run: Run) -> Group | None:
    """Return what runs share whose embeddings are the same, None where none are kept."""
    shared = embedding_group(replace(run, noise=NoiseSetting(), seed=0))
    return None if shared is None else (shared, run.noise.attribute_rate, run.seed)
