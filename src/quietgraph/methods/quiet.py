"""Quiet: one model of noisy labels on label-free embeddings. No label is held out, so all that there are teach."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import centre_rows, mean_direction
from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.classify.noise_matrix import estimate_channel
from quietgraph.classify.smoothing import (
    count_columns,
    is_heterophilous,
    leading_directions,
    own_attributes,
    smooth_attributes,
    smooth_rows,
)
from quietgraph.embed.contrast import Contrast, train_contrast, usual_epochs
from quietgraph.embed.encoder import Encoder
from quietgraph.embed.sparse import propagate
from quietgraph.embed.train import Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Scores

# What the classifiers read beside the embeddings, by name of the space.
SPACES: Final[dict[str, tuple[str, ...]]] = {"embedding": (), "smooth": ("smooth",), "own": ("own", "near")}
_DIRECTIONS = 256  # of attributes that are kept
_BLOCK = 2**16  # rows that are answered at once
_SINGLE = 200_000  # nodes above which one encoder is enough
_FOLDS = 5
Rows: TypeAlias = dict[str, list[Tensor]]  # matrices of one row per node, by name


class Views(nn.Module):
    """Rows of nodes that need no label: of encoders, and of attributes."""

    means: Tensor
    attribute_mean: Tensor
    directions: Tensor

    def __init__(self, encoders: Sequence[Encoder], dim: int, *, columns: int, rank: int, mixed: bool) -> None:
        super().__init__()
        self.encoders, self.columns, self.mixed = nn.ModuleList(encoders), columns, mixed
        self.sizes = {"encoders": len(encoders), "columns": columns, "rank": rank, "mixed": mixed}
        shapes = {"means": (len(encoders), dim), "attribute_mean": (columns,), "directions": (columns, rank)}
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))

    @torch.no_grad()
    def survey(self, graph: Graph, *, seed: int) -> Rows:
        """Keep means and directions of the graph of fit; return its rows."""
        found = [encoder(graph) for encoder in self.encoders]
        self.means = torch.stack([mean_direction(one) for one in found])
        attributes, draws = self._attributes(graph), torch_generator(seed, "attribute directions")
        self.attribute_mean, self.directions = leading_directions(attributes, self.directions.shape[1], generator=draws)
        return self._rows(graph, found, attributes)

    def forward(self, graph: Graph) -> Rows:
        """Return the rows of a graph by name."""
        return self._rows(graph, [encoder(graph) for encoder in self.encoders], self._attributes(graph))

    def _attributes(self, graph: Graph) -> Tensor:
        return own_attributes(graph, self.columns) if self.mixed else smooth_attributes(graph, self.columns)

    def _rows(self, graph: Graph, found: list[Embeddings], attributes: Tensor) -> Rows:
        centred = [centre_rows(one, mean) for one, mean in zip(found, self.means, strict=True)]
        projected = F.normalize((attributes - self.attribute_mean) @ self.directions, dim=1)
        if not self.mixed:
            return {"embedding": centred, "smooth": [projected]}
        near = F.normalize(propagate(graph.adjacency, projected), dim=1)
        return {"embedding": centred, "own": [projected], "near": [near]}


class QuietNetwork(nn.Module):
    """The mean probabilities of one logistic regression for each encoder.

    Attributes:
        noise_matrix: P(label | true class) [classes, classes].
        sizes: What `_network` needs beside the numbers of features and classes to build it again.
    """

    noise_matrix: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, views: Views, classes: int, *, space: str, width: int) -> None:
        super().__init__()
        self.views, self.sizes, count = views, {**views.sizes, "space": space, "width": width}, len(views.means)
        shapes = {"weight": (count, width, classes), "bias": (count, classes), "noise_matrix": (classes, classes)}
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return log probabilities and embeddings of every node [nodes, classes], [nodes, encoders * dim]."""
        rows = self.views(graph)
        return self.scores(rows), torch.cat(rows["embedding"], dim=1)

    def scores(self, rows: Rows) -> Scores:
        """Return log probabilities of nodes with these rows [nodes, classes]."""
        total = torch.zeros(len(rows["embedding"][0]), self.bias.shape[1], device=self.bias.device)
        for encoder, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            for block in torch.arange(len(total), device=total.device).split(_BLOCK):
                read = features(rows, str(self.sizes["space"]), encoder, block)
                total[block] += (read @ weight + bias).softmax(dim=1) / len(self.bias)
        return total.clamp_min(1e-12).log()


def features(rows: Rows, space: str, encoder: int, nodes: Tensor) -> Tensor:
    """Return what the classifier of an encoder reads of some nodes [nodes, width]."""
    return torch.cat([rows["embedding"][encoder][nodes], *(rows[name][0][nodes] for name in SPACES[space])], dim=1)


def learn(views: Views, rows: Rows, clustered: list[Tensor], observed: Observed, *, seed: int) -> Fitted:
    """Return what the labels teach: noise matrix, space and classifiers. Other labels repeat this alone.

    Args:
        views: Of the graph.
        rows: Its rows by name.
        clustered: Unit rows in each of which labelled nodes are clustered [nodes, dim].
        observed: The labels; those of validation nodes teach as well.
        seed: Of clusterings, starts and folds.
    """
    nodes = (observed.train | observed.validation).nonzero().squeeze(1)
    labels, classes = observed.at(nodes).to(torch.device("cpu")), observed.num_classes
    certain = torch.zeros_like(labels.train) if labels.verified is None else labels.verified
    once = F.one_hot(labels.codes, classes).double()
    reads = once if labels.weights is None else once * labels.weights[:, None]
    parts = reads * ~certain[:, None], once * certain[:, None]
    channel = estimate_channel(
        [one[nodes].cpu() for one in clustered], *parts, generator=torch_generator(seed, "channel")
    )
    reading = torch.where(certain[:, None], once, channel.matrix[:, labels.codes].T)
    space = "own" if views.mixed else "smooth"
    fits = [
        fit_forward_logistic(features(rows, space, encoder, nodes).cpu(), reading, weights=labels.weights)
        for encoder in range(len(views.means))
    ]
    network = QuietNetwork(views, classes, space=space, width=len(fits[0][0])).to(nodes.device)
    network.weight, network.bias = (torch.stack(list(each)) for each in zip(*fits, strict=True))
    network.noise_matrix = channel.matrix.float()
    scores = network.scores(rows)
    notes = {"kappa": channel.kappa, "noise_rate": noise_rate(scores[nodes].cpu(), labels.codes, channel.matrix)}

    def relearn(other: Observed) -> Fitted:
        return learn(views, rows, clustered, other, seed=seed)

    return Fitted(scores, torch.cat(rows["embedding"], dim=1), network, relearn, notes=notes)


def noise_rate(scores: Scores, codes: Labels, matrix: Tensor) -> float:
    """Return the expected share of wrong labels under probabilities of true classes and a noise matrix."""
    joint = scores.double().exp() * matrix[:, codes].T
    return float(1 - (joint.gather(1, codes[:, None])[:, 0] / joint.sum(dim=1)).mean())


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Quiet(NodeClassifier):
    """One model of noisy labels: a noise matrix read off clusters, and a classifier that learns through it.

    Two encoders learn without labels. Labels of small clusters of labelled nodes are noisy readings of one hidden
    class, which gives T[c, k] = P(label k | true class c); a logistic regression p(c | z) explains the labels through
    it: sum_c p(c | z) T[c, k]. Validation labels teach as all others do, and verified labels are certain.
    """

    takes_weights = True
    hidden: int = param(256, "width of the hidden layer of an encoder", low=1)
    dim: int = param(256, "width of the embeddings of an encoder", low=1)
    encoders: int | None = param(None, "encoders whose answers are averaged; none: 2, for large graphs 1", low=1)
    epochs: int | None = param(None, "training epochs; none: 60, up to 135 for large graphs", low=1)

    def _network(self, features: int, classes: int, **sizes: Any) -> QuietNetwork:
        space, width = sizes.pop("space"), sizes.pop("width")
        return QuietNetwork(self._views(features, **sizes), classes, space=space, width=width)

    def _views(self, features: int, *, encoders: int, **sizes: Any) -> Views:
        draws = [torch_generator(self.seed + number, "encoder") for number in range(encoders)]
        made = [Encoder(features, self.hidden, self.dim, generator=one) for one in draws]
        return Views(made, self.dim, **sizes)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        mixed, columns = is_heterophilous(graph, observed.codes), count_columns(graph)
        sizes = {"columns": columns, "rank": min(_DIRECTIONS, columns, graph.num_nodes), "mixed": mixed}
        sizes["encoders"] = self.encoders or (1 if graph.num_nodes > _SINGLE else 2)
        views, how = self._views(graph.num_features, **sizes).to(graph.device), Contrast().on(graph)
        schedule, history = Schedule(self.epochs or usual_epochs(graph), 1e-3, 1e-5), []
        for number, encoder in enumerate(views.encoders):
            seed = self.seed + number
            history += train_contrast(graph, encoder, how, schedule, seed=seed, on_epoch=observed.on_epoch)
        rows = views.survey(graph, seed=self.seed)
        smooth = rows["embedding"] if mixed else [smooth_rows(graph, one) for one in rows["embedding"]]
        clustered = [*smooth, *(one for name in rows if name != "embedding" for one in rows[name])]
        fitted = learn(views, rows, clustered, observed, seed=self.seed)
        return replace(fitted, history=history)
