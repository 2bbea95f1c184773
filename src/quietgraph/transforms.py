"""Transforms of PyG: embeddings and suspects written into a `Data`.

import torch_geometric.transforms as T
T.Compose([T.NormalizeFeatures(), AddEmbeddings(qg.SUGRL()), FlagSuspects(qg.Quiet())])(data)
"""

import torch
from sklearn.base import clone
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from quietgraph.assessment.assess import assess
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods.base import NodeClassifier


class AddEmbeddings(BaseTransform):
    """Write embeddings into a `Data`.

    Args:
        model: Any method. A fitted one is applied to the data, and must be inductive if these are others than those of
            fit; of one that is not fitted a copy is fitted in each call, on `y`, `train_mask` and `val_mask`.
        name: Attribute of the data to write; `x` appends the embeddings to the features.
    """

    def __init__(self, model: NodeClassifier, name: str = "embedding") -> None:
        self.model, self.name = model, name

    def forward(self, data: Data) -> Data:
        """Return the data with embeddings [nodes, dim]."""
        model, same = _fitted_on(self.model, data)
        rows = torch.from_numpy(model.embed() if same else model.embed(data)).to(data.x.device)
        data[self.name] = torch.cat([data.x, rows], dim=1) if self.name == "x" else rows
        return data


class FlagSuspects(BaseTransform):
    """Write which observed labels are probably wrong into a `Data`.

    Sets `suspect_mask` (probably wrong), `p_wrong` (NaN without a label) and `suggested_y` (the likelier label of a
    suspect, else `y`) [nodes]. Labels outside the masks are not read.

    Args:
        model: Any method; fitted on these data, or not fitted: then a copy is, in each call.
        drop: Whether to take suspects out of `train_mask`.
    """

    def __init__(self, model: NodeClassifier, *, drop: bool = False) -> None:
        self.model, self.drop = model, drop

    def forward(self, data: Data) -> Data:
        """Return the data with their suspects marked."""
        model, same = _fitted_on(self.model, data)
        if not same:
            problem = "FlagSuspects needs a model that is fitted on these data, got one of another graph."
            raise InvalidParameterError(f"{problem} Give a model that is not fitted.")
        found = assess(model)
        data.suspect_mask, data.p_wrong = torch.from_numpy(found.is_suspect), torch.from_numpy(found.p_wrong).float()
        suggested = found.corrected()[found.is_suspect].astype(int)
        data.suggested_y = data.y.masked_scatter(data.suspect_mask, torch.from_numpy(suggested).to(data.y))
        if self.drop:
            data.train_mask = data.train_mask & ~data.suspect_mask
        return data


def _fitted_on(model: NodeClassifier, data: Data) -> tuple[NodeClassifier, bool]:
    """Return a fitted model, and whether the data are those of its fit."""
    if not hasattr(model, "fitted_"):
        return clone(model).fit(data), True
    return model, Graph.from_pyg(data).fingerprint == model.data_.graph.fingerprint
