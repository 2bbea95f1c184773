"""The trained encoder of a fitted model as a PyTorch module, called as PyG modules are."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from torch import Tensor, nn

from quietgraph.errors import NotInductiveError
from quietgraph.graph import Graph
from quietgraph.params import make
from quietgraph.types import Embeddings

if TYPE_CHECKING:
    from quietgraph.methods.base.node_classifier import NodeClassifier

Forward: TypeAlias = Callable[[nn.Module, Graph], Embeddings]


class GraphEncoder(nn.Module):
    """Computes embeddings from `x` and `edge_index`, in eval mode as `fit` did.

    Attributes:
        network: What was trained. Its weights are parameters where the method shows its network,
            so that they can be trained further; elsewhere they are buffers.
    """

    def __init__(self, network: nn.Module, forward: Forward) -> None:
        super().__init__()
        self.network, self._forward = network, forward

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Embeddings:
        """Return the embeddings of all nodes [nodes, dim].

        Args:
            x: Features [nodes, features]; no gradient flows to them.
            edge_index: Node indices at both ends [2, edges]; one direction of an edge is enough.
            edge_weight: One positive number per edge [edges].
        """
        graph = Graph.from_arrays(x, edge_index, weights=edge_weight).to(x.device)
        return self._forward(self.network, graph)


class _State(nn.Module):
    """The fitted state of a method as buffers, for methods that do not show their network."""

    def __init__(self, method: "NodeClassifier", state: dict[str, Tensor]) -> None:
        super().__init__()
        self.method, self.names = method, {_buffer(name): name for name in state}
        for name, value in state.items():
            self.register_buffer(_buffer(name), value)

    def embed(self, graph: Graph) -> Embeddings:
        """Return what the method makes of a graph by this state [nodes, dim]."""
        state = {name: self.get_buffer(buffer) for buffer, name in self.names.items()}
        return self.method._apply(graph, state)[1]


def make_encoder(model: "NodeClassifier") -> GraphEncoder:
    """Return the encoder of a fitted model; raise where embeddings exist only for its graph."""
    if not model.is_inductive():
        raise NotInductiveError(
            f"{type(model).__name__} has no encoder for other graphs: its embeddings exist only "
            "for the graph of fit, as embeddings_."
        )
    own = model._trained_network()
    if own is not None:
        return GraphEncoder(*own).eval()
    unfitted = make(type(model), model.get_params())
    return GraphEncoder(_State(unfitted, dict(model.state_)), _embed_by_state).eval()


def _embed_by_state(network: nn.Module, graph: Graph) -> Embeddings:
    return cast("_State", network).embed(graph)


def _buffer(name: str) -> str:
    return name.replace(".", "__")
