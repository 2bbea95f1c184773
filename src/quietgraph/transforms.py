"""Transforms of PyG: embeddings and label issues written into a `Data`.

import torch_geometric.transforms as T
T.Compose([T.NormalizeFeatures(), AddEmbeddings(qg.SUGRL()), FlagSuspects(qg.Quiet())])(data)
"""

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods import NodeClassifier
from quietgraph.params import make

__all__ = ["AddEmbeddings", "FlagSuspects"]


class AddEmbeddings(BaseTransform):  # type: ignore[misc]
    """Write embeddings into a `Data`.

    A fitted model is applied to the data; one that is not is fitted, as a copy, on its labels
    (`y`, `train_mask`, `val_mask`) in each call.

    Args:
        model: Any method; to apply a fitted one to other graphs it must be inductive.
        name: Attribute of the data to write; `x` appends the embeddings to the features.
    """

    def __init__(self, model: NodeClassifier, name: str = "embedding") -> None:
        self.model, self.name = model, name

    def forward(self, data: Data) -> Data:
        """Return the data with embeddings [nodes, dim]."""
        model = _fitted_on(self.model, data)
        known = _is_graph_of_fit(model, data)
        rows = torch.from_numpy(model.embeddings_ if known else model.embed(data))
        rows = rows.to(data.x.device)
        data[self.name] = torch.cat([data.x, rows], dim=1) if self.name == "x" else rows
        return data


class FlagSuspects(BaseTransform):  # type: ignore[misc]
    """Write which observed labels are probably wrong into a `Data`.

    Sets `suspect_mask` (probably wrong), `p_wrong` (NaN without a label) and `suggested_y` (the
    likelier label of a suspect, else `y`) [nodes]. Labels outside the masks are not read.

    Args:
        model: Any method; fitted on this data, or not fitted: then a copy is, in each call.
        drop: Whether to take suspects out of `train_mask`.
    """

    def __init__(self, model: NodeClassifier, *, drop: bool = False) -> None:
        self.model, self.drop = model, drop

    def forward(self, data: Data) -> Data:
        """Return the data with its suspects marked."""
        model = _fitted_on(self.model, data)
        if not _is_graph_of_fit(model, data):
            raise InvalidParameterError(
                "FlagSuspects needs a model that is fitted on this data, got one of another "
                "graph. Hand over a model that is not fitted."
            )
        table = model.suspects()
        nodes = torch.from_numpy(table["node"].to_numpy(dtype=np.int64, copy=True))
        flagged = torch.from_numpy(table["is_issue"].to_numpy(dtype=bool, copy=True))
        data.suspect_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
        data.suspect_mask[nodes] = flagged
        data.p_wrong = torch.full((data.num_nodes,), float("nan"))
        data.p_wrong[nodes] = torch.from_numpy(table["p_wrong"].to_numpy(np.float32, copy=True))
        data.suggested_y = data.y.clone()
        suggested = torch.from_numpy(np.array(list(table["suggested"][table["is_issue"]])))
        data.suggested_y[nodes[flagged]] = suggested.to(data.y)
        if self.drop:
            data.train_mask = data.train_mask & ~data.suspect_mask
        return data


def _fitted_on(model: NodeClassifier, data: Data) -> NodeClassifier:
    if hasattr(model, "scores_"):
        return model
    return make(type(model), model.get_params()).fit(data)


def _is_graph_of_fit(model: NodeClassifier, data: object) -> bool:
    return Graph.from_pyg(data).fingerprint == model.task_.graph.fingerprint
