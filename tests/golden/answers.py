"""Answers of every method on fixed problems, to be compared with those of another version.

Write them anew with: python tests/golden/answers.py [PROBLEM ...] [--methods a,b]
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import quietgraph as qg

FILE = Path(__file__).with_name("answers.json")
PROBLEMS = ("block", "digits", "cora")  # `block` trains for a few epochs only
SEEDS = (0, 1)
_QUICK = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16, "steps": 6}


def make_problem(name: str, seed: int) -> tuple[Any, Any, Any]:
    """Return graph, labels of which three in ten are wrong, and the validation mask."""
    if name == "block":
        draws = np.random.default_rng(seed)
        drawn = qg.block_model(300, num_classes=3, num_features=12, generator=draws)
        labels = np.where(np.arange(300) < 120, drawn.classes, -1)
        return drawn.graph, _flip(labels, 3, seed), np.arange(300) % 2 == 0
    data = qg.load(name, seed=seed)
    labels = np.array([-1 if label is None else int(label) for label in data.labels])
    return data.graph, _flip(labels, int(labels.max()) + 1, seed), np.asarray(data.split.validation)


def answer(method: str, problem: str, seed: int) -> dict[str, Any]:
    """Return hashes and a short numeric summary of one fit."""
    graph, labels, validation = make_problem(problem, seed)
    model = qg.get_method(method)(seed=seed)
    if problem == "block":
        known = model.get_params()
        model.set_params(**{name: value for name, value in _QUICK.items() if name in known})
    model.fit(graph, labels, validation)
    predictions = model.predict().astype(np.int64)
    embeddings = np.asarray(model.embeddings_, dtype=np.float32)
    return {
        "predictions": _digest(predictions),
        "embeddings": _digest(embeddings),
        "classes": np.bincount(predictions).tolist(),
        "norm": float(np.linalg.norm(embeddings.astype(np.float64))),
    }


def read_answers() -> dict[str, dict[str, Any]]:
    """Return the stored answers by `method/problem/seed`."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def _flip(labels: np.ndarray, num_classes: int, seed: int) -> np.ndarray:
    draws = np.random.default_rng([seed, 7])
    wrong = (labels >= 0) & (draws.random(len(labels)) < 0.3)
    shift = draws.integers(1, num_classes, len(labels))
    return np.where(wrong, (labels + shift) % num_classes, labels)


def _digest(array: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--methods", default="")
    parser.add_argument("--missing", action="store_true", help="only what is not stored yet")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    methods = chosen.methods.split(",") if chosen.methods else list(qg.METHODS)
    for problem in chosen.problems:
        for method in methods:
            for seed in SEEDS:
                answers = read_answers()
                key = f"{method}/{problem}/{seed}"
                if chosen.missing and key in answers:
                    continue
                answers[key] = answer(method, problem, seed)
                lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(answers.items())]
                FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
                print(key, flush=True)


if __name__ == "__main__":
    _main()
