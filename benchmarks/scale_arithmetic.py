"""Memory, traffic and time of a fit on several machines, from constants that `scale.py` measures.

python benchmarks/scale.py cluster --epochs 10 [--epoch-ns 1844] [--encode-ns 457]
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
        labelled: Nodes with a label.
        block: Rows computed at once.
    """

    nodes: float = 1e8
    edges: float = 1.6e9
    features: int = 128
    dim: int = 256
    machines: int = 8
    part_nodes: float = 5e4
    epochs: int = 10
    epoch_ns: float = 1844.0
    encode_ns: float = 457.0
    network: float = 1.25e9
    prototypes: int = 70
    labelled: float = 1e5
    block: int = 16_384

    @property
    def entries(self) -> float:
        """Stored entries of the operator."""
        return 2 * self.edges + self.nodes

    def disk_gb(self) -> float:
        """Folder: features, columns of both directions, row pointer, labels, ids."""
        return (4 * self.nodes * self.features + 4 * 2 * self.edges + 24 * self.nodes) / 1e9

    def per_node_gb(self) -> float:
        """Numbers per node that a machine holds at most, as `ranks.py --numbers` measures them.

        Two masks stay (2 bytes), and beside them are two or three more while labels are read and
        given to a method. All else is in files that the system takes out of memory where it is
        short: ids, labels, degrees, the partition and the component of each node.
        """
        return 5 * self.nodes / 1e9

    def training_gb(self) -> float:
        """Memory of a machine in training, at most.

        An entry of its parts takes 24 bytes (column, weight, row and edge number); that all
        edges lie inside parts is the worst case. A step holds twelve matrices [n, d]. Features are
        mapped and need room only as far as there is some. A node of its parts is listed in 4 bytes.
        """
        step = 12 * 4 * self.part_nodes * self.dim
        own = (24 * self.entries + 4 * self.nodes) / self.machines
        return (own + step) / 1e9 + self.per_node_gb()

    def rows_gb(self) -> float:
        """Memory of a machine while it embeds, classifies and writes its rows.

        Eight blocks of rows at a time, and the labelled rows with their attended half, which the
        classifier reads in double precision.
        """
        blocks = 8 * 4 * self.block * self.dim
        labelled = (4 + 8) * 2 * self.dim * self.labelled
        return (blocks + labelled) / 1e9 + self.per_node_gb()

    def matrix_gb(self) -> float:
        """One matrix [N, d] on the shared file system, of which there are six at most."""
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
        """Embedding all nodes, each machine its rows."""
        return self.entries * self.encode_ns * 1e-9 / self.machines / 3600

    def exchanged_gb(self) -> float:
        """Rows that a machine reads of others, at most: two layers, ten propagations.

        Without locality every neighbour's row is elsewhere, and no row is read twice from memory.
        """
        return 12 * min(self.entries / self.machines, self.nodes) * 4 * self.dim / 1e9

    def exchanging_hours(self) -> float:
        """Time on the network for these rows."""
        return self.exchanged_gb() * 1e9 / self.network / 3600


def show_cluster(options: argparse.Namespace) -> None:
    base = Cluster(epochs=options.epochs, epoch_ns=options.epoch_ns, encode_ns=options.encode_ns)
    print(
        f"{base.nodes:.0e} nodes, {base.edges:.1e} edges, {base.features} features, width "
        f"{base.dim}, {base.epochs} epochs; {base.epoch_ns:.0f} ns an entry and epoch, "
        f"{base.encode_ns:.0f} ns to embed, {base.network / 1.25e8:.0f} Gbit/s"
    )
    print(f"folder {base.disk_gb():.0f} GB, one matrix [N, d] {base.matrix_gb():.0f} GB on disk\n")
    print(
        "| machines | GB each, training | GB each, rows | steps | MB a step | computing h | "
        "embedding h | rows read GB | reading h |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for machines in (8, 32, 128):
        one = replace(base, machines=machines)
        print(
            f"| {machines} | {one.training_gb():.0f} | {one.rows_gb():.0f} | {one.steps():,.0f} | "
            f"{one.step_megabytes():.2f} | {one.computing_hours():.1f} | "
            f"{one.encoding_hours():.2f} | {one.exchanged_gb():,.0f} | "
            f"{one.exchanging_hours():.1f} |"
        )
