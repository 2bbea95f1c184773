"""An encoder in one process whose gradients are added up as several processes add them up."""

from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from quietgraph.embed.scale.partitions import Plan
from quietgraph.types import Embeddings


class SlotEncoder:
    """Applies an encoder to partitions, and adds up its gradients by slot of the step first.

    A process that trains one partition of a step adds up the gradients of all its views, and then
    come those of the other processes. One process with all partitions of the step does the same
    here: sums in single precision depend on their order, and choices made after training may turn
    a difference in the last digit into a large one.
    """

    def __init__(self, encoder: nn.Module, plan: Plan) -> None:
        self.encoder, self.plan = encoder, plan
        self.is_alone = plan.world.size == 1 and plan.per_step > 1
        self.synchronised = plan.world.wrap(encoder)
        self.weights: dict[int, dict[str, Tensor]] = {}  # by slot: the same numbers, other nodes

    def start_step(self) -> None:
        """Forget the slots of the step before."""
        self.weights = {}

    def __call__(self, partition: int, *inputs: Any) -> Embeddings:
        """Return the embeddings of a view of a partition [nodes, dim]."""
        embeddings: Embeddings
        if not self.is_alone:
            embeddings = self.synchronised(*inputs)
            return embeddings
        slot = self.plan.slot(partition)
        if slot not in self.weights:
            named = self.encoder.named_parameters()
            self.weights[slot] = {name: weight.view_as(weight) for name, weight in named}
        embeddings = functional_call(self.encoder, self.weights[slot], inputs)
        return embeddings
