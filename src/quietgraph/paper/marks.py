"""Where a printed number cannot be, one sentence that says why."""

from quietgraph.data.datasets import describe
from quietgraph.data.noise_setting import parse_noise, warn_if_uninformative
from quietgraph.paper.printed import printed

MERIT_WIDTH = 512  # of the embeddings of its official encoder
_SLACK = 0.005  # printed with two decimals


def accuracy_marks(target: str, dataset: str, row: str, noise: str) -> tuple[str, ...]:
    """Return why a printed accuracy is no evidence: copied, or of labels without information."""
    found = printed(target, dataset, row, noise)
    if found is None:
        return ()
    return (*copy_marks(found.copied_from), *noise_marks(dataset, noise, found.number.mean))


def copy_marks(source: str) -> tuple[str, ...]:
    """Return the mark of a row that is printed for another dataset, too."""
    if not source:
        return ()
    return (f"The printed row is, digit for digit, the one printed for {source}.",)


def noise_marks(dataset: str, noise: str, accuracy: float) -> tuple[str, ...]:
    """Return the mark of an accuracy above guessing from labels that do not show the true class."""
    setting, classes = parse_noise(noise), describe(dataset).classes
    sentence = warn_if_uninformative(setting, classes)
    if setting.kind != "symmetric" or sentence is None or accuracy <= 1 / classes:
        return ()
    return (f"{sentence} More than 1 in {classes} right cannot come from such labels.",)


def complexity_marks(dataset: str, row: str, method: str) -> tuple[str, ...]:
    """Return why a printed kernel complexity or its rank cannot be; `row` is KC or rank."""
    value = printed("kernel-complexity", dataset, "KC", method)
    rank = printed("kernel-complexity", dataset, "rank", method)
    if value is None or rank is None:
        return ()
    marks = []
    nodes = describe(dataset).nodes
    if value.number.mean + _SLACK < least_complexity(rank.number.mean, nodes):
        marks.append(
            "Printed KC and r0 contradict each other: by its formula KC is at least "
            "r0 (1/u + 1/m), which is 4 r0 / N or more for any split of N nodes."
        )
    if row == "rank" and method == "merit" and rank.number.mean > MERIT_WIDTH:
        marks.append(
            f"A rank cannot exceed the width of the embeddings, {MERIT_WIDTH} in MERIT's encoder."
        )
    return tuple(marks)


def least_complexity(rank: float, nodes: int) -> float:
    """Return what the kernel complexity at this rank is at least, however the nodes are split.

    The rank's share is r0 (1/u + 1/m) with u + m = nodes, smallest at u = m.
    """
    return 4 * rank / nodes


def time_marks(method: str) -> tuple[str, ...]:
    """Return the mark of the row whose name is printed wrongly."""
    if method != "gcl-lr-attention":
        return ()
    return ("Printed as a second row GCL-LRR; read here as GCL-LR-Attention.",)


def weight_marks(weight: str) -> tuple[str, ...]:
    """Return the mark where the sensitivity to tau contradicts the main table."""
    if weight not in {"0.2", "0.5"}:
        return ()
    return (
        "The classification table prints 0.594 for this setting, for tau = 0.20 as chosen by "
        "cross-validation; here 0.594 is the value of tau = 0.5, and tau = 0.2 has 0.590.",
    )
