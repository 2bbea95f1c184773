"""What MERIT, Sel-CL and Jo-SRC share: the parameters of their siamese networks."""

from dataclasses import dataclass
from typing import ClassVar, Final

from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.params import Presets, param

_PUBMED = {"momentum": 0.9, "cross_view": 0.7, "edge_change": 0.4, "feature_mask": 0.2}
_OTHERS = {**_PUBMED, "edge_change": 0.3, "feature_mask": 0.3}
_UNPUBLISHED = ("coauthor-cs", "amazon-computers", "amazon-photo", "wiki-cs", "ogbn-arxiv")
_PRESETS: Final[Presets] = {
    "citeseer": {"cross_view": 0.6, "edge_change": 0.4, "feature_mask": 0.4},
    "pubmed": _PUBMED,
    **dict.fromkeys((*_UNPUBLISHED, "texas", "chameleon"), _OTHERS),
}


@dataclass(kw_only=True, eq=False)
class SiameseBackbone(NodeClassifier):
    """Parameters of the siamese networks of MERIT, which Sel-CL and Jo-SRC build on."""

    presets: ClassVar[Presets] = _PRESETS

    dim: int = param(256, "width of the embeddings", low=1)
    hidden: int = param(256, "width of the hidden layers of projector and predictor", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    edge_change: float = param(
        0.2, "fraction of edges exchanged for random ones in view 1", low=0, high=1
    )
    feature_mask: float = param(
        0.5, "fraction of feature columns masked in each view", low=0, high=1
    )
    teleport: float = param(0.05, "return probability of the diffusion in view 2", low=0.01, high=1)
    cross_view: float = param(0.5, "weight of views against networks (beta)", low=0, high=1)
    momentum: float = param(
        0.8, "fraction of its parameters that the target keeps in a step", low=0, high=1
    )
    temperature: float = param(1.0, "temperature of the contrast", low=1e-3)
    sample: int = param(300, "nodes contrasted in a step", low=2)
    epochs: int = param(500, "training epochs of one step each", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
