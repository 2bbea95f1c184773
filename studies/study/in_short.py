"""Sentences of the findings whose words follow from the runs: how far, how surely, how many."""

import pandas as pd

from quietgraph.bench.statistics import against, mean_ranks
from quietgraph.paper.accuracy import BASELINES
from study.blocks import block
from study.findings import LEAD_DRAWS, controls
from study.fresh import LARGE, PAIR, PAPER, beside
from study.grid import INFORMATIVE, RANKED, grid, noises_of, tests
from study.records import runs, some
from study.words import GRAPHS, draws, fixed, graph, listed, span

_SURE = 0.05


def lead_words(found: pd.DataFrame, p_values: str) -> str:
    """Return in how many cells a lead is above 0 and surely so, and its size.

    Args:
        found: A row per test, with `points` and `n`.
        p_values: Column of the p-values that count.
    """
    ahead, sure = found["points"] > 0, found[p_values] < _SURE
    if ahead.all():
        word = "It holds" if sure.all() else "Ahead in every cell, not in all beyond chance"
    elif not ahead.any():
        word = "The opposite" if sure.all() else "Behind in every cell, not in all beyond chance"
    else:
        word = "Mixed"
    ends = (found["points"].min(), found["points"].max())
    low, high = (fixed(value, signed=True) for value in ends)
    size = low if low == high else f"{low} to {high}"
    surely = f"{int(sure.sum())} of {len(found)} cells"
    return f"**{word}**: {size} points (p < 0.05 in {surely}; n = {span(list(found['n']))})"


@block
def fresh_short(file: str, noise: str) -> str:
    """Return the leads over a GCN on Cora and CiteSeer, p after Holm's correction over the file."""
    found = against(beside(file), "gcn")
    found = some(found, dataset=PAIR, noise=noise)
    return lead_words(found.assign(points=100 * found["difference"]), "t_holm")


@block
def fresh_large_short(file: str) -> str:
    """Return how many leads on the larger graphs are sure after Holm's correction."""
    found = some(against(beside(file), "gcn"), dataset=LARGE)
    ahead = found[found["difference"] > 0]
    sure = int((ahead["t_holm"] < _SURE).sum())
    return (
        f"{len(ahead)} of {len(found)} leads are above 0, {sure} of them with p < 0.05 after "
        f"Holm's correction over all cells (n = {span(list(found['n']))})"
    )


@block
def grid_short(noises: str, *methods: str) -> str:
    """Return the leads over a GCN in cells of the grid, p uncorrected."""
    found = some(tests(("gcn",)), noise=noises_of(noises), method=methods or PAPER)
    return lead_words(found, "t_p")


@block
def best_short(noises: str) -> str:
    """Return in how many cells the paper's two are ahead of the best baseline, and how surely."""
    found = some(tests(BASELINES), noise=noises_of(noises))
    ahead = found[found["points"] > 0]
    sure = int((ahead["t_p"] < _SURE).sum())
    return f"Ahead in {len(ahead)} of {len(found)} cells, with p < 0.05 in {sure}"


@block
def rank_short() -> str:
    """Return the places of the paper's two by mean rank, and who is next."""
    found = mean_ranks(some(grid(), method=RANKED, noise=INFORMATIVE))
    order = list(found.ranks.index)
    rival = next(name for name in order if name not in PAPER)
    places = [
        f"`{name}` place {order.index(name) + 1} ({fixed(found.ranks[name])})"
        for name in (*PAPER[::-1], rival)
    ]
    return (
        f"Of {len(order)} by mean rank: {', '.join(places[:2])}; the best rival is {places[2]}. "
        f"Critical difference {fixed(found.critical_difference)}, {found.num_blocks} draws"
    )


@block
def rank_first() -> str:
    """Return whether GCL-LR-Attention has the best mean rank."""
    found = mean_ranks(some(grid(), method=RANKED, noise=INFORMATIVE))
    return "met" if found.ranks.index[0] == PAPER[1] else "**missed**"


@block
def controls_left(noise: str) -> str:
    """Return what is left of the mean lead over a GCN with the same labels for both, in percent."""
    means = []
    for kind in ("both", ""):
        found = against(
            some(controls(kind, seeds=LEAD_DRAWS), noise=noise, method=("gcn", PAPER[1])), "gcn"
        )
        means.append(found["difference"].mean())
    return f"{fixed(100 * means[0] / means[1], 0)} %"


@block
def rank_effect(noise: str, epochs: str = "200", width: str = "") -> str:
    """Return what the strongest truncated norm changes after so many epochs, in points."""
    frame, name = runs("rank-9000"), f"gcl-lrr:epochs={epochs}:rank_weight={{}}:rank_ratio={{}}"
    name += f":dim={width}:hidden={width}" if width else ""
    with_it, without = name.format(10, 0.04), name.format(0, 0.2)
    frame = some(frame, noise=noise, method=(with_it, without))
    wide = frame.pivot_table("test_accuracy", ["dataset", "seed"], "method")
    points = 100 * (wide[with_it] - wide[without]).dropna()
    parts = [
        f"{graph(name)} {fixed(points[name].mean(), signed=True)} (n = {len(points[name])})"
        for name in GRAPHS
        if name in points.index.get_level_values("dataset")
    ]
    return listed(parts)


@block
def without_consistency() -> str:
    """Return accuracies of GRAND+ with and without its consistency loss, draw by draw."""
    frame = runs("grand-plus-9000")
    wide = 100 * frame.pivot_table("test_accuracy", "seed", "method").sort_index(axis=1)
    parts = [
        f"{fixed(one)} % right, without consistency {fixed(other)}"
        for one, other in wide.itertuples(index=False)
    ]
    return f"{'; '.join(parts)}; {draws(frame)}"


@block
def complexity_short() -> str:
    """Return kernel complexities on Cora and CiteSeer: the paper's two and the lowest of others."""
    frame = some(runs("study-theory"), noise="symmetric:0.4", dataset=PAIR)
    plain = frame.get("KC of plain F", pd.Series(float("nan"), frame.index))
    own = frame["method"] == PAPER[1]
    # Before both were kept, the one of GCL-LR-Attention was that of plain F.
    frame = frame.assign(plain=plain.where(plain.notna() | ~own, frame["KC"]))
    frame["KC"] = frame["KC"].mask(own & plain.isna())
    means = frame.groupby(["method", "dataset"])[["KC", "plain"]].mean()
    others = means["KC"].drop(index=list(PAPER), level="method").groupby("method").mean()
    rivals = means["plain"].drop(index=list(PAPER), level="method").dropna()
    named = {
        f"plain F of `{PAPER[1]}`": means["plain"][PAPER[1]],
        "the features that it classifies with": means["KC"][PAPER[1]],
        f"`{PAPER[0]}`": means["KC"][PAPER[0]],
        f"the lowest of the others, `{others.idxmin()}`,": means["KC"][others.idxmin()],
    }
    if len(rivals):
        least = rivals.groupby("method").mean().idxmin()
        named[f"plain F of the embeddings of `{least}`"] = rivals[least]
    parts = [f"{name} {_pair(values)}" for name, values in named.items()]
    n = span(list(frame.groupby(["dataset", "method"]).size()))
    return f"{'; '.join(parts)} (n = {n}{', in part old' * bool(frame['old'].any())})"


def _pair(values: "pd.Series[float]") -> str:
    found = [values.get(dataset, float("nan")) for dataset in PAIR]
    if any(pd.isna(value) for value in found):
        return "not measured"
    return " / ".join(fixed(value, 2) for value in found)
