"""Draw the picture of the README: observed labels, flagged ones ringed, and predictions.

python studies/picture.py docs/images/picture.png
"""

import sys
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


def main(target: Path) -> None:
    clean, reference = load_benchmark("digits", seed=0)
    observed = qg.apply_noise(clean, qg.parse_noise(NOISE), seed=0, reference=reference)
    model = qg.Quiet(seed=0).fit(observed)
    suspects = model.suspects()
    places = place_nodes(model.embeddings_, generator=np.random.default_rng(0))
    truth = reference.codes.numpy()
    known, test = (mask.numpy() for mask in (observed.known, observed.split.test))
    wrong = reference.wrong(observed).numpy()
    flagged = suspects.loc[suspects["is_issue"], "node"].to_numpy()
    right = (model.predict()[test] == truth[test]).mean()

    figure, (left, middle) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    colours = plt.get_cmap("tab10")
    left.scatter(*places[~known].T, s=4, color="#d8d8d8", linewidths=0)
    left.scatter(*places[known].T, s=20, c=colours(observed.labels[known]), linewidths=0)
    left.scatter(*places[flagged].T, s=40, facecolors="none", edgecolors="black", linewidths=0.7)
    middle.scatter(*places.T, s=9, c=colours(model.predict()), linewidths=0)
    hits = int(wrong[flagged].sum())
    left.set_title(f"In: {known.sum()} labels, {wrong[known].sum()} of them wrong", loc="left")
    left.set_xlabel(f"ringed: {len(flagged)} flagged as wrong, {hits} of them are", loc="left")
    middle.set_title(f"Out: a class for each of {len(places):,} nodes", loc="left")
    middle.set_xlabel(f"{right:.1%} of the test nodes right", loc="left")
    for axes in (left, middle):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    figure.savefig(target, dpi=120)
    # 48 colours: a quarter of the size, and nothing to see of it.
    Image.open(target).convert("RGB").quantize(48).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
