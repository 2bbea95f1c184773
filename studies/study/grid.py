"""The paper's grid on Cora and CiteSeer, draws 1000-1009: leads, ranks, cells."""

from functools import cache

import pandas as pd

from quietgraph.bench.statistics import against, mean_ranks
from quietgraph.paper.accuracy import BASELINES
from quietgraph.paper.printed import printed_number
from study.blocks import block
from study.records import mark_read, of_today, old_words, runs, some
from study.words import fixed, graph, markdown, setting, span

PAPER = ("gcl-lrr", "gcl-lr-attention")
PAIR = ("cora", "citeseer")
SEEDS = range(1000, 1010)
LABEL = ("symmetric:0.2", "symmetric:0.4", "symmetric:0.6", "asymmetric:0.2", "asymmetric:0.4")
ATTRIBUTE = ("attribute:0.4", "attribute:0.6", "attribute:0.8")
INFORMATIVE = ("none", *LABEL, *ATTRIBUTE)
SHOWN = ("none", *LABEL, "asymmetric:0.6", *ATTRIBUTE)
KINDS = {"clean": ("none",), "label": LABEL, "attribute": ATTRIBUTE, "hidden": ("asymmetric:0.6",)}
RANKED = (*BASELINES, "graphcl", *PAPER)


def grid() -> pd.DataFrame:
    """Return the runs of all methods without settings of their own."""
    mark_read("paper-cora", "paper-citeseer")
    return _grid()


@cache
def _grid() -> pd.DataFrame:
    frame = some(runs("paper-cora", "paper-citeseer"), seed=SEEDS, noise=SHOWN, split="default")
    frame = of_today(frame)
    return frame[~frame["method"].str.contains(":")]


@cache
def tests(baselines: tuple[str, ...]) -> pd.DataFrame:
    """Return the paper's two against a baseline, or the best of several, in points."""
    found = against(some(grid(), method=(*baselines, *PAPER)), list(baselines))
    found = found[found["method"].isin(PAPER)]
    return found.assign(points=100 * found["difference"])


def noises_of(text: str) -> list[str]:
    """Return the settings of kinds such as `clean,label`."""
    return [noise for part in text.split(",") for noise in KINDS.get(part, (part,))]


@block
def grid_lead(noises: str, *methods: str) -> str:
    """Return the lead over a GCN: lowest to highest cell, and in how many p < 0.05."""
    found = some(tests(("gcn",)), noise=noises_of(noises), method=methods or PAPER)
    sure = int((found["t_p"] < 0.05).sum())
    return f"{_signed(found['points'])} points ({sure} of {len(found)} cells p < 0.05)"


@block
def grid_best(noises: str, *methods: str) -> str:
    """Return how often and by how much the paper's two are ahead of the best baseline."""
    found = some(tests(BASELINES), noise=noises_of(noises), method=methods or PAPER)
    ahead, behind = found[found["points"] > 0], found[found["points"] <= 0]
    parts = []
    for word, part in (("ahead", ahead), ("behind", behind)):
        if len(part):
            by = span(list(part["points"].abs()), 1)
            sure = int((part["t_p"] < 0.05).sum())
            parts.append(f"{word} in {len(part)} of {len(found)} cells by {by} ({sure} p < 0.05)")
    return ", ".join(parts)


def _signed(points: "pd.Series[float]") -> str:
    low, high = (fixed(value, signed=True) for value in (points.min(), points.max()))
    return low if low == high else f"{low} to {high}"


@block
def grid_cells() -> str:
    """Return the lead over a GCN, the printed one, and the lead over the best baseline."""
    over, best = (
        {(t.dataset, t.noise, t.method): t for t in tests(names).itertuples()}
        for names in (("gcn",), BASELINES)
    )
    rows = []
    for noise in SHOWN:
        line = [setting(noise)]
        for place in ((dataset, noise, method) for dataset in PAIR for method in PAPER):
            rival = best[place]
            parts = [_bold(over[place]), _printed(*place)]
            rest = f"({_bold(rival)} `{rival.baseline}`)"
            line.append(f"{' · '.join(filter(None, parts))} {rest}")
        rows.append(line)
    heads = ["", *(f"{graph(d)}: `{m}`" for d in PAIR for m in PAPER)]
    counts = (span([test.n for test in found.values()]) for found in (over, best))
    words = (
        "Draws from 1000 on (n = {} beside a GCN, {} beside all baselines), points; bold: paired "
        "t-test p < 0.05, uncorrected; in italics the difference of the printed means; in brackets "
        "the lead over the baseline with the best mean of the cell."
    ).format(*counts)
    return f"{markdown(heads, rows)}\n\n{words} {old_words(grid())}"


def _bold(test: "tuple") -> str:
    words = fixed(test.points, signed=True)
    return f"**{words}**" if test.t_p < 0.05 else words


def _printed(dataset: str, noise: str, method: str) -> str:
    ours, base = (printed_number("classification", dataset, m, noise) for m in (method, "gcn"))
    return f"*{fixed(100 * (ours.mean - base.mean), signed=True)}*" if ours and base else ""


@block
def ranks(noises: str = "clean,label,attribute", without_prior: str = "") -> str:
    """Return mean ranks of all methods but `quiet`, the first seven and a GCN."""
    frame = some(grid(), noise=noises_of(noises), method=RANKED)
    if without_prior:
        frame = pd.concat([frame[~frame["method"].isin(PAPER)], _without_prior()])
        frame = some(frame, noise=noises_of(noises))
    found = mean_ranks(frame)
    first = [f"`{name}` {fixed(rank)}" for name, rank in found.ranks.iloc[:7].items()]
    return (
        f"{', '.join(first)}, ..., `gcn` {fixed(found.ranks['gcn'])} (1 is the best of "
        f"{len(found.ranks)}; {found.num_blocks} draws; critical difference "
        f"{fixed(found.critical_difference)}{_old_note(frame) * bool(without_prior)})"
    )


def _old_note(frame: pd.DataFrame) -> str:
    return "; the paper's two by old runs" * bool(some(frame, method=PAPER)["old"].any())


@block
def ranks_old() -> str:
    """Return which methods are ranked by old runs."""
    return old_words(some(grid(), method=RANKED, noise=INFORMATIVE))


def _without_prior() -> pd.DataFrame:
    frame = runs("no-class-prior-1000")
    return frame.assign(method=frame["method"].str.partition(":")[0])


@block
def spread(noise: str) -> str:
    """Return the standard deviations over draws of all methods in one setting."""
    cells = some(grid(), noise=noise).groupby(["dataset", "method"])["test_accuracy"]
    return span(list(100 * cells.std().dropna()), 1)
