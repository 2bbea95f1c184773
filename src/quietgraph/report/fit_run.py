"""A finished fit: what was fitted on what, how it scored, and all facts about it."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch

from quietgraph.bench.protocol import versions
from quietgraph.bench.variant import settings_words
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.data.observation import Observation, Reference
from quietgraph.embed.scale.distributed import current_world
from quietgraph.graph import Graph
from quietgraph.graph.io import Corrections
from quietgraph.graph.io.labels import FEW_LABELS
from quietgraph.graph.io.raw import id_key
from quietgraph.methods import NodeClassifier, method_name
from quietgraph.methods.base.reach import reached_nodes
from quietgraph.report.evidence import Evidence
from quietgraph.report.run_files import shown_noise, shown_path
from quietgraph.report.shared_rows import WholeFit
from quietgraph.types import AnyArray, BoolArray, IntArray

LONGEST_QUEUE: Final = 5_000  # labels to review
_MOST_PAIRS: Final = 10  # of annotators, in the report
_REVIEWER: Final = "reviewer"
_SHORTEST_QUEUE: Final = 50  # though fewer are suspicious


@dataclass(frozen=True, eq=False)
class FitRun:
    """A fitted model, what it was fitted on, and how it scored.

    Only a dataset by name has reference labels to score against. Own data has no metrics: what
    is known of it is the agreement with observed labels out of fold, in `model.quality()`.
    """

    source: str
    noise: NoiseSetting
    model: NodeClassifier
    observation: Observation
    reference: Reference | None  # None for own data, whose true labels nobody knows
    metrics: dict[str, float]
    beside: dict[NodeClassifier, dict[str, float]]  # other models on the same labels
    command: str
    decisions: Corrections = field(default_factory=lambda: Corrections(Path(), {}))  # of people
    whole: WholeFit | None = None  # of which model and observation are some nodes, where they are

    @property
    def is_in_parts(self) -> bool:
        """Whether predictions are written in parts: of large graphs, and by several processes."""
        return self.whole is not None or current_world().size > 1

    @property
    def wrong(self) -> BoolArray:
        """Labels that are known to be wrong [nodes]; of own data none is known to be."""
        if self.reference is None:
            return np.zeros(self.observation.graph.num_nodes, dtype=bool)
        return self.reference.wrong(self.observation).numpy()

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """Labelled nodes by position, most suspicious first, with the votes of others."""
        return self.model.suspects(columns="evidence")

    def suspects_with_ids(self) -> pd.DataFrame:
        """Return the suspects with the user's own node ids."""
        return self.suspects.assign(node=self.observation.node_ids[self.suspects["node"]])

    @cached_property
    def evidence(self) -> Evidence:
        """What a reviewer sees of nodes of the graph."""
        if self.whole is None:
            return self.evidence_of_sample
        return Evidence(self.whole.observation, self.whole.predicted, self._own_source())

    @cached_property
    def evidence_of_sample(self) -> Evidence:
        """What is known of the nodes of this run, which are all nodes but of large graphs."""
        predicted = [str(one) for one in self.model.predict()]
        return Evidence(self.observation, predicted, self._own_source())

    def unreached(self) -> list[object]:
        """Return the ids of nodes to which no path leads from a labelled node.

        Of a run on a sample of a large graph, whose number alone is known, none.
        """
        if self.whole is not None or not self.model.quality().unreached:
            return []
        graph, codes = self.observation.graph, self.observation.codes
        reached = reached_nodes(graph.adjacency, codes).numpy()
        return list(self.observation.node_ids[~reached])

    def _own_source(self) -> str:
        return self.source if self.reference is None else ""

    @cached_property
    def queue(self) -> pd.DataFrame:
        """Suspects in the order of a review, with the names of the field.

        Probably wrong ones first, then those with another probable label, then the next uncertain
        ones; last, those that somebody was unsure about in an earlier run. Where annotators gave
        the labels, those that `next_labels` asks for come before all others.
        """
        table = self.suspects.rename(columns=lambda name: name.replace("given", "observed"))
        differs = table["suggested"] != table["observed"]
        unsure = {n for n, one in self.decisions.decisions.items() if one.decision == "unsure"}
        ids = [id_key(node) for node in self.observation.node_ids[table["node"]]]
        late = np.array([node in unsure for node in ids], dtype=bool)
        rank = np.select([late, table["is_issue"], differs], [3, 0, 1], default=2)
        spare = max(0, _SHORTEST_QUEUE - int((rank != 2).sum()))
        places = [np.flatnonzero(rank == one)[: spare if one == 2 else None] for one in range(4)]
        order = np.concatenate([self._asked_next(table["node"].to_numpy()), *places])
        return table.iloc[pd.unique(order)[:LONGEST_QUEUE]]

    def _asked_next(self, nodes: AnyArray) -> IntArray:
        """Return the places of the nodes whose answers are to be given again first."""
        nodes = nodes.copy()  # pandas lends it for reading only
        if self.model.consensus_ is None or not len(nodes):
            return np.zeros(0, dtype=np.int64)
        asked = self.model.next_labels(_SHORTEST_QUEUE, annotator=_REVIEWER, among=nodes)
        places = pd.Index(nodes).get_indexer(pd.Index(asked["node"]))
        return np.asarray(places, dtype=np.int64)

    @cached_property
    def evidence_lines(self) -> list[str]:
        """What is known of each node of the queue, one JSON object each."""
        nodes = self.queue["node"].to_numpy()
        nodes = nodes if self.whole is None else self.whole.nodes.numpy()[nodes]
        return list(self.evidence.describe(nodes))

    @property
    def graph(self) -> Graph:
        """The graph of all nodes."""
        return (self.observation if self.whole is None else self.whole.observation).graph

    def comparison(self) -> list[dict[str, Any]]:
        """Return one row of scores per fitted method, this one first."""
        every = {self.model: self.metrics, **self.beside}
        return [
            {
                "method": method_name(type(model)),
                "settings": self.settings(model),
                "seconds": model.seconds_,
                **scores,
                **({} if self.reference else {"out_of_fold_accuracy": model.quality().accuracy}),
            }
            for model, scores in every.items()
        ]

    def settings(self, model: NodeClassifier) -> str:
        """Return whose settings a fitted model has, in words."""
        return settings_words(model, None if self.reference is None else self.observation.name)

    def suspects_sentence(self) -> str:
        """Return how many labels are probably wrong, and how many of the wrong ones are found."""
        table, wrong = self.suspects, self.wrong
        flagged = table[table["is_issue"]]
        if "notice" in table.attrs:
            return "No label is called wrong"
        labels = "labels" if self.model.consensus_ is None else "consensus labels"
        sentence = f"{len(flagged):,} of {len(table):,} {labels} are probably wrong"
        if wrong.any():
            first = table.head(20)
            hits = int(wrong[first["node"]].sum())
            found = int(wrong[flagged["node"]].sum())
            sentence += (
                f": {found} of the {int(wrong.sum())} "
                f"that are, and {hits} of the {len(first)} most suspicious"
            )
        rare = int(flagged["given"].astype(str).isin(self.observation.rare_classes).sum())
        if not rare:
            return sentence
        which = "is of a class" if rare == 1 else "are of classes"
        few = f"with fewer than {FEW_LABELS} labels, of which the model knows little"
        return f"{sentence}; {rare:,} of them {which} {few}"

    def annotators(self) -> list[dict[str, Any]]:
        """Return one row per annotator, best first; what is not known is None.

        None at all where labels were learned from.
        """
        if self.model.consensus_ is None:
            return []
        rows = self.model.annotators().to_dict("records")
        return [
            {str(name): None if value != value else value for name, value in row.items()}  # noqa: PLR0124
            for row in rows
        ]

    def disagreements(self) -> list[dict[Any, Any]]:
        """Return the pairs of annotators who disagree most."""
        if self.model.consensus_ is None:
            return []
        return self.model.disagreements().head(_MOST_PAIRS).to_dict("records")

    def facts(self) -> dict[str, Any]:
        """Return everything that made this run and came of it, as plain JSON values."""
        graph, table = self.graph, self.suspects
        understood = self.observation.understood
        return {
            "source": shown_path(self.source),
            "method": method_name(type(self.model)),
            "parameters": self.model.get_params(),
            "settings": self.settings(self.model),
            "noise": shown_noise(str(self.noise)),
            "seed": self.model.seed,
            "command": self.command,
            "data": {
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "features": graph.num_features,
                "classes": len(self.observation.classes),
                "class_names": [str(name) for name in self.observation.classes],
                "fingerprint": graph.fingerprint,
                "notes": list(graph.notes),
                "understood": understood.to_dict() if understood else None,
            },
            "labels": {
                "given": len(table),
                "look_wrong": int((table["suggested"] != table["given"]).sum()),
                "probably_wrong": int(table["is_issue"].sum()),
                "verified": int(self.observation.verified.sum()),
                "changes": list(self.observation.changes),
            },
            "annotators": self.annotators(),
            "metrics": self.metrics,
            "quality": self.model.quality().to_dict(),
            "chosen": self.model.notes_,
            "comparison": self.comparison(),
            "seconds_fit": self.model.seconds_,
            "threads": torch.get_num_threads(),
            "versions": dict(versions()),
        }
