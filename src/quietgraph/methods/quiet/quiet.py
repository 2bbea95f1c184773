"""quiet: our own estimator, an ensemble of noise-aware classifiers on low-rank embeddings."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

from torch import Tensor, nn

from quietgraph.classify.class_prior import class_adjustment, frequency_trust
from quietgraph.classify.smoothing import HOMOPHILOUS_SIMILARITY, neighbours_differ
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.partitions import PARTITIONER_HELP, PARTITIONERS, PARTITIONS_HELP
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.encoder_module import Forward
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.low_rank.encoder import (
    encode_graph,
    stored_weights,
    train_encoder,
    unless_partitioned,
)
from quietgraph.methods.low_rank.gcl_lrr import GCLLRR
from quietgraph.methods.low_rank.graph_settings import is_dense
from quietgraph.methods.quiet.candidates import FAMILIES, HETEROPHILOUS, fit_candidates
from quietgraph.methods.quiet.ensemble import (
    Ensemble,
    errors_follow_attributes,
    make_ensemble,
    validation_noise,
)
from quietgraph.methods.quiet.features import (
    base_rows,
    is_large,
    prepare_features,
    rows_by_size,
    uses_embeddings,
)
from quietgraph.methods.quiet.node_features import LearningRows, NodeFeatures
from quietgraph.methods.quiet.rounds import Rounds
from quietgraph.params import Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

# Estimated fraction of wrong labels below which perceptrons join and families are averaged: with
# many wrong labels of one kind a flexible candidate fits these errors, and validation labels,
# wrong in the same way, cannot tell.
_LOW_NOISE = 0.3
_FAMILY_TEMPERATURE = 0.5  # of the families' weights at low noise, as `ensemble_temperature`


@final
@dataclass(kw_only=True, eq=False)
class Quiet(NodeClassifier):
    """Low-rank embeddings, then an ensemble of noise-aware classifiers (ours).

    Linear classifiers of several families on embeddings and smoothed attributes, and perceptrons
    that are consistent under random propagation (as in GRAND+), are weighted by their accuracy on
    the (noisy) validation labels. The ensemble then corrects the training labels with a noise
    matrix estimated on the validation nodes, more candidates are fitted to the corrected labels,
    and all are weighted again.
    """

    citation: ClassVar[str] = "Ours: docs/quiet.md."
    quick: ClassVar[Settings] = {"epochs": 6}
    cora_seconds: ClassVar[float] = 13
    cora_epochs: ClassVar[int | None] = 60
    first_stage: ClassVar[str] = "quiet"

    epochs: int | None = param(None, "training epochs; None: more on larger graphs", low=1)
    partitions: int = param(0, PARTITIONS_HELP, low=0)
    partitions_per_step: int = param(1, "partitions that one step trains on", low=1)
    partitioner: str = param("auto", PARTITIONER_HELP, choices=PARTITIONERS)
    encoder: bool | None = param(
        None,
        "whether to learn embeddings, or to use smoothed attributes alone; None: where nodes have "
        "fewer than 15 neighbours in the mean, and on denser graphs whose neighbours differ in "
        "their attributes, where validation labels decide",
    )
    families: str = param(
        "all",
        "families of classifiers among the candidates",
        choices=("all", *FAMILIES, *(f"no-{family}" for family in FAMILIES)),
        after_embedding=True,
    )
    ensemble_temperature: float = param(
        0.13,
        "temperature of the ensemble weights: how far below the best validation accuracy a "
        "candidate still counts, in 1 / sqrt(validation nodes)",
        low=0,
        after_embedding=True,
        old_name="caution",
    )
    family_weights: str = param(
        "auto",
        "weights of the families: none (accuracy: candidates of all families are compared), equal, "
        "or (auto) equal where the wrong labels follow the nodes' own attributes, by accuracy "
        "where few labels are wrong, and none elsewhere",
        choices=("auto", "accuracy", "equal"),
        after_embedding=True,
    )
    correction_rounds: int = param(
        2,
        "rounds in which the ensemble corrects the training labels and more candidates are fitted",
        low=0,
        after_embedding=True,
        old_name="mending",
    )
    class_prior_adjustment: bool = param(
        True,
        "adjust the score of each class to the class frequencies of the validation labels",
        after_embedding=True,
        old_name="biased",
    )
    refit: bool = param(
        False, "fit the members again on training and validation labels", after_embedding=True
    )

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        # Of the first process: all train an encoder together, or none does.
        if current_world().agree(self.learns_embeddings(graph)):
            low_rank = self._low_rank(seed)
            encoder, history = train_encoder(low_rank, graph, seed)
            with rows_by_size(graph.num_nodes):
                large = is_large(graph.num_nodes)
                learned = encode_graph(encoder, graph, low_rank.feature_norm, in_blocks=large)
                prepared, rows = prepare_features(learned, graph, seed)
            embedded = Embedded(learned, stored_weights(encoder) | prepared, history)
        else:
            with rows_by_size(graph.num_nodes):
                prepared, rows = prepare_features(None, graph, seed)
            embedded = Embedded(rows["attributes"], prepared)
        embedded.once("rows", lambda: rows)
        return embedded

    def learns_embeddings(self, graph: Graph) -> bool:
        """Return whether an encoder is trained on this graph, or smoothed attributes are used."""
        if self.encoder is not None:
            return self.encoder
        return not is_dense(graph) or neighbours_differ(graph)

    def first_stage_parameters(self) -> Settings:
        """Return what the embeddings depend on; partitions chosen by size follow from the graph."""
        return unless_partitioned(super().first_stage_parameters() or {})

    def _low_rank(self, seed: int) -> GCLLRR:
        return GCLLRR(
            seed=seed,
            device=self.device,
            epochs=self.epochs,
            partitions=self.partitions,
            partitions_per_step=self.partitions_per_step,
            partitioner=self.partitioner,
        )

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        graph, state = task.graph, embedded.state
        with rows_by_size(graph.num_nodes):
            rows = embedded.once("rows", lambda: base_rows(embedded.embeddings, graph, state))
            features = embedded.once("features", lambda: NodeFeatures(rows, graph, state))
        fitted = self._fit_ensemble(*features.to_learn_from(task))
        # All processes score by the ensemble of the first one, whatever their rounding.
        ensemble, notes = current_world().agree(fitted)
        scores = features.scored(ensemble.scores, task.asked)
        return Decision(scores, ensemble.to_tensors(), notes)

    def _fit_ensemble(
        self, features: LearningRows, task: Task
    ) -> tuple[Ensemble, dict[str, float]]:
        """Return the ensemble after all rounds of correction, and notes on it."""
        # Choices of the first process: rows that a family needs are made by all together.
        agree = current_world().agree
        families = agree(self._families(features, task))
        homophilous = HETEROPHILOUS.isdisjoint(families)
        cheap = [family for family in families if family != "perceptron"] or families
        rounds = self._first_round(features, task, cheap)
        by_family = agree(self._weight_by_family(rounds, families))
        if by_family:
            rounds.family_temperature = math.inf
            rounds.weigh()
        noise = validation_noise(rounds.scores(), rounds.evaluation.task)
        if by_family or agree(noise.rate < _LOW_NOISE):
            if not by_family and self.family_weights == "auto" and homophilous:
                rounds.family_temperature = _FAMILY_TEMPERATURE
            costly = [family for family in families if family not in cheap]
            rounds.add(costly) if costly else rounds.weigh()
            cheap = families
        rounds.correct(cheap, self.correction_rounds)
        adjustment = self._adjustment(rounds, by_annotator=by_family)
        if self.refit:
            rounds.refit(cheap)
        notes = {f"weight of {name}": weight for name, weight in rounds.weights.items()}
        notes |= {"families weighted equally": 1.0} if by_family else {}
        return make_ensemble(rounds.pool, rounds.weights, rounds.evaluation, adjustment), notes

    def _first_round(self, features: LearningRows, task: Task, families: list[str]) -> Rounds:
        """Return the candidates fitted to the observed labels.

        On dense graphs whose neighbours differ, embeddings gain 9 points (Flickr) or cost 5
        (BlogCatalog); candidates that read them are compared with those on attributes alone.
        """
        rounds = Rounds(features=features, task=task, temperature=self.ensemble_temperature)
        source = features.source
        is_open = self.encoder is None and uses_embeddings(source.state) and is_dense(source.graph)
        if not is_open:
            rounds.add(families)
            return rounds
        both = [family for family in families if family in HETEROPHILOUS]  # read no embeddings
        rest = [family for family in families if family not in both]
        known = fit_candidates(features, task, both)
        plain = replace(rounds, features=features.without_embeddings(), pool={}, orders={})
        for each in (rounds, plain):
            each.add(rest, known)
        without = current_world().agree(plain.accuracy() >= rounds.accuracy())
        return plain if without else rounds

    def _weight_by_family(self, rounds: Rounds, families: list[str]) -> bool:
        if self.family_weights != "auto":
            return self.family_weights == "equal"
        # On heterophilic graphs own attributes are the better evidence, whatever the noise.
        homophilous = HETEROPHILOUS.isdisjoint(families)
        return homophilous and errors_follow_attributes(
            rounds.pool, rounds.features, rounds.task, rounds.evaluation
        )

    def _adjustment(self, rounds: Rounds, *, by_annotator: bool) -> Tensor:
        """Return the class-prior adjustment by the (noisy) validation labels [classes]."""
        ensemble, evaluation, task = rounds.ensemble, rounds.evaluation, rounds.task
        if not self.class_prior_adjustment:
            return ensemble.class_adjustment
        draws = torch_generator(task.seed, "class biases")
        labels, trained = evaluation.labels, task.labels[task.train]
        scores = ensemble.scores(evaluation.held_out)
        adjustment = class_adjustment(scores, labels, trained, generator=draws)
        return adjustment * frequency_trust(scores, labels) if by_annotator else adjustment

    def _families(self, features: LearningRows, task: Task) -> list[str]:
        """Return the families of candidates.

        Own attributes and those of neighbours apart are left out of homophilous graphs: averages
        over neighbourhoods are better there, and many wrong labels may hide that. Perceptrons are
        left out of folds, where they would cost more than all others: what is measured out of fold
        holds for the rest.
        """
        if self.families in FAMILIES:
            return [self.families]
        similarity = features.source.neighbour_similarity()
        left_out = {self.families.removeprefix("no-")}
        left_out |= HETEROPHILOUS if similarity > HOMOPHILOUS_SIMILARITY else set()
        left_out |= {"perceptron"} if task.is_fold else set()
        return [family for family in FAMILIES if family not in left_out]

    def _trained_network(self) -> tuple[nn.Module, Forward] | None:
        has_encoder = uses_embeddings(self.state_)
        return self._low_rank(seed=0).network_of(self.state_) if has_encoder else None

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        low_rank = self._low_rank(seed=0)
        learned = low_rank.embed_new(graph, state) if uses_embeddings(state) else None
        rows = base_rows(learned, graph, state)
        scores = NodeFeatures(rows, graph, state).scored(Ensemble.from_tensors(state).scores)
        return scores, rows["attributes"] if learned is None else learned
