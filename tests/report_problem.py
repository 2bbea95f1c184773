"""Fitted runs for the tests of the report: a small one with awkward names, and a large one."""

import copy
import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import quietgraph as qg
from quietgraph.bench.protocol import score
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.observation import Observation, Reference
from quietgraph.data.splits import Split
from quietgraph.report.fit_run import FitRun
from quietgraph.rng import numpy_generator

AWKWARD = (
    "</script><script>alert(1)</script>",
    'a "quoted", id',
    "semi;colon",
    "it's <b>&amp;</b>",
)
CLASSES = ("</script>", "big, red", "snö\u2028☃")


def own_run(folder: Path, *, nodes: int = 120) -> FitRun:
    """Return a fit on a graph of three classes whose ids and labels try to break out of the page.

    A fifth of the 80 given labels is wrong.
    """
    draws = numpy_generator(0, "report")
    problem = qg.block_model(nodes, num_classes=3, homophily=0.9, signal=2.0, generator=draws)
    labels = problem.classes.copy()
    labels[0:80:5] = (labels[0:80:5] + 1) % 3
    ids = [f"{AWKWARD[place % 4]} {place}" for place in range(nodes)]
    features = problem.graph.features.numpy()[:, :3]
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        [ids[place], *features[place], CLASSES[labels[place]] if place < 80 else ""]
        for place in range(nodes)
    ]
    _write(folder / "nodes.csv", ["id", "a", "b", "c", "label"], rows)
    pairs = [(ids[a], ids[b]) for a, b in problem.graph.edge_index.T.tolist()]
    _write(folder / "edges.csv", ["source", "target"], pairs)
    return _fitted(qg.load(folder), None, str(folder), NoiseSetting(), epochs=30)


def wide_run(folder: Path, *, nodes: int = 1_500, classes: int = 150) -> FitRun:
    """Return a fit on a graph of many classes, each node with a text of 10,000 characters."""
    draws = numpy_generator(0, "wide report")
    problem = qg.block_model(nodes, num_classes=classes, homophily=0.9, generator=draws)
    names = [f"kind {code:03d} of something with a long name" for code in range(classes)]
    labels = problem.classes.copy()
    labels[::7] = (labels[::7] + 1) % classes
    words = [f"word{code}" for code in range(classes)]
    rows = []
    for place in range(nodes):
        text = f"{words[problem.classes[place]]} and more. " * 600
        known = names[labels[place]] if place % 10 < 8 else ""
        rows.append([f"item-{place}", f"Title of item {place}", text[:10_000], known])
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "nodes.csv", ["id", "title", "text", "label"], rows)
    pairs = [(f"item-{a}", f"item-{b}") for a, b in problem.graph.edge_index.T.tolist()]
    _write(folder / "edges.csv", ["source", "target"], pairs)
    return _fitted(qg.load(folder), None, str(folder), NoiseSetting(), epochs=60)


def large_run(nodes: int = 20_000) -> FitRun:
    """Return a fit on a graph of ten classes with half of the labels given, two fifths wrong."""
    problem = qg.block_model(nodes, num_classes=10, generator=numpy_generator(0, "large report"))
    place = np.arange(nodes)
    parts = (torch.from_numpy(mask) for mask in (place % 10 < 4, place % 10 == 4, place % 10 > 4))
    clean = torch.from_numpy(problem.classes)
    split = Split(*parts)
    codes = torch.where(split.labelled, clean, -1)
    data = Observation("large", problem.graph, codes, np.arange(10), split)
    setting = parse_noise("symmetric:0.4")
    reference = Reference(problem.graph, clean)
    noisy = apply_noise(data, setting, seed=0)
    return _fitted(noisy, reference, "large", setting, epochs=2)


def _fitted(
    data: Observation, reference: Reference | None, source: str, noise: NoiseSetting, *, epochs: int
) -> FitRun:
    model = qg.get_method("gcn")(epochs=epochs, hidden=16).fit(data)
    model.suspects()
    metrics = {} if reference is None else score(model, data, reference)
    command = f"quietgraph fit {source}"
    return FitRun(source, noise, model, data, reference, metrics, {}, command)


def _write(path: Path, header: list[str], rows: list) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def distrusted(run: FitRun) -> FitRun:
    """Return a run as it would be if the verdict on it were `do not trust`."""
    model = copy.copy(run.model)
    assert model.quality_ is not None
    model.quality_ = replace(model.quality_, verdict="do not trust")
    return replace(run, model=model)
