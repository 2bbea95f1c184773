"""What the diagnostics cost, how often the bound fails, how well the noise is estimated.

    python studies/diagnostics.py speed    # time and memory at the size of ogbn-arxiv
    python studies/diagnostics.py bound    # 200 random problems, c_0 fitted on 200 others
    python studies/diagnostics.py noise    # error of the estimated noise rate and matrix

Each prints one table. All data are simulated, from fixed seeds.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from quietgraph.diagnose import (
    BoundSettings,
    attended_embeddings,
    bound_terms,
    diagnose_embedding,
    estimate_noise,
    gram_eigenvalues,
    label_projection,
    noise_projection,
)
from quietgraph.rng import torch_generator


@dataclass(frozen=True)
class Problem:
    """An embedding with right and partly wrong labels."""

    embeddings: Tensor  # [nodes, dim]
    right: Tensor  # [nodes]
    labels: Tensor  # [nodes]
    labelled: Tensor  # [nodes] bool


def flip(right: Tensor, transition: Tensor, generator: torch.Generator) -> Tensor:
    """Return labels drawn from the rows of a transition matrix [classes, classes]."""
    return torch.multinomial(transition[right], 1, generator=generator).squeeze(1)


def symmetric(rate: float, num_classes: int) -> Tensor:
    """Return the matrix that gives every wrong class the same probability."""
    matrix = torch.full((num_classes, num_classes), rate / (num_classes - 1))
    return matrix.fill_diagonal_(1 - rate)


def pair(rate: float, num_classes: int) -> Tensor:
    """Return the matrix that takes each class for the previous one."""
    eye = torch.eye(num_classes)
    return (1 - rate) * eye + rate * eye.roll(-1, dims=1)


# ---- speed


def arxiv_sized() -> Problem:
    """Return 169,343 nodes in 256 dimensions and 40 classes, 90,941 of them labelled."""
    nodes, dim, classes, labelled = 169_343, 256, 40, 90_941
    generator = torch_generator(0, "diagnostics", "speed")
    right = torch.randint(classes, (nodes,), generator=generator)
    centres = torch.randn(classes, dim, generator=generator)
    embeddings = torch.randn(nodes, dim, generator=generator).add_(centres[right])
    mask = torch.zeros(nodes, dtype=torch.bool)
    mask[torch.randperm(nodes, generator=generator)[:labelled]] = True
    return Problem(embeddings, right, flip(right, symmetric(0.4, classes), generator), mask)


def peak_megabytes() -> float:
    """Return the largest memory this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def speed() -> None:
    """Print time and peak memory of each diagnostic and of all together."""
    problem = arxiv_sized()
    rows, labels, right = problem.embeddings, problem.labels, problem.right
    masked = {"labelled": problem.labelled, "reference": right}
    chances = torch.rand(len(rows), 40, generator=torch_generator(0, "chances")).softmax(1)
    steps: dict[str, Callable[[], object]] = {
        "spectrum": lambda: gram_eigenvalues(rows),
        "attention": lambda: attended_embeddings(rows),
        "bound terms, 25 numbers of steps": lambda: bound_terms(rows, labels, **masked),
        "projection of labels": lambda: label_projection(rows, right),
        "projection of noise": lambda: noise_projection(rows, labels, right),
        "noise estimate": lambda: estimate_noise(chances, labels),
        "all: diagnose_embedding": lambda: diagnose_embedding(
            rows, labels, probabilities=chances, **masked
        ),
    }
    print(f"threads {torch.get_num_threads()}; data alone: peak {peak_megabytes():.0f} MB")
    print(f"{'diagnostic':34}{'seconds':>9}{'peak MB':>9}")
    for name, run in steps.items():
        start = time.perf_counter()
        run()
        print(f"{name:34}{time.perf_counter() - start:9.1f}{peak_megabytes():9.0f}")


# ---- bound


def small_problem(seed: int) -> Problem:
    """Return 40 to 160 nodes in 2 to 32 dimensions, up to 60 % noise, 20 to 80 % labelled."""
    generator = torch.Generator().manual_seed(seed)

    def between(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(1, generator=generator))

    nodes, dim, classes = int(between(40, 161)), int(between(2, 33)), int(between(2, 6))
    right = torch.randint(classes, (nodes,), generator=generator)
    centres = torch.randn(classes, dim, generator=generator, dtype=torch.float64)
    centres *= between(0, 3)
    spread = torch.randn(nodes, dim, generator=generator, dtype=torch.float64)
    spread *= torch.rand(dim, generator=generator, dtype=torch.float64)
    wrong = torch.rand(nodes, generator=generator) < between(0, 0.6)
    other = (right + torch.randint(1, classes, (nodes,), generator=generator)) % classes
    mask = torch.zeros(nodes, dtype=torch.bool)
    count = int(between(0.2, 0.8) * nodes)
    mask[torch.randperm(nodes, generator=generator)[:count]] = True
    return Problem(centres[right] + spread, right, other.where(wrong, right), mask)


@dataclass(frozen=True)
class Ratios:
    """Test loss over bound at c_0 = 1, the worst of all numbers of steps, and m / d."""

    worst: Tensor  # [problems]
    labels_per_dim: Tensor  # [problems]


def bound_ratios(seeds: Iterable[int]) -> Ratios:
    """Return how much of the bound the measured test loss takes up, problem by problem."""
    worst, per_dim = [], []
    for seed in seeds:
        problem = small_problem(seed)
        terms = bound_terms(
            problem.embeddings,
            problem.labels,
            labelled=problem.labelled,
            reference=problem.right,
            settings=BoundSettings(constant=1.0),
        )
        assert terms.test_loss is not None
        worst.append(float((terms.test_loss / terms.upper_bound).max()))
        per_dim.append(terms.num_labelled / problem.embeddings.shape[1])
    return Ratios(torch.tensor(worst), torch.tensor(per_dim))


def bound() -> None:
    """Print how often the bound is violated for three choices of c_0."""
    fitted, fresh = bound_ratios(range(200)), bound_ratios(range(1000, 1200))
    choices = {
        "largest needed by 200 other problems": float(fitted.worst.max()),
        "enough for 95 % of them": float(fitted.worst.quantile(0.95)),
        "default": 1.0,
    }
    print(f"{'c_0':40}{'value':>8}{'violated, of 200':>18}")
    for name, constant in choices.items():
        print(f"{name:40}{constant:8.2f}{int((fresh.worst > constant).sum()):18}")
    print(f"\n{'2,000 more problems, m/d':40}{'count':>8}{'share above 1':>18}{'worst':>8}")
    more = bound_ratios(range(2000, 4000))
    for low, high in ((0.0, 0.7), (0.7, 1.4), (1.4, 2.0), (2.0, 4.0), (4.0, float("inf"))):
        inside = more.worst[(more.labels_per_dim >= low) & (more.labels_per_dim < high)]
        share, worst = float((inside > 1).double().mean()), float(inside.max())
        print(f"{f'{low:g} to {high:g}':40}{len(inside):8}{share:18.3f}{worst:8.2f}")


# ---- noise


@dataclass(frozen=True)
class NoiseCase:
    """Out-of-fold probabilities of a classifier that learned from noisy labels."""

    probabilities: Tensor  # [nodes, classes]
    labels: Tensor  # [nodes]
    wrong_share: float
    transition: Tensor  # [classes, classes]


def noise_case(nodes: int, transition: Tensor, *, distance: float, seed: int) -> NoiseCase:
    """Return a case of Gaussian classes in 16 dimensions, five folds, logistic regression."""
    generator = torch_generator(seed, "diagnostics", "noise")
    classes = len(transition)
    right = torch.randint(classes, (nodes,), generator=generator)
    centres = torch.randn(classes, 16, generator=generator)
    centres *= distance / centres.norm(dim=1, keepdim=True)
    rows = (centres[right] + torch.randn(nodes, 16, generator=generator)).numpy()
    labels = flip(right, transition, generator)
    probabilities = torch.full((nodes, classes), 1e-9)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for inside, outside in folds.split(rows, labels):
        model = LogisticRegression(C=0.1, max_iter=500).fit(rows[inside], labels[inside])
        columns = torch.from_numpy(model.classes_)
        found = torch.from_numpy(model.predict_proba(rows[outside])).float()
        probabilities[torch.from_numpy(outside)[:, None], columns] = found
    wrong_share = float((labels != right).double().mean())
    return NoiseCase(probabilities, labels, wrong_share, transition)


def confident_counts(case: NoiseCase) -> tuple[float, Tensor]:
    """Return rate and matrix by confident counting, to compare with.

    A node counts for the likeliest class whose probability reaches the mean that the nodes given
    this class have; counts are then scaled to the given class sizes.
    """
    chances, labels, classes = case.probabilities.double(), case.labels, len(case.transition)
    means = torch.stack([chances[labels == c, c].mean().nan_to_num(1.0) for c in range(classes)])
    reached = chances.where(chances >= means, -1.0)
    counted = reached.max(1).values > 0
    pairs = reached.argmax(1)[counted] * classes + labels[counted]
    counts = pairs.bincount(minlength=classes**2).view(classes, classes).double()
    counts *= labels.bincount(minlength=classes) / counts.sum(0).clamp(min=1e-9)
    rate = float(1 - counts.trace() / counts.sum())
    return rate, counts / counts.sum(1, keepdim=True).clamp(min=1e-9)


def noise_errors(
    nodes: int, classes: int, repeats: Iterable[int]
) -> dict[str, tuple[float, float]]:
    """Return the mean absolute error of the rate and the mean row distance of T, per estimator.

    The row distance is half the summed absolute difference, between 0 and 1.
    """
    errors: dict[str, list[tuple[float, float]]] = {"anchors": [], "confident counts": []}
    kinds = [symmetric(rate, classes) for rate in (0.0, 0.2, 0.4, 0.6)]
    kinds += [pair(rate, classes) for rate in (0.2, 0.4)]
    for repeat in repeats:
        for index, transition in enumerate(kinds):
            for distance in (2.5, 4.0, 6.0):
                seed = 1000 * repeat + 10 * index + int(distance)
                case = noise_case(nodes, transition, distance=distance, seed=seed)
                found = estimate_noise(case.probabilities, case.labels)
                both = {
                    "anchors": (found.rate, found.transition),
                    "confident counts": confident_counts(case),
                }
                for name, (rate, matrix) in both.items():
                    off = (matrix - transition).abs().sum(1).mean() / 2
                    errors[name].append((abs(rate - case.wrong_share), float(off)))
    return {
        name: (sum(r for r, _ in each) / len(each), sum(t for _, t in each) / len(each))
        for name, each in errors.items()
    }


def noise() -> None:
    """Print the errors of the noise estimate for four sizes."""
    print(f"{'nodes':>6}{'classes':>9}  {'estimator':18}{'rate error':>12}{'T error':>9}")
    for nodes, classes in ((60, 3), (140, 7), (640, 7), (2000, 5)):
        for name, (rate, matrix) in noise_errors(nodes, classes, range(5)).items():
            print(f"{nodes:6}{classes:9}  {name:18}{rate:12.3f}{matrix:9.3f}")


if __name__ == "__main__":
    tables = {"speed": speed, "bound": bound, "noise": noise}
    if len(sys.argv) != 2 or sys.argv[1] not in tables:
        sys.exit(f"usage: python studies/diagnostics.py {'|'.join(tables)}")
    tables[sys.argv[1]]()
