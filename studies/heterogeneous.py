"""What folding a heterogeneous graph is worth: accuracy on generated papers, authors and venues.

Usage: python studies/heterogeneous.py [draws]
"""

import sys
from typing import Any

import numpy as np
import torch
from torch_geometric.data import HeteroData

import quietgraph as qg

CLASSES, PAPERS, AUTHORS, VENUES = 4, 1000, 400, 20
LABELLED, VALIDATION, WRONG = 80, 80, 0.3


def papers(draws: np.random.Generator) -> tuple[HeteroData, np.ndarray[Any, Any]]:
    """Draw papers with weak features, few citations, three authors of mostly their class, a venue.

    Authors have features of their class; 30 % of the labels in both masks are wrong.
    """
    of_paper = draws.permutation(np.arange(PAPERS) % CLASSES)
    data = HeteroData()
    means = draws.standard_normal((CLASSES, 16))
    weak = 0.25 * means[of_paper] + draws.standard_normal((PAPERS, 16))
    data["paper"].x = torch.from_numpy(weak).float()
    for kind, count, each, pure in (("author", AUTHORS, 3, 0.8), ("venue", VENUES, 1, 0.6)):
        of_kind = np.arange(count) % CLASSES
        wanted = np.repeat(of_paper, each)
        other = draws.integers(CLASSES, size=len(wanted))
        wanted = np.where(draws.random(len(wanted)) < pure, wanted, other)
        ends = draws.integers(count // CLASSES, size=len(wanted)) * CLASSES + wanted
        pairs = np.vstack([np.repeat(np.arange(PAPERS), each), ends])
        data["paper", kind].edge_index = torch.from_numpy(pairs)
        if kind == "author":
            rows = 0.5 * means[of_kind][:, :8] + draws.standard_normal((count, 8))
            data[kind].x = torch.from_numpy(rows).float()
        else:
            data[kind].num_nodes = count
    sources, targets = draws.integers(PAPERS, size=(2, PAPERS))
    kept = of_paper[sources] == of_paper[targets]
    kept |= draws.random(len(kept)) < 0.3
    data["paper", "cites", "paper"].edge_index = torch.from_numpy(
        np.vstack([sources[kept], targets[kept]])
    )
    order = draws.permutation(PAPERS)
    labels, marked = of_paper.copy(), order[: LABELLED + VALIDATION]
    wrong = marked[draws.random(len(marked)) < WRONG]
    labels[wrong] = (labels[wrong] + draws.integers(1, CLASSES, size=len(wrong))) % CLASSES
    data["paper"].y = torch.from_numpy(labels)
    for name, nodes in (("train", order[:LABELLED]), ("val", marked[LABELLED:])):
        mask = torch.zeros(PAPERS, dtype=torch.bool)
        mask[nodes] = True
        data["paper"][f"{name}_mask"] = mask
    truth = of_paper.copy()
    truth[marked] = -1  # only nodes whose labels nothing has seen are scored
    return data, truth


def without_other_types(data: HeteroData) -> HeteroData:
    """Return papers and citations alone."""
    alone = HeteroData()
    alone["paper"].update(data["paper"]._mapping)
    alone["paper", "cites", "paper"].edge_index = data["paper", "cites", "paper"].edge_index
    return alone


def without_other_features(data: HeteroData) -> HeteroData:
    """Return all relations, but the features of papers alone."""
    bare = data.clone()
    bare["author"].num_nodes = AUTHORS
    del bare["author"].x
    return bare


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    cases = {
        "papers and citations alone": without_other_types,
        "and meta-paths": without_other_features,
        "and features of authors": lambda data: data,
    }
    for method in (qg.GCN, qg.Quiet):
        for name, choose in cases.items():
            found = []
            for seed in range(count):
                data, truth = papers(np.random.default_rng(seed))
                model = method(seed=seed).fit(choose(data))
                found.append(100 * model.score(None, truth))
            spread = np.std(found, ddof=1) if count > 1 else 0.0
            print(f"{method.__name__:6} {name:28} {np.mean(found):.1f} +- {spread:.1f}")


if __name__ == "__main__":
    main()
