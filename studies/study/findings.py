"""Controls, the letter, low rank, classifiers and larger graphs: tables of the findings."""

import pandas as pd

from quietgraph.bench.statistics import against
from study.blocks import block
from study.fresh import PAIR, PAPER, SETTINGS
from study.records import of_today, old_words, runs, some
from study.words import GRAPHS, draws, fixed, graph, markdown, mean_std, setting, span

CONTROLS = {
    "as they are": "", "class-prior adjustment": "prior", "training + validation": "both",
}  # fmt: skip
METHODS = ("gcn", "s2gc", PAPER[1], "quiet")
ADJUSTED = (*PAPER, "quiet")  # they adjust to the class prior themselves
CONTROL_DRAWS = range(9100, 9105)  # of all methods
LEAD_DRAWS = range(9100, 9110)  # of the paper's two, a GCN and `quiet`, Cora and CiteSeer
CONTROLLED = (*PAIR, "pubmed")
LARGER = ("pubmed", "coauthor-cs", "amazon-photo", "amazon-computers", "chameleon", "texas")
LARGER_NOISES = ("none", "symmetric:0.4", "asymmetric:0.4", "annotator:0.3", "attribute:0.6")
GRID_DRAWS = range(1000, 1010)
LARGER_METHODS = ("s2gc", "grand-plus", "merit", "sel-cl", "jo-src", *PAPER, "quiet")


def controls(
    kind: str, datasets: tuple[str, ...] = PAIR, seeds: range = CONTROL_DRAWS
) -> pd.DataFrame:
    """Return the runs under a control, under the plain names of their methods."""
    frame = runs("fresh-9100", "quiet-9100", "controls-9100")
    frame = some(frame, seed=seeds, dataset=datasets, noise=SETTINGS)
    if kind == "both":
        return some(frame, split="train+validation")
    frame = some(frame, split="default")
    is_controlled = frame["method"].str.contains("class_prior=adjusted")
    if kind == "prior":
        frame = frame[is_controlled | frame["method"].isin(ADJUSTED)]
        return frame.assign(method=frame["method"].str.partition(":")[0])
    return frame[~is_controlled]


@block
def controls_table() -> str:
    """Return accuracies under each control, and the lead of attention over a GCN."""
    rows, used = [], []
    for name, kind in CONTROLS.items():
        frame = some(controls(kind, CONTROLLED), method=METHODS)
        used.append(frame.assign(method=f"{name}: " + frame["method"]))
        for place in ((dataset, noise) for dataset in CONTROLLED for noise in SETTINGS):
            cell = some(frame, dataset=place[0], noise=place[1])
            values = [100 * cell[cell["method"] == method]["test_accuracy"] for method in METHODS]
            texts = [fixed(each.mean()) if len(each) else "not run" for each in values]
            rows.append([name, graph(place[0]), setting(place[1]), *texts, _lead_in(cell)])
    heads = ["labels", "graph", "", *(f"`{name}`" for name in METHODS), "lead"]
    whole = pd.concat(used)
    words = f"Mean accuracy in percent, {draws(whole)}; lead of `{PAPER[1]}` over `gcn` in points."
    return f"{markdown(heads, rows, names=3)}\n\n{words} {old_words(_plain(whole))}".strip()


@block
def controls_all(kind: str, *datasets: str) -> str:
    """Return the accuracy of every method under one control, by the lead over a GCN."""
    frame = controls(kind, datasets or PAIR)
    places = [(dataset, noise) for dataset in datasets or PAIR for noise in SETTINGS]
    by_draw = 100 * frame.pivot_table("test_accuracy", ["dataset", "noise", "seed"], "method")
    leads = by_draw.sub(by_draw["gcn"], axis=0).groupby(["dataset", "noise"]).mean()
    lead = leads.mean().where(leads.notna().all()).sort_values(ascending=False)
    wide = by_draw.groupby(["dataset", "noise"]).mean().loc[places]
    rows = [
        [
            f"`{method}`",
            *("not run" if pd.isna(value) else fixed(value) for value in wide[method]),
            "" if pd.isna(points) else fixed(points, signed=True),
            span(list(some(frame, method=str(method)).groupby(["dataset", "noise"]).size())),
        ]
        for method, points in lead.items()
    ]
    heads = [f"{graph(name)}, {setting(noise)}" for name, noise in places]
    lead_words = "last the mean lead over `gcn` on the draws of a row"
    words = f"Mean accuracy in percent, {draws(frame)}; {lead_words}."
    table = markdown(["", *heads, "over `gcn`", "n"], rows)
    return f"{table}\n\n{words} {old_words(frame)}".strip()


@block
def controls_best(kind: str, *datasets: str) -> str:
    """Return how many of the cells each of the best methods leads under one control.

    Methods that have fewer draws of a graph than others are left out there.
    """
    frame = controls(kind, datasets or PAIR)
    counts = frame.groupby(["dataset", "method"])["seed"].transform("nunique")
    frame = frame[counts == counts.groupby(frame["dataset"]).transform("max")]
    cells = frame.groupby(["dataset", "noise", "method"])["test_accuracy"].mean().mul(100)
    first = cells.groupby(["dataset", "noise"]).idxmax().map(lambda place: place[2])
    counts = first.value_counts()
    return ", ".join(f"`{method}` in {count} of {len(first)}" for method, count in counts.items())


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return runs under the names of their methods, without the control before them."""
    return frame.assign(method=frame["method"].str.partition(": ")[2])


def _lead_in(cell: pd.DataFrame) -> str:
    """Return the lead of attention over a GCN on the draws that both have."""
    wide = cell.pivot_table("test_accuracy", "seed", "method")
    if not {"gcn", PAPER[1]} <= set(wide):
        return "not run"
    points = 100 * (wide[PAPER[1]] - wide["gcn"]).dropna()
    return fixed(points.mean(), signed=True) if len(points) else "not run"


@block
def controls_lead(kind: str, noise: str, *methods: str) -> str:
    """Return the leads over a GCN under a control, lowest to highest of the cells."""
    frame = some(controls("" if kind == "plain" else kind, seeds=LEAD_DRAWS), noise=noise)
    found = against(some(frame, method=("gcn", *(methods or PAPER[1:]))), "gcn")
    points = 100 * found["difference"]
    low, high = (fixed(value, signed=True) for value in (points.min(), points.max()))
    return low if low == high else f"{low} to {high}"


@block
def controls_worst(kind: str, noise: str, method: str) -> str:
    """Return the two lowest accuracies of a method under a control, and the lowest of a GCN."""
    frame = some(controls("" if kind == "plain" else kind, seeds=LEAD_DRAWS), noise=noise)
    words = []
    for dataset in PAIR:
        own, others = (
            (100 * some(frame, dataset=dataset, method=name)["test_accuracy"]).sort_values()
            for name in (method, "gcn")
        )
        lowest = " and ".join(map(fixed, own.head(2)))
        words.append(f"{graph(dataset)} {lowest} (`gcn` {fixed(others.min())}, n = {len(own)})")
    return ", ".join(words)


@block
def rank_ablation() -> str:
    """Return what the truncated norm does by its weight, its ratio, the epochs and the width."""
    frame, noises = runs("rank-9000"), (*SETTINGS, "attribute:0.6")
    rows = []
    for dataset in (name for name in GRAPHS if name in set(frame["dataset"])):
        own = some(frame, dataset=dataset)
        for method in sorted(set(own["method"]), key=_rank_setting):
            width, epochs, weight, ratio = _rank_setting(method)
            whole = some(own, method=method)
            cells = [some(whole, noise=noise)["test_accuracy"] for noise in noises]
            shown = [str(width), str(epochs), f"{weight:g}", f"{-ratio:g}" if weight else ""]
            n = span(list(whole.groupby("noise").size()))
            rows.append([graph(dataset), *shown, *map(mean_std, cells), n])
    heads = ["", "width", "epochs", "weight", "ratio", *map(setting, noises), "n"]
    return f"{markdown(heads, rows)}\n\n{draws(frame).capitalize()}. {old_words(frame)}".strip()


def _rank_setting(method: str) -> tuple[int, int, float, float]:
    """Return width, epochs, weight and the ratio, negative, of a variant: the order of rows."""
    values = dict(part.split("=") for part in method.split(":")[1:])
    weight, ratio = float(values["rank_weight"]), float(values["rank_ratio"])
    return int(values.get("dim", 256)), int(values["epochs"]), weight, -ratio


@block
def larger_table() -> str:
    """Return accuracies of a GCN on other graphs, and what others have more on its draws."""
    frame = runs(*(f"paper-{name}" for name in LARGER))
    frame = some(frame, method=("gcn", *LARGER_METHODS), noise=LARGER_NOISES, seed=GRID_DRAWS)
    frame = of_today(frame)
    found = {(t.dataset, t.noise, t.method): t for t in against(frame, "gcn").itertuples()}
    rows = []
    for dataset in LARGER:
        for noise in LARGER_NOISES:
            base = some(frame, dataset=dataset, noise=noise, method="gcn")["test_accuracy"]
            if len(base):
                tests = [found.get((dataset, noise, name)) for name in LARGER_METHODS]
                cells = [_more(test, len(base)) for test in tests]
                mean = f"{fixed(100 * base.mean())} ({len(base)})"
                rows.append([graph(dataset), setting(noise), mean, *cells])
    heads = ["graph", "", "`gcn` (n)", *(f"`{name}`" for name in LARGER_METHODS)]
    return f"{markdown(heads, rows, names=2)}\n\n{old_words(frame)}"


def _more(test: "tuple", whole: int) -> str:
    if test is None or not test.n:
        return "-"
    words = fixed(100 * test.difference, signed=True)
    words = f"**{words}**" if test.t_p < 0.05 and test.n > 2 else words
    return words if test.n == whole else f"{words} ({test.n})"


@block
def classifier_gain(kind: str) -> str:
    """Return what another classifier gains on the embeddings of SUGRL, MERIT and SFA on Cora."""
    frame = pd.concat([runs("paper-cora-classifiers"), some(runs("paper-cora"), method=_PROBED)])
    frame = some(frame, noise=_TRUE, seed=range(1000, 1005))
    points, sure = [], 0
    for name in _PROBED:
        pair = (name, f"{name}:classifier={kind}")
        found = against(some(frame, method=pair), name)
        points += list(100 * found["difference"])
        sure += int((found["t_p"] < 0.05).sum())
    return f"{_range(points)} points ({sure} of {len(points)} differences p < 0.05)"


def _range(points: list[float]) -> str:
    low, high = (fixed(value, signed=True) for value in (min(points), max(points)))
    return f"{low} to {high}"


_PROBED = ("sugrl", "merit", "sfa")
_TRUE = (
    "none", "symmetric:0.4", "symmetric:0.6", "asymmetric:0.4", "attribute:0.4", "attribute:0.6",
    "attribute:0.8",
)  # fmt: skip


@block
def held(what: str, *datasets: str) -> str:
    """Return the fraction of labels or noise on the first fifth of the directions, in percent."""
    frame = some(runs("study-theory"), noise="asymmetric:0.6", dataset=datasets)
    means = 100 * frame.groupby("dataset")[f"{what}_held"].mean()
    return span(list(means))


@block
def held_draws(*datasets: str) -> str:
    """Return how many draws these fractions rest on, and whether they are old."""
    frame = some(runs("study-theory"), noise="asymmetric:0.6", dataset=datasets)
    n = span(list(frame.groupby("dataset").size()))
    return f"n = {n}{', in part old' * bool(frame['old'].any())}"


@block
def times_gcn(*methods: str) -> str:
    """Return the training time of methods beside a GCN's on the same draw, Cora and CiteSeer."""
    frame = some(runs("study-times"), method=("gcn", *methods))
    own = frame[frame["method"] != "gcn"]
    if not own["old"].all():
        own = own[~own["old"]]
    whole = pd.concat([own, some(frame, method="gcn")])
    wide = whole.pivot_table("seconds_fit", ["dataset", "seed"], "method")
    ratios = wide[list(methods)].div(wide["gcn"], axis=0).dropna()
    words = span(list(ratios.groupby("dataset").mean().to_numpy().ravel()), 1)
    n = span(list(ratios.groupby("dataset").size()))
    return f"{words} times (n = {n}{', old' * bool(own['old'].any())})"
