"""Low-rank graph contrastive learning, which sees no label.

The loss of a step is L_node + w L_proto + tau |K|_r0 / nodes: InfoNCE between two views, cross-entropy of the views to
prototypes of the unchanged graph, and the truncated nuclear norm of the kernel of unit rows. A large graph is trained
in partitions: views, anchors and the norm are those of one partition, the prototypes those of all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.clusters import Clusters
from quietgraph.embed.losses import info_nce, prototype_loss, truncated_nuclear_norm
from quietgraph.embed.operator import Structure
from quietgraph.embed.partitions import WHOLE_UP_TO, induced_graph, partition_nodes
from quietgraph.embed.train import Epoch, History, Schedule, train
from quietgraph.embed.views import ViewRates, draw_view, view_structure
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_VIEWS = (ViewRates(0.2, 0.3), ViewRates(0.4, 0.4))
_DENSE_VIEWS = (ViewRates(0.5, 0.1), ViewRates(0.6, 0.1))
_DENSE_FROM = 15.0  # mean degree from which a graph is dense
_EPOCHS, _SMALL, _LONGEST = 60, 2700, 2.25  # epochs up to so many nodes, and times so many at most
_LEAST_NORM = 1e-6  # rows of a view that are shorter count as zero


@dataclass(frozen=True)
class Contrast:
    """Weights and sizes of the loss."""

    rates: tuple[ViewRates, ViewRates] = _VIEWS
    temperature: float = 0.5
    anchors: int = 700  # nodes of a step that are anchors and negatives
    prototypes: tuple[int, ...] = (20, 50)
    prototype_weight: float = 0.5  # w
    prototype_temperature: float = 0.3
    rank_weight: float = 1.0  # tau
    rank_ratio: float = 0.2  # gamma: directions left free, as a fraction
    warm_up: int = 15  # steps before prototypes and rank count

    def on(self, graph: Graph) -> "Contrast":
        """Return it with stronger views and a sharper contrast where the graph is dense: weak views collapse."""
        if 2 * graph.num_edges < _DENSE_FROM * graph.num_nodes:
            return self
        return replace(self, rates=_DENSE_VIEWS, temperature=0.2)


def usual_epochs(graph: Graph) -> int:
    """Return the epochs that a graph needs: 60, up to 135 for large ones."""
    return round(_EPOCHS * min(_LONGEST, max(1.0, math.sqrt(graph.num_nodes / _SMALL))))


def train_contrast(
    graph: Graph,
    encoder: nn.Module,
    how: Contrast,
    schedule: Schedule,
    *,
    seed: int,
    on_epoch: Callable[[Epoch], None] | None = None,
    whole_up_to: int = WHOLE_UP_TO,
) -> History:
    """Train an encoder in place and return the mean losses of every epoch.

    Args:
        graph: A large one is cut, and an epoch is a step on each of its partitions.
        encoder: Called as encoder(graph, view, nodes), or encoder(graph) for all nodes of the graph as it is.
        how: Weights and sizes of the loss.
        schedule: Its epochs are passes over all nodes where there is one partition; of several, so many steps in all.
        seed: Of every random draw.
        on_epoch: Called after every epoch.
        whole_up_to: Nodes up to which a graph is not cut.
    """
    together = dist.is_available() and dist.is_initialized()
    count = dist.get_world_size() if together else 1
    parts = partition_nodes(graph, seed=seed, multiple_of=count, whole_up_to=whole_up_to)
    trainer = Trainer(graph, encoder, how, parts, seed)
    if together:
        from quietgraph.embed.distributed import share_training

        share_training(trainer)
    steps = replace(schedule, epochs=math.ceil(schedule.epochs / len(trainer.parts)), steps=len(trainer.parts))
    return train(encoder, trainer.losses, steps, on_epoch=on_epoch, what="learning embeddings")


@dataclass(eq=False)
class Trainer:
    """The losses of every step, and what they need of the steps before."""

    graph: Graph
    encoder: nn.Module
    how: Contrast
    parts: list[Tensor]
    seed: int
    start: Callable[..., Clusters] = Clusters.start
    clusters: list[Clusters] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = ("views", "anchors", "clusters", "order of parts", "spare pairs")
        self.draws = {name: torch_generator(self.seed, name) for name in names}
        self.inside: tuple[int, Graph, Structure] | None = None
        self.order: list[int] = []

    def losses(self, step: int) -> dict[str, Tensor]:
        """Return the losses of a step."""
        how, (part, graph, structure) = self.how, self._next_part()
        nodes = torch.arange(graph.num_nodes, device=graph.device)
        if graph.num_nodes > how.anchors:
            order = torch.randperm(graph.num_nodes, generator=self.draws["anchors"])
            nodes = order[: how.anchors].to(graph.device)
        views = [draw_view(structure, graph.num_features, one, generator=self.draws["views"]) for one in how.rates]
        seen = [self.encoder(graph, view, nodes) for view in views]
        values = {"contrast": info_nce(*seen, temperature=how.temperature)}
        if step >= how.warm_up and (how.prototype_weight, how.rank_weight) != (0, 0):
            with torch.set_grad_enabled(how.rank_weight > 0):
                unit = F.normalize(self.encoder(graph), dim=1)
            if how.prototype_weight > 0:
                values["prototypes"] = self._prototype_loss(part, unit.detach(), seen, nodes)
            if how.rank_weight > 0:
                rank = math.ceil(how.rank_ratio * min(unit.shape))
                values["rank"] = truncated_nuclear_norm(unit, rank) / len(unit)
        weights = {"contrast": 1.0, "prototypes": how.prototype_weight, "rank": how.rank_weight}
        return {"loss": torch.stack([weights[name] * value for name, value in values.items()]).sum(), **values}

    def _prototype_loss(self, part: int, unit: Embeddings, seen: list[Embeddings], nodes: Tensor) -> Tensor:
        """Mean over numbers of prototypes and views; clusters come from the unchanged graph."""
        draws, costs = self.draws["clusters"], []
        if not self.clusters:
            self.clusters = [self.start(unit, count, generator=draws) for count in self.how.prototypes]
        rows = [F.normalize(view, dim=1, eps=_LEAST_NORM) for view in seen]
        for one in self.clusters:
            own = one.move(part, unit, generator=draws)[nodes]
            temperature = self.how.prototype_temperature
            costs += [prototype_loss(view, one.prototypes, own, temperature=temperature) for view in rows]
        return torch.stack(costs).mean()

    def _next_part(self) -> tuple[int, Graph, Structure]:
        """Return number, graph and structure of the part that is trained on now; every epoch takes each once."""
        if not self.order:
            draws = self.draws["order of parts"]
            self.order = torch.randperm(len(self.parts), generator=draws).tolist()
        part = self.order.pop()
        if self.inside is None or self.inside[0] != part:
            graph = induced_graph(self.graph, self.parts[part])
            self.inside = part, graph, view_structure(graph, self.how.rates, generator=self.draws["spare pairs"])
        return self.inside
