"""Figures of the page on methods: corrections before and after, rivals, all methods in one run."""

import pandas as pd

from quietgraph.bench.statistics import against
from study.blocks import block
from study.fresh import PAPER, SETTINGS
from study.records import old_words, read_all, runs, some, table
from study.words import draws, fixed, graph, markdown, mean_std, span

_STAGES = {
    "E+A adjusted": "**mean of both classifiers (default)**",
    "E adjusted": "embeddings alone",
    "A adjusted": "attributes alone",
    "E+3A adjusted": "attributes count three times",
    "EA adjusted": "one ridge on both side by side",
    "E+A+EA adjusted": "mean of the classifiers on embeddings, on attributes and on both",
    "EA logistic adjusted": "logistic regression on both side by side",
    "E+A": "the default without class-prior adjustment",
}
_STEPS = (
    ("ridge with an intercept", "before", "intercept", ("cora", "citeseer"), SETTINGS),
    ("and class-prior adjustment", "intercept", "", ("cora", "citeseer"), SETTINGS),
    (
        'depth of `encoder="tedgcn"` learns, three starts, encoder by validation',
        "before",
        "heterophilous",
        ("chameleon", "texas"),
        SETTINGS[:2],
    ),
)


@block
def corrections() -> str:
    """Return what every correction of the paper's two is worth: before, after, draws."""
    rows = []
    for words, before, after, datasets, noises in _STEPS:
        for method in PAPER:
            for dataset in datasets:
                cells = [
                    some(_step(name), dataset=dataset, method=method, noise=noises)
                    for name in (before, after)
                ]
                if all(len(cell) for cell in cells):
                    counts = [cell.groupby("noise").size() for cell in cells]
                    n = span([count for each in counts for count in each])
                    means = [_means(cell, noises) for cell in cells]
                    rows.append([words, f"`{method}`", graph(dataset), *means, n])
    heads = ["correction", "method", "graph", "before", "after", "n"]
    return markdown(heads, rows, names=3)


@block
def correction_baseline() -> str:
    """Return a GCN on the draws of the corrections."""
    frame = some(_step(""), method="gcn")
    named = [f"{graph(name)} {_means(some(frame, dataset=name), SETTINGS)}" for name in _PAIR]
    return ", ".join(named)


@block
def correction_lead(variant: str) -> str:
    """Return the mean lead of a variant over a GCN under both kinds of noise, in points."""
    tests = against(some(_step(""), dataset=_PAIR, noise=SETTINGS[1:]), "gcn")
    return fixed(100 * some(tests, method=variant)["difference"].mean())


@block
def second_stages() -> str:
    """Return the forms of the second stage of GCL-LR-Attention, on development draws."""
    frame = table("second-stage-0").rename(columns={"accuracy": "test_accuracy"})
    places = ("amazon-photo", *_PAIR)
    rows = [
        [name, *(_means(some(frame, form=form, dataset=place), SETTINGS) for place in places)]
        for form, name in _STAGES.items()
    ]
    seeds = [sorted(set(some(frame, dataset=place)["seed"])) for place in places]
    shown = [f"draws {one[0]}-{one[-1]}" if len(one) > 1 else f"draw {one[0]}" for one in seeds]
    heads = [f"{graph(place)}, {words}" for place, words in zip(places, shown, strict=True)]
    return markdown(["second stage, class prior adjusted", *heads], rows)


@block
def one_run() -> str:
    """Return all methods on digits and Texas, two draws."""
    frame = some(runs("paper-digits", "paper-texas"), noise=SETTINGS[:2], seed=(1000, 1001))
    frame = frame[~frame["method"].str.contains(":")]
    places = [(name, noise) for name in ("digits", "texas") for noise in SETTINGS[:2]]
    rows = []
    for method in sorted(set(frame["method"])):
        own = some(frame, method=method)
        cells = [mean_std(some(own, dataset=d, noise=n)["test_accuracy"]) for d, n in places]
        rows.append([f"`{method}`{' (old)' * bool(own['old'].any())}", *cells])
    heads = ["method", *(f"{graph(name)}, {noise}" for name, noise in places)]
    words = [f"{draws(frame).capitalize()}.", old_words(frame)]
    return f"{markdown(heads, rows)}\n\n{' '.join(filter(None, words))}"


@block
def rivals(before: str, after: str) -> str:
    """Return rivals before and after their corrections on the same fresh draws, and seconds.

    Args:
        before: Runs of the code before; a variant in `after` is how its method was before, too.
        after: Runs of today.
    """
    old, new = (_finished(name) for name in (before, after))
    variant = new["method"].str.contains(":")
    old = pd.concat([old, new[variant].assign(method=new["method"].str.partition(":")[0])])
    key = ["dataset", "noise", "method", "seed"]
    pairs = old.merge(new[~variant], on=key, suffixes=("_before", "_after"))
    rows = []
    for (method, dataset), own in pairs.groupby(["method", "dataset"], sort=True):
        noises = [noise for noise in SETTINGS if (own["noise"] == noise).any()]
        cells = [_means(own, noises, f"test_accuracy_{when}") for when in ("before", "after")]
        gain = 100 * (own["test_accuracy_after"] - own["test_accuracy_before"])
        gains = [fixed(gain[own["noise"] == noise].mean(), signed=True) for noise in noises]
        words = f"{' / '.join(gains)} ({int((gain > 0).sum())} of {len(own)} runs better)"
        took = [f"{own[f'seconds_{when}'].median():.0f}" for when in ("before", "after")]
        n = span(list(own.groupby("noise").size()))
        rows.append([f"`{method}`", graph(str(dataset)), *cells, words, n, " / ".join(took)])
    heads = ["rival", "graph", "before", "after", "gain", "n", "seconds before / after"]
    seeds = f"{pairs['seed'].min():.0f}-{pairs['seed'].max():.0f}"
    return f"{markdown(heads, rows, names=2)}\n\nDraws {seeds}; clean, or clean / symmetric 40 %."


@block
def variants(file: str) -> str:
    """Return methods as they are beside settings that are not their defaults."""
    frame = runs(file)
    tried = sorted(name for name in set(frame["method"]) if ":" in name)
    rows = []
    for variant in tried:
        for dataset in sorted(set(some(frame, method=variant)["dataset"])):
            pair = (variant.partition(":")[0], variant)
            own = some(frame, dataset=dataset, method=pair)
            cells = [some(own, method=name) for name in pair]
            noises = tuple(noise for noise in SETTINGS if noise in set(own["noise"]))
            took = [str(round(cell.groupby("seed")["seconds"].max().median())) for cell in cells]
            means = [_means(cell, noises) for cell in cells]
            n = span([count for cell in cells for count in cell.groupby("noise").size()])
            rows.append([f"`{variant}`", graph(dataset), *means, n, " / ".join(took)])
    heads = ["setting", "graph", "default", "with it", "n", "seconds of both"]
    words = f"{draws(frame).capitalize()}; clean / symmetric 40 %."
    return f"{markdown(heads, rows, names=2)}\n\n{words} {old_words(frame)}".strip()


_PAIR = ("cora", "citeseer")


def _step(name: str) -> pd.DataFrame:
    return runs(f"corrections-{name}" if name else "corrections")


def _finished(name: str) -> pd.DataFrame:
    runs(name)  # somebody has asked for it
    frame = read_all(name)
    return frame[frame["status"] == "done"]


def _means(frame: pd.DataFrame, noises: tuple[str, ...] | list[str], of: str = "") -> str:
    values = [some(frame, noise=noise)[of or "test_accuracy"].mean() for noise in noises]
    return " / ".join(fixed(100 * value) for value in values if not pd.isna(value))
