"""The letter of the paper beside the defaults, and what undoing single deviations costs."""

import pandas as pd

from quietgraph.paper.printed import printed_number
from study.blocks import block
from study.fresh import PAIR, PAPER, SETTINGS
from study.records import RESULTS, old_words, runs, some, table
from study.words import draws, fixed, graph, listed, markdown, mean_std, setting, span

_PLACE = ["dataset", "noise", "seed"]
_LETTER = "letter "  # before the name of a method
_SEARCHED = "searched "


def letter_runs(*, searched: bool = False) -> pd.DataFrame:
    """Return the runs of the letter as of today, or old ones where there are no others.

    Args:
        searched: Those with the settings that the paper's search has found, or those without.
    """
    frame = runs(*sorted(path.stem for path in RESULTS.glob("letter-*.csv")))
    frame = frame if frame["old"].all() else frame[~frame["old"]]
    frame = frame[frame["method"].str.contains("learning_rate=") == searched]
    name = _SEARCHED if searched else _LETTER
    return frame.assign(method=name + frame["method"].str.partition(":")[0])


@block
def letter_table() -> str:
    """Return the letter of the paper beside a GCN and the defaults on the same draws."""
    letter, searched = letter_runs(), letter_runs(searched=True)
    others = some(runs("fresh-8000", "fresh-9100"), method=("gcn", *PAPER), split="default")
    others = others.merge(letter[_PLACE].drop_duplicates(), on=_PLACE)
    frame = pd.concat([letter, searched, others])
    letters = [f"{kind}{name}" for kind in (_LETTER, _SEARCHED) for name in PAPER]
    names = ("gcn", *letters, *PAPER)
    rows = []
    for dataset in PAIR:
        for noise in SETTINGS:
            cell = some(frame, dataset=dataset, noise=noise)
            texts = [mean_std(cell[cell["method"] == name]["test_accuracy"]) for name in names]
            rows.append([f"{graph(dataset)}, {setting(noise)}", *texts])
    heads = ["", *map(_head, names)]
    found = dict.fromkeys([draws(letter), draws(searched)])
    words = f"{'; searched: '.join(found).capitalize()}. {old_words(frame)}".strip()
    return f"{markdown(heads, rows)}\n\n{words}"


def _head(name: str) -> str:
    kind, _, method = name.rpartition(" ")
    return {"": "", "letter": "the letter: ", "searched": "searched: "}[kind] + f"`{method}`"


@block
def letter_search(stage: str) -> str:
    """Return the best and the worst score of a stage of the paper's search, and its winner."""
    frame = some(table("letter-search"), stage=stage)
    best = frame.loc[frame["score"].idxmax()]
    sign = -1 if stage == "training" else 100  # the loss of the folds; their accuracy in percent
    scores = [
        fixed(sign * value, 2 if sign < 0 else 0) for value in (best["score"], frame["score"].min())
    ]
    return f"{len(frame)} settings, {scores[0]} to {scores[1]}; best: {best['settings']}"


@block
def letter_of(dataset: str, noise: str) -> str:
    """Return the mean accuracies of the two letters in a cell, and the printed ones."""
    frame = some(letter_runs(), dataset=dataset, noise=noise)
    ours = [100 * some(frame, method=_LETTER + name)["test_accuracy"].mean() for name in PAPER]
    printed = [printed_number("classification", dataset, name, noise) for name in PAPER]
    theirs = [fixed(100 * one.mean) for one in printed if one]
    return f"{listed([fixed(one) for one in ours])} (printed: {listed(theirs)})"


@block
def letter_training() -> str:
    """Return what was seen while the letter was trained: epochs, empty columns, the norm."""
    frame = table("letter-training")
    columns, named = span(frame["columns"].tolist()), f"seeds {span(frame['seed'].tolist())}"
    last = max(frame["norm_last"])
    return (
        f"{graph(frame['dataset'][0])}, {named}: it stopped after {span(frame['epochs'].tolist())} "
        f"epochs. {span(frame['empty'].tolist())} of {columns} columns of H were empty by then; "
        f"the truncated norm, {span(frame['norm_first'].tolist(), 1)} at first, was "
        f"{fixed(last, 4)} or less"
    )


@block
def letter_draws() -> str:
    """Return the draws of the letter, and how many a cell has."""
    frame = letter_runs()
    return f"{draws(frame)}{', old' * bool(frame['old'].any())}"


@block
def undone(variant: str) -> str:
    """Return what a variant changes, clean / symmetric 40 %, on the development draws."""
    frame, base = runs("deviations-9000"), variant.partition(":")[0]
    return _changes(frame, base, variant, PAIR)


@block
def without_branch() -> str:
    """Return what GCL-LR-Attention loses without its attribute branch, on development draws."""
    alone = "gcl-lr-attention:attribute_branch=false"
    datasets = (*PAIR, "amazon-photo")
    return _changes(runs("attribute-branch-0"), "gcl-lr-attention", alone, datasets)


def _changes(frame: pd.DataFrame, base: str, variant: str, datasets: tuple[str, ...]) -> str:
    parts = []
    for dataset in datasets:
        own = some(frame, dataset=dataset, method=(base, variant), noise=SETTINGS[:2])
        wide = own.pivot_table("test_accuracy", ["noise", "seed"], "method")
        if variant not in wide:
            continue
        points = 100 * (wide[variant] - wide[base]).dropna()
        cells = [points[noise] for noise in SETTINGS[:2]]
        words = " / ".join(fixed(cell.mean(), signed=True) for cell in cells)
        parts.append(f"{graph(dataset)} {words} (n = {span([len(cell) for cell in cells])})")
    return "; ".join(parts)


@block
def intercept_gain() -> str:
    """Return what an intercept brings GCL-LRR: clean, symmetric and asymmetric 40 %."""
    parts = []
    for dataset in PAIR:
        cells = [
            some(runs(f"corrections-{name}"), dataset=dataset, method=PAPER[0])
            for name in ("before", "intercept")
        ]
        means = [cell.groupby("noise")["test_accuracy"].mean() for cell in cells]
        gains = [fixed(100 * (means[1] - means[0])[n], signed=True) for n in SETTINGS]
        parts.append(f"{' / '.join(gains)} on {graph(dataset)}")
    return listed(parts)
