"""What is written of a fit to a large graph: predictions and embeddings of all nodes, in parts.

Several processes write together, each its rows. The report, the suspects and the model are made of
the labelled nodes and a sample of the others, which one process holds whatever the graph's size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, overload

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.data.observation import Observation, Reference
from quietgraph.data.splits import Split
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.embed.scale.partitions import induced_graph
from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.table import open_table
from quietgraph.methods import NodeClassifier
from quietgraph.report.run_files import EMBEDDINGS_FILE, PREDICTIONS_FILE, PREDICTIONS_FOLDER
from quietgraph.rng import torch_generator
from quietgraph.types import AnyArray

WHOLE_REPORT_UP_TO: Final = 50_000  # nodes whose rows one of several processes holds with ease
ALONE_UP_TO: Final = 1_000_000  # nodes of a report by a process that has the memory for itself
_DRAWN: Final = 20_000  # nodes without a label in the sample: as many as a map shows


@dataclass(frozen=True, eq=False)
class WholeFit:
    """A fit whose report is made of some nodes alone.

    Attributes:
        observation: Of all nodes.
        model: Fitted; its rows are those of all nodes, mapped from files.
        nodes: Positions of the nodes of the report, ascending.
    """

    observation: Observation
    model: NodeClassifier
    nodes: Tensor

    @property
    def predicted(self) -> "Predicted":
        """Predicted label of each node as text."""
        return Predicted(self.model)


class Predicted(Sequence[str]):
    """Predicted labels as texts, of which each is looked up when it is asked for."""

    def __init__(self, model: NodeClassifier) -> None:
        self.model = model

    def __len__(self) -> int:
        return len(self.model.scores_)

    @overload
    def __getitem__(self, node: int) -> str: ...
    @overload
    def __getitem__(self, node: slice) -> list[str]: ...
    def __getitem__(self, node: int | slice) -> str | list[str]:
        """Return the predicted label of a node, or of a range."""
        if isinstance(node, slice):
            return [self[one] for one in range(*node.indices(len(self)))]
        return str(self.model.classes_[int(self.model.scores_[node].argmax())])


@dataclass(frozen=True, eq=False)
class SampledFit:
    """What a report is made of: some nodes of a large graph, all of a small one."""

    observation: Observation
    model: NodeClassifier
    reference: Reference | None
    whole: WholeFit | None  # None: it is all nodes


def sample_fit(
    observation: Observation, model: NodeClassifier, reference: Reference | None = None
) -> SampledFit:
    """Return what a report is made of, the quality of the model assessed.

    All nodes up to a million, up to 50,000 where several processes share the memory, and with
    annotators; else labelled and drawn ones. All processes call it together.

    Args:
        observation: That the model was fitted on.
        model: Fitted by all processes.
        reference: True labels, where they are known.
    """
    size = observation.graph.num_nodes
    most = ALONE_UP_TO if current_world().size == 1 else WHOLE_REPORT_UP_TO
    if size <= most or model.consensus_ is not None:
        model.quality()
        return SampledFit(observation, model, reference, None)
    draws = torch_generator(model.seed, "nodes of the report")
    drawn = torch.randint(size, (_DRAWN,), generator=draws)
    known = observation.known.nonzero().squeeze(1)
    nodes = torch.unique(torch.cat([known, drawn]))
    whole = WholeFit(observation, model, nodes)
    if reference is not None:
        reference = replace(reference, codes=reference.codes[nodes])
    return SampledFit(_observation_on(observation, nodes), model.on_nodes(nodes), reference, whole)


def _observation_on(observation: Observation, nodes: Tensor) -> Observation:
    split, before = observation.split, observation.before_review
    return replace(
        observation,
        graph=induced_graph(observation.graph, nodes),
        codes=observation.codes[nodes],
        split=Split(split.train[nodes], split.validation[nodes], split.test[nodes]),
        node_ids=observation.node_ids[nodes.numpy()],
        verified=observation.verified[nodes],
        before_review=None if before is None else before[nodes],
    )


def write_rows(model: NodeClassifier, node_ids: AnyArray, folder: Path) -> None:
    """Write predictions and embeddings of the rows of this process into a folder of the run.

    Args:
        model: Fitted and calibrated, the same in all processes.
        node_ids: The user's ids [nodes].
        folder: Which all processes see.
    """
    import pyarrow as pa  # noqa: PLC0415  (slow)
    import pyarrow.parquet as pq  # noqa: PLC0415

    nodes, parts = node_rows(len(model.scores_)), folder / PREDICTIONS_FOLDER
    parts.mkdir(exist_ok=True)
    is_counted = pd.api.types.infer_dtype(node_ids, skipna=False) == "integer"
    path, writer = parts / _part(current_world().rank), None
    try:
        for rows in nodes.blocks():
            found = model.calibration_.probabilities(model.scores_[rows]).numpy()
            ids = node_ids[rows]
            if not is_counted:
                ids = np.array([id_key(node) for node in ids], dtype=object)
            table = pa.Table.from_pandas(
                predictions_table(found, model.classes_, ids), preserve_index=False
            )
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    nodes.save(folder / EMBEDDINGS_FILE, torch.from_numpy(model.embeddings_))


def predictions_table(
    probabilities: AnyArray,
    classes: AnyArray,
    node_ids: AnyArray,
) -> pd.DataFrame:
    """Return one row per node: the predicted label, its probability, and all probabilities."""
    best = probabilities.argmax(axis=1)
    each = {f"p_{name}": probabilities[:, code] for code, name in enumerate(classes)}
    return pd.DataFrame(
        {
            "node": node_ids,
            "predicted": classes[best],
            "probability": probabilities[np.arange(len(best)), best],
            **each,
        }
    )


def read_predictions(folder: Path) -> pd.DataFrame:
    """Return the predictions of a run folder, whether one process wrote them or several."""
    if (folder / PREDICTIONS_FILE).is_file():
        return pd.read_csv(folder / PREDICTIONS_FILE, keep_default_na=False)  # NA may be a node
    parts = sorted((folder / PREDICTIONS_FOLDER).glob("part-*.parquet"))
    if not parts:
        raise UnreadableFileError(f"{folder} holds no predictions. Fit the model again.")
    tables = [open_table(part, budget_of(str(part), [part], None)) for part in parts]
    frames = [piece.to_pandas() for table in tables for piece in table.pieces()]
    found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    wanted = len(np.load(folder / EMBEDDINGS_FILE, mmap_mode="r"))
    if len(found) != wanted or [part.name for part in parts] != list(map(_part, range(len(parts)))):
        raise UnreadableFileError(
            f"{folder / PREDICTIONS_FOLDER} lacks a part: it holds {len(found):,} of {wanted:,} "
            "nodes. Fit the model again."
        )
    return found


def _part(rank: int) -> str:
    return f"part-{rank:05d}.parquet"
