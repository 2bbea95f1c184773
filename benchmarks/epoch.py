"""Processor time of one training epoch beside a floor and other libraries, by turns in one process.

    python benchmarks/epoch.py --graphs cora,pubmed,amazon-photo,100000
    python benchmarks/epoch.py --graphs cora --ways ours,grace

ours     an epoch of `gcl-lrr`: two views, contrast, prototypes, truncated nuclear norm, Adam
floor    three forward and backward passes of its encoder on the same operator
gcn      an epoch of `gcn`, its score on validation nodes included
pyg      the same with PyG's GCNConv
grace    an epoch of PyGCL's GRACE of the same width, where PyGCL is installed (N x N similarities)

Each way is beside its own floor: ours and grace over floor, gcn over pyg. A number is a generated graph of that size.
"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

import quietgraph as qg
from quietgraph.data.data import Data, as_data
from quietgraph.embed.adam import Adam
from quietgraph.embed.contrast import Contrast, Trainer
from quietgraph.embed.encoder import Encoder
from quietgraph.embed.operator import scaled
from quietgraph.embed.partitions import partition_nodes
from quietgraph.graph import CSR, Graph
from quietgraph.methods.gcn import GCNNetwork
from quietgraph.rng import torch_generator

WIDTH, HIDDEN = 256, 64
Epoch = Callable[[], object]


def data_of(name: str) -> Data:
    if not name.isdecimal():
        return qg.load(name)
    drawn = qg.block_model(int(name), num_features=128, mean_degree=10, generator=np.random.default_rng(0))
    return as_data(drawn.graph, np.where(np.arange(int(name)) % 100, -1, drawn.classes))


def ours(data: Data) -> Epoch:
    graph, encoder = data.graph, encoder_of(data.graph)
    parts = partition_nodes(graph, seed=0)
    trainer = Trainer(graph, encoder, Contrast(warm_up=0).on(graph), parts, 0)
    optimiser = Adam([{"params": list(encoder.parameters())}], learning_rate=1e-3)

    def epoch() -> None:
        for _ in parts:
            step(optimiser, lambda: trainer.losses(0)["loss"])

    return epoch


def floor(data: Data) -> Epoch:
    encoder, gradient = encoder_of(data.graph), torch.randn(data.graph.num_nodes, WIDTH)
    return lambda: [encoder(data.graph).backward(gradient) for _ in range(3)]


def gcn(data: Data) -> Epoch:
    network = GCNNetwork(data.graph.num_features, HIDDEN, len(data.classes), dropout=0.5, norm="l1")
    return supervised(
        data, network, lambda groups, rate: Adam(groups, learning_rate=rate), lambda: network(data.graph)[0]
    )


def pyg(data: Data) -> Epoch:
    rows, edges = dense(data.graph, "l1"), data.graph.edge_index
    sizes = ((rows.shape[1], HIDDEN), (HIDDEN, len(data.classes)))
    first, second = (GCNConv(inputs, outputs, cached=True) for inputs, outputs in sizes)
    network = nn.ModuleList([first, second])

    def scores() -> Tensor:
        hidden = first(F.dropout(rows, 0.5, network.training), edges).relu()
        return second(F.dropout(hidden, 0.5, network.training), edges)

    return supervised(data, network, torch.optim.Adam, scores)


def grace(data: Data) -> Epoch:
    for name in ("dgl", "torch_sparse", "torch_scatter"):  # PyGCL imports them; GRACE needs none of them
        sys.modules.setdefault(name, MagicMock())
    import GCL.augmentors as augment
    from GCL.losses import InfoNCE
    from GCL.models import DualBranchContrast

    rows, edges = dense(data.graph, "l2"), data.graph.edge_index
    first, second = GCNConv(rows.shape[1], WIDTH), GCNConv(WIDTH, WIDTH)
    head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ELU(), nn.Linear(WIDTH, WIDTH))
    views = [
        augment.Compose([augment.EdgeRemoving(pe=e), augment.FeatureMasking(pf=f)]) for e, f in ((0.2, 0.3), (0.4, 0.4))
    ]
    contrast = DualBranchContrast(loss=InfoNCE(tau=0.5), mode="L2L", intraview_negs=True)
    optimiser = torch.optim.Adam(nn.ModuleList([first, second, head]).parameters(), lr=1e-3)

    def loss() -> Tensor:
        seen = [view(rows, edges) for view in views]
        return contrast(*(head(second(first(x, kept).relu(), kept)) for x, kept, _ in seen))

    return lambda: step(optimiser, loss)


def supervised(data: Data, network: nn.Module, adam: Callable[..., Any], scores: Callable[[], Tensor]) -> Epoch:
    taught = data.known & ~data.split.test
    optimiser = adam([{"params": list(network.parameters())}], 0.01)

    def epoch() -> None:
        network.train()
        step(optimiser, lambda: F.cross_entropy(scores()[taught], data.codes[taught]))
        network.eval()
        with torch.no_grad():
            scores().argmax(dim=1)

    return epoch


def step(optimiser: Any, loss: Callable[[], Tensor]) -> None:
    optimiser.zero_grad()
    loss().backward()
    optimiser.step()


def encoder_of(graph: Graph) -> Encoder:
    return Encoder(graph.num_features, WIDTH, WIDTH, generator=torch_generator(0, "encoder"))


def dense(graph: Graph, norm: str) -> Tensor:
    features = scaled(graph, norm)
    return features.to_dense() if isinstance(features, CSR) else features


WAYS = {"floor": floor, "ours": ours, "pyg": pyg, "gcn": gcn, "grace": grace}
BESIDE = {"ours": "floor", "grace": "floor", "gcn": "pyg"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default="cora,pubmed,amazon-photo,100000")
    parser.add_argument("--ways", default="floor,ours,pyg,gcn")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| graph | way | processor ms an epoch | ratio |\n| :-- | :-- | --: | :-- |")
    for name in options.graphs.split(","):
        data = data_of(name)
        epochs = {way: WAYS[way](data) for way in options.ways.split(",")}
        times: dict[str, list[float]] = {way: [] for way in epochs}
        for turn in range(options.repeats + 1):
            for way, epoch in epochs.items():
                started = time.process_time()
                epoch()
                if turn:  # the first one builds what is kept
                    times[way].append(1000 * (time.process_time() - started))
        for way, taken in times.items():
            beside = BESIDE.get(way, way)
            ratio = (
                f"{median(taken) / median(times[beside]):.2f} of {beside}" if beside in times and beside != way else ""
            )
            print(f"| {name} | {way} | {median(taken):.1f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
