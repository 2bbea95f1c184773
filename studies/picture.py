"""Draw the picture of the README: observed labels, flagged ones ringed, and predictions.

python studies/picture.py docs/images/picture.png

It prints the sentence that describes the picture, for README.md and docs/index.md; a slow test
compares these with what `quiet` answers now.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

import quietgraph as qg
from quietgraph.data.datasets import load_benchmark
from quietgraph.report.embedding_map import place_nodes

mpl.use("Agg")
from matplotlib import pyplot as plt

NOISE = "symmetric:0.4"


@dataclass(frozen=True, eq=False)
class Shown:
    """What the picture shows of one fit, each entry of a node but for the last two."""

    observed: np.ndarray
    known: np.ndarray
    wrong: np.ndarray
    predicted: np.ndarray
    embeddings: np.ndarray
    flagged: np.ndarray  # positions of nodes
    accuracy: float

    @property
    def hits(self) -> int:
        """How many flagged labels are wrong."""
        return int(self.wrong[self.flagged].sum())

    def words(self) -> str:
        """Return the description of the picture."""
        return (
            f"Left: {self.known.sum()} observed labels of handwritten digits on a map, "
            f"{self.wrong[self.known].sum()} of them wrong; {len(self.flagged)} are ringed as "
            f"wrong, {self.hits} rightly. Right: the predicted class of all "
            f"{len(self.predicted):,} nodes, {100 * self.accuracy:.1f} % of the test nodes right."
        )


def learn() -> Shown:
    clean, reference = load_benchmark("digits", seed=0)
    observed = qg.apply_noise(clean, qg.parse_noise(NOISE), seed=0, reference=reference)
    model = qg.Quiet(seed=0).fit(observed)
    suspects, truth = model.suspects(), reference.codes.numpy()
    known, test = (mask.numpy() for mask in (observed.known, observed.split.test))
    return Shown(
        observed.labels,
        known,
        reference.wrong(observed).numpy(),
        model.predict(),
        model.embeddings_,
        suspects.loc[suspects["is_issue"], "node"].to_numpy(),
        float((model.predict()[test] == truth[test]).mean()),
    )


def draw(shown: Shown, target: Path) -> None:
    places = place_nodes(shown.embeddings, generator=np.random.default_rng(0))
    known, ringed = shown.known, places[shown.flagged]
    mpl.rcParams["font.size"] = 15  # to be read on a phone too
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    colours = plt.get_cmap("tab10")
    left.scatter(*places[~known].T, s=4, color="#d8d8d8", linewidths=0)
    left.scatter(*places[known].T, s=20, c=colours(shown.observed[known]), linewidths=0)
    left.scatter(*ringed.T, s=40, facecolors="none", edgecolors="black", linewidths=0.7)
    right.scatter(*places.T, s=9, c=colours(shown.predicted), linewidths=0)
    left.set_title(f"In: {known.sum()} labels, {shown.wrong[known].sum()} wrong", loc="left")
    left.set_xlabel(f"ringed: {len(ringed)} flagged, {shown.hits} rightly", loc="left")
    right.set_title(f"Out: a class for {len(places):,} nodes", loc="left")
    right.set_xlabel(f"{shown.accuracy:.1%} of the test nodes right", loc="left")
    for axes in (left, right):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    figure.savefig(target, dpi=120)
    # 48 colours: a quarter of the size, and nothing to see of it.
    Image.open(target).convert("RGB").quantize(48).save(target, optimize=True)


if __name__ == "__main__":
    found = learn()
    draw(found, Path(sys.argv[1]))
    print(found.words())
