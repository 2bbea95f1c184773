"""Quiet: one model of noisy labels on label-free embeddings. No label is held out, so all that there are teach."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import centre_rows, mean_direction
from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.classify.noise_matrix import estimate_channel, symmetric_channel
from quietgraph.classify.smoothing import (
    adjusted_homophily,
    count_columns,
    is_heterophilous,
    leading_directions,
    own_attributes,
    smooth_attributes,
    smooth_rows,
)
from quietgraph.data.splits import stratified_folds
from quietgraph.embed.contrast import Contrast, train_contrast, usual_epochs
from quietgraph.embed.encoder import Encoder
from quietgraph.embed.sparse import propagate
from quietgraph.embed.train import History, Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Scores

# What the classifiers read beside the embeddings, by name of the space: attributes around a node, and its own.
SPACES: Final[dict[str, tuple[str, ...]]] = {"embedding": (), "around": ("around",), "own": ("around", "own")}
_AROUND, _OWN = 256, 128  # directions of attributes around a node and of its own
_BLOCK = 2**16  # rows that are answered at once
_LARGE = 200_000  # nodes above which one encoder is enough, and own attributes are not read
_FOLDS = 5
_SLIP = 0.02  # of labels that are taken as they are
_CLEAR = 2.0  # standard errors by which a space must explain held-out labels better
_TRUSTED = 0.2  # adjusted homophily from which neighbours are believed rather than own attributes
Rows: TypeAlias = dict[str, list[Tensor]]  # matrices of one row per node, by name


class Views(nn.Module):
    """Rows of nodes that need no label: of encoders, and of attributes."""

    means: Tensor

    def __init__(self, encoders: Sequence[Encoder], dim: int, *, columns: int, own: int, around: int) -> None:
        super().__init__()
        self.encoders, self.columns = nn.ModuleList(encoders), columns
        self.sizes = {"encoders": len(encoders), "columns": columns, "own": own, "around": around}
        self.register_buffer("means", torch.zeros(len(encoders), dim))
        for name, rank in {"own": own, "around": around}.items():
            self.register_buffer(f"{name}_mean", torch.zeros(columns if rank else 0))
            self.register_buffer(f"{name}_directions", torch.zeros(columns if rank else 0, rank))

    @torch.no_grad()
    def survey(self, graph: Graph, *, seed: int) -> Rows:
        """Keep means and directions of the graph of fit; return its rows."""
        found, draws = [encoder(graph) for encoder in self.encoders], torch_generator(seed, "attribute directions")
        self.means, raw = torch.stack([mean_direction(one) for one in found]), self._attributes(graph)
        for name, rows in raw.items():
            mean, directions = leading_directions(rows, int(self.sizes[name]), generator=draws)
            setattr(self, f"{name}_mean", mean)
            setattr(self, f"{name}_directions", directions)
        return self._rows(graph, found, raw)

    def forward(self, graph: Graph) -> Rows:
        """Return the rows of a graph by name."""
        return self._rows(graph, [encoder(graph) for encoder in self.encoders], self._attributes(graph))

    def _attributes(self, graph: Graph) -> dict[str, Tensor]:
        made = {"own": own_attributes, "around": smooth_attributes}
        return {name: make(graph, self.columns) for name, make in made.items() if self.sizes[name]}

    def _rows(self, graph: Graph, found: list[Embeddings], raw: dict[str, Tensor]) -> Rows:
        rows = {"embedding": [centre_rows(one, mean) for one, mean in zip(found, self.means, strict=True)]}
        for name, values in raw.items():
            mean, directions = self.get_buffer(f"{name}_mean"), self.get_buffer(f"{name}_directions")
            rows[name] = [F.normalize((values - mean) @ directions, dim=1)]
        if "around" not in rows:  # averages that hold the node itself would hide that its neighbours differ
            rows["around"] = [F.normalize(propagate(graph.adjacency, rows["own"][0]), dim=1)]
        return rows


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


def features(rows: Rows, space: str, encoder: int, nodes: Tensor | slice = slice(None)) -> Tensor:
    """Return what the classifier of an encoder reads of nodes [nodes, width]."""
    return torch.cat([rows["embedding"][encoder][nodes], *(rows[name][0][nodes] for name in SPACES[space])], dim=1)


def learn(graph: Graph, views: Views, rows: Rows, clustered: list[Tensor], observed: Observed, *, seed: int) -> Fitted:
    """Return what the labels teach: noise matrix, space and classifiers. Other labels repeat this alone.

    Args:
        graph: Of fit.
        views: Whose rows they are.
        rows: Of the graph, by name.
        clustered: Unit rows in each of which labelled nodes are clustered [nodes, dim].
        observed: The labels; those of validation nodes teach as well.
        seed: Of clusterings, starts and folds.
    """
    nodes = (observed.train | observed.validation).nonzero().squeeze(1)
    labels, classes = observed.at(nodes).to(torch.device("cpu")), observed.num_classes
    if labels.weights is not None:
        labels = replace(labels, weights=labels.weights / labels.weights.mean())
    seen = {name: [one[nodes].cpu() for one in each] for name, each in rows.items()}
    certain = torch.zeros_like(labels.train) if labels.verified is None else labels.verified
    once = F.one_hot(labels.codes, classes).double()
    counted = once if labels.weights is None else once * labels.weights[:, None]
    parts, draws = (counted * ~certain[:, None], counted * certain[:, None]), torch_generator(seed, "channel")
    channel = estimate_channel([one[nodes].cpu() for one in clustered], *parts, generator=draws)
    reading = torch.where(certain[:, None], once, channel.matrix[:, labels.codes].T).float()
    alike = adjusted_homophily(graph, observed.codes) >= _TRUSTED
    space = choose_space(seen, labels, reading, homophilous=alike, seed=seed)
    every = range(len(views.means))
    fits = [fit_forward_logistic(features(seen, space, one), reading, weights=labels.weights) for one in every]
    said = torch.stack([(features(seen, space, one) @ fits[one][0] + fits[one][1]).softmax(dim=1) for one in every])
    order = channel.order(said.mean(dim=0).double(), counted.sum(dim=0), parts[1])
    matrix = channel.matrix[order]
    network = QuietNetwork(views, classes, space=space, width=len(fits[0][0]))
    network.weight = torch.stack([weight[:, order] for weight, _ in fits])
    network.bias, network.noise_matrix = torch.stack([bias[order] for _, bias in fits]), matrix.float()
    network = network.to(nodes.device)
    scores = network.scores(rows)
    notes = {
        "kappa": float(channel.kappa),
        "noise_rate": noise_rate(scores[nodes].cpu(), labels.codes, matrix),
        "space": float(list(SPACES).index(space)),
    }

    def relearn(other: Observed) -> Fitted:
        return learn(graph, views, rows, clustered, other, seed=seed)

    return Fitted(scores, torch.cat(rows["embedding"], dim=1), network, relearn, notes=notes)


def choose_space(rows: Rows, labels: Observed, reading: Tensor, *, homophilous: bool, seed: int) -> str:
    """Return the name of the space in which held-out labels are explained best, with due doubt of own attributes.

    Own attributes also foretell the wrong labels that a rule made of them. So where they alone foretell labels better
    than the embeddings do, though linked nodes share classes, no classifier reads attributes.

    Args:
        rows: Of the labelled nodes.
        labels: Theirs.
        reading: Probability of each label under each true class [nodes, classes].
        homophilous: Whether linked nodes share classes.
        seed: Of the folds.
    """
    if "own" not in rows:
        return "around"
    folds = stratified_folds(labels.codes, _FOLDS, generator=torch_generator(seed, "space"))

    def explained(read: Tensor, how: Tensor) -> Tensor:
        """Return the log probability of each label by the classifier that has not seen it [nodes]."""
        said = torch.empty(len(read))
        for fold in range(_FOLDS):
            kept = folds != fold
            counts = None if labels.weights is None else labels.weights[kept]
            weight, bias = fit_forward_logistic(read[kept], how[kept], weights=counts)
            said[~kept] = ((read[~kept] @ weight + bias).softmax(dim=1) * how[~kept]).sum(dim=1).clamp_min(1e-9).log()
        return said

    gain = explained(features(rows, "own", 0), reading) - explained(features(rows, "around", 0), reading)
    if gain.mean() <= _CLEAR * gain.std() / len(gain) ** 0.5:
        return "around"
    plain = symmetric_channel(torch.tensor([_SLIP]), labels.num_classes)[0].float()[labels.codes]
    if homophilous and explained(rows["own"][0], plain).mean() > explained(rows["embedding"][0], plain).mean():
        return "embedding"
    return "own"


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
        mixed, large, columns = is_heterophilous(graph, observed.codes), graph.num_nodes > _LARGE, count_columns(graph)
        most = min(columns, graph.num_nodes)
        sizes = {"encoders": self.encoders or (1 if large else 2), "columns": columns}
        sizes |= {"own": 0 if large and not mixed else min(_OWN, most), "around": 0 if mixed else min(_AROUND, most)}
        views, how = self._views(graph.num_features, **sizes).to(graph.device), Contrast().on(graph)
        schedule, history = Schedule(self.epochs or usual_epochs(graph), 1e-3, 1e-5), History()
        for number, encoder in enumerate(views.encoders):
            seed = self.seed + number
            history += train_contrast(graph, encoder, how, schedule, seed=seed, on_epoch=observed.on_epoch)
        rows = views.survey(graph, seed=self.seed)
        around = [*rows["around"], *rows["own"]] if mixed else rows["around"]
        smooth = rows["embedding"] if mixed else [smooth_rows(graph, one) for one in rows["embedding"]]
        fitted = learn(graph, views, rows, [*smooth, *around], observed, seed=self.seed)
        return replace(fitted, history=history)
