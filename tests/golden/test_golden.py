"""Predictions of every method on fixed problems: a change of numbers is on purpose, and raises `revision`.

Write them anew after that with: python tests/golden/test_golden.py METHOD ...
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from quietgraph.data.datasets import load_benchmark
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.registry import METHODS
from quietgraph.params import parameters

FILE = Path(__file__).with_name("answers.npz")  # method/revision/problem/seed -> class of every node
QUICK = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16, "steps": 6}  # on `block`
SEEDS = (0, 1)
SHORT = [name for name in METHODS if name != "paper-gcl"]  # takes minutes a fit but on `block`
_FEW = 0.01  # nodes that another processor's rounding may decide otherwise


def problem(name: str, seed: int) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Return graph, labels of which three in ten are wrong, and the validation nodes."""
    if name == "block":
        drawn = block_model(300, num_classes=3, num_features=12, generator=np.random.default_rng(seed))
        graph, labels = drawn.graph, np.where(np.arange(300) < 120, drawn.classes, -1)
        validation = np.arange(300) % 2 == 0
    else:
        data, _ = load_benchmark(name, seed=seed)
        graph, validation = data.graph, data.split.validation.numpy()
        labels = np.where(data.split.labelled, data.codes, -1)
    draws, classes = np.random.default_rng([seed, 7]), labels.max() + 1
    wrong = (labels >= 0) & (draws.random(len(labels)) < 0.3)
    return graph, np.where(wrong, (labels + draws.integers(1, classes, size=len(labels))) % classes, labels), validation


def answer(method: str, name: str, seed: int) -> np.ndarray:
    settings: dict[str, Any] = {"seed": seed}
    if name == "block":
        settings |= {key: value for key, value in QUICK.items() if key in parameters(METHODS[method])}
    return METHODS[method](**settings).fit(*problem(name, seed)).predict().astype(np.uint8)


def check(method: str, name: str) -> None:
    torch.set_num_threads(1)
    answers = np.load(FILE)
    for seed in SEEDS:
        key = f"{method}/{METHODS[method].revision}/{name}/{seed}"
        assert key in answers, f"no answers of {key}: write them by `python tests/golden/test_golden.py {method}`"
        differ = (answer(method, name, seed) != answers[key]).mean()
        assert differ <= _FEW, f"{method} predicts {differ:.1%} of the nodes of {name} otherwise: raise its revision"


@pytest.mark.parametrize("method", METHODS)
def test_answers_on_a_block_model(method: str) -> None:
    check(method, "block")


@pytest.mark.slow
@pytest.mark.parametrize("method", SHORT)
def test_answers_on_digits(method: str) -> None:
    check(method, "digits")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("method", SHORT)
def test_answers_on_cora(method: str) -> None:
    check(method, "cora")


def main(methods: list[str], problems: tuple[str, ...] = ("block", "digits", "cora")) -> None:
    """Write the answers of some methods anew."""
    torch.set_num_threads(1)
    kept = dict(np.load(FILE)) if FILE.exists() else {}
    kept = {key: value for key, value in kept.items() if key.split("/")[0] not in methods}
    for method in methods:
        for name in problems if method in SHORT else ("block",):
            for seed in SEEDS:
                kept[f"{method}/{METHODS[method].revision}/{name}/{seed}"] = answer(method, name, seed)
    np.savez_compressed(FILE, **kept)


if __name__ == "__main__":
    main(sys.argv[1:])
