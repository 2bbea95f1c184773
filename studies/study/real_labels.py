"""Labels of a language model on Cora: every method that has been run on them."""

import pandas as pd

from study.blocks import block
from study.records import old_words, runs
from study.words import fixed, listed, markdown, mean_std


def real_runs() -> pd.DataFrame:
    """Return the runs on the labels of GPT-3.5."""
    found = runs("real-8000")
    return found[found["noise"].str.startswith("labels:")]


@block
def real_labels() -> str:
    """Return a row per method, the best first."""
    frame = real_runs()
    means = frame.groupby("method")["test_accuracy"].mean().sort_values(ascending=False)
    rows = []
    for method in means.index:
        own = frame[frame["method"] == method]
        name = f"`{method}`{' (old)' * bool(own['old'].any())}"
        shown = [mean_std(own[column]) for column in ("test_accuracy", "validation_accuracy")]
        rows.append([name, *shown, str(len(own))])
    heads = ["method", "test accuracy", "agreement with the validation labels", "n"]
    words = "In percent, mean ± std over initialisations (seeds 8000-8004)."
    return f"{markdown(heads, rows)}\n\n{words} {old_words(frame)}"


@block
def all_real_labels_gain(variant: str) -> str:
    """Return what a variant of `quiet` gains there, draw by draw, in points."""
    frame = runs("real-all-8000")
    wide = frame.pivot_table("test_accuracy", "seed", "method")[["quiet", variant]].dropna()
    gains = 100 * (wide[variant] - wide["quiet"])
    return f"{listed([fixed(gain, signed=True) for gain in gains])} points (n = {len(gains)})"


@block
def all_real_labels() -> str:
    """Return a row per method taught by the labels of every node outside the test set."""
    frame = runs("real-all-8000")
    frame = frame[~frame["method"].str.contains(":")]
    means = frame.groupby("method")["test_accuracy"].mean().sort_values(ascending=False)
    rows = []
    for method in means.index:
        own = frame[frame["method"] == method]
        name = f"`{method}`{' (old)' * bool(own['old'].any())}"
        rows.append([name, mean_std(own["test_accuracy"]), str(len(own))])
    return markdown(["method", "test accuracy", "n"], rows)


@block
def more_real_labels_gain(*methods: str) -> str:
    """Return what the labels of all nodes outside the test set gain over those of 640, in points.

    Args:
        methods: Which; where none is named, the three best with the more labels.
    """
    more, few = (
        frame.groupby("method")["test_accuracy"].mean()
        for frame in (runs("real-all-8000"), real_runs())
    )
    plain = more[~more.index.str.contains(":")].sort_values(ascending=False)
    names = methods or tuple(plain.index[:3])
    gains = [100 * (more[name] - few[name]) for name in names]
    shown = [
        f"`{name}` {fixed(gain, signed=True)}" for name, gain in zip(names, gains, strict=True)
    ]
    return listed(shown)


@block
def real_labels_of(method: str) -> str:
    """Return the test accuracy of a method on these labels."""
    frame = real_runs()
    own = frame[frame["method"] == method]
    return f"{mean_std(own['test_accuracy'])}{' (old)' * bool(own['old'].any())}"


@block
def real_labels_behind(method: str) -> str:
    """Return how far a method is behind the best one on these labels, and which that is."""
    means = 100 * real_runs().groupby("method")["test_accuracy"].mean()
    best = means.idxmax()
    return f"{fixed(means[best] - means[method])} points behind `{best}`"
