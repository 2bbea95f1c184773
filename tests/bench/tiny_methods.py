"""A small graph and methods that take no time, for tests of the benchmark."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
import torch.nn.functional as F

from quietgraph.data.data import Data, as_data
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param


def tiny_data(nodes: int = 60, classes: int = 3) -> Data:
    """A ring of nodes whose features nearly tell their class."""
    labels = torch.arange(nodes) % classes
    features = F.one_hot(labels, classes) + 0.5 * torch.randn(
        nodes, classes, generator=torch.Generator().manual_seed(0)
    )
    edges = torch.stack([torch.arange(nodes), (torch.arange(nodes) + classes) % nodes])
    names = [f"class {code}" for code in labels.tolist()]
    return as_data(Graph.from_arrays(features.float(), edges), names)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Nearest(NodeClassifier):
    """Scores by distance to the mean features of a class, with a random offset that the seed decides."""

    softness: float = param(1.0, "softness of the scores", low=0.01)
    spread: float = param(0.0, "size of the random offset", low=0)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        offset = self.spread * torch.randn(observed.num_classes)
        return Fitted(_scores(graph, observed) / self.softness + offset, graph.features)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LabelFree(NodeClassifier):
    """Learns embeddings without labels, slowly, and writes a line into a log each time."""

    log: str = param("", "file that gets a line for each training of embeddings")
    work: float = param(0.0, "processor seconds of the first stage", low=0)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        until = time.process_time() + self.work
        while time.process_time() < until:
            pass
        if self.log:
            with Path(self.log).open("a") as file:
                file.write("trained\n")
        shift = 0.1 * torch.randn(graph.features.shape)

        def relearn(labels: Observed) -> Fitted:
            return Fitted(_scores(graph.with_features(graph.features + shift), labels), graph.features, relearn=relearn)

        return relearn(observed)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Unlucky(NodeClassifier):
    """Ends in the way that its parameter says when its seed is 1."""

    end: str = param("none", "none, kill, raise, hang")
    once: str = param("", "file that appears with the first such end, after which all goes well")

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        print("a method may print")
        if self.seed == 1 and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.end == "raise":
                raise RuntimeError("no luck")
            time.sleep(600 if self.end == "hang" else 0)
        return Fitted(_scores(graph, observed), graph.features)


def _scores(graph: Graph, observed: Observed) -> torch.Tensor:
    means = [
        graph.features[observed.train & (observed.codes == code)].mean(dim=0) for code in range(observed.num_classes)
    ]
    return -torch.cdist(graph.features, torch.stack(means).nan_to_num())
