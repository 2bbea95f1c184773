"""Memory, traffic and time of a fit on several machines, from constants that `scale.py` measures.

python benchmarks/scale.py cluster --epochs 10 [--epoch-ns 2350] [--encode-ns 490]
"""

import argparse
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cluster:
    """What a fit on several machines needs, from measured constants.

    Attributes:
        nodes: N.
        edges: E, undirected; the operator has 2 E + N entries.
        features: F, float32 columns.
        dim: d, width of hidden layer and embeddings.
        machines: M, one process each.
        part_nodes: n, nodes of a part.
        epochs: T.
        epoch_ns: One epoch on one machine, per entry (measured by `sizes`).
        encode_ns: Embedding all nodes, per entry (measured by `sizes`).
        network: Bytes per second between machines.
        prototypes: K, of all granularities.
    """

    nodes: float = 1e8
    edges: float = 1.6e9
    features: int = 128
    dim: int = 256
    machines: int = 8
    part_nodes: float = 5e4
    epochs: int = 10
    epoch_ns: float = 2350.0
    encode_ns: float = 490.0
    network: float = 1.25e9
    prototypes: int = 70

    @property
    def entries(self) -> float:
        """Stored entries of the operator."""
        return 2 * self.edges + self.nodes

    def disk_gb(self) -> float:
        """Folder: features, columns of both directions, row pointer, labels."""
        return (4 * self.nodes * self.features + 4 * 2 * self.edges + 16 * self.nodes) / 1e9

    def training_gb(self) -> float:
        """Memory of a machine in training, at most.

        An entry of its parts takes 24 bytes (column, weight, row and edge number); that all
        edges lie inside parts is the worst case. A step holds twelve matrices [n, d], the plan
        one number per node. Features are mapped and need room only as far as there is some.
        """
        step = 12 * 4 * self.part_nodes * self.dim
        return (24 * self.entries / self.machines + step + 8 * self.nodes) / 1e9

    def matrix_gb(self) -> float:
        """One matrix [N, d], of which the first machine holds four in memory or on disk."""
        return 4 * self.nodes * self.dim / 1e9

    def steps(self) -> float:
        """Steps of all epochs: each takes one part per machine."""
        return self.epochs * self.nodes / self.part_nodes / self.machines

    def step_megabytes(self) -> float:
        """Sent by a machine in a step: Gram matrix, prototypes, gradients, by a ring."""
        weights = self.features * self.dim + self.dim**2 + 2 * self.dim + 1
        floats = self.dim**2 + self.prototypes * (self.dim + 1) + weights
        return 2 * (self.machines - 1) / self.machines * 4 * floats / 1e6

    def sending_hours(self) -> float:
        """Time on the network, latency aside."""
        return self.steps() * self.step_megabytes() * 1e6 / self.network / 3600

    def computing_hours(self) -> float:
        """Time of all epochs on the processors."""
        return self.epochs * self.entries * self.epoch_ns * 1e-9 / self.machines / 3600

    def encoding_hours(self) -> float:
        """Embedding all nodes, which the first machine does alone."""
        return self.entries * self.encode_ns * 1e-9 / 3600


def show_cluster(options: argparse.Namespace) -> None:
    base = Cluster(epochs=options.epochs, epoch_ns=options.epoch_ns, encode_ns=options.encode_ns)
    print(
        f"{base.nodes:.0e} nodes, {base.edges:.1e} edges, {base.features} features, width "
        f"{base.dim}, {base.epochs} epochs; {base.epoch_ns:.0f} ns an entry and epoch, "
        f"{base.encode_ns:.0f} ns to embed, {base.network / 1.25e8:.0f} Gbit/s"
    )
    print(f"folder {base.disk_gb():.0f} GB, one matrix [N, d] {base.matrix_gb():.0f} GB\n")
    print(
        "| machines | memory GB each | steps | MB a step | sending h | computing h | then "
        "embedding h |"
    )
    print("|---|---|---|---|---|---|---|")
    for machines in (8, 32, 128):
        one = replace(base, machines=machines)
        print(
            f"| {machines} | {one.training_gb():.0f} | {one.steps():,.0f} | "
            f"{one.step_megabytes():.2f} | {one.sending_hours():.3f} | "
            f"{one.computing_hours():.1f} | {one.encoding_hours():.1f} |"
        )
