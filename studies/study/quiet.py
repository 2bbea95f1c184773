"""`quiet`: the tables of its page and of its model card."""

from itertools import product

import pandas as pd

from quietgraph.bench.statistics import holm, paired_tests, t_test_p
from study.blocks import block
from study.fresh import LARGE, PAIR, SETTINGS, fresh
from study.grid import SHOWN
from study.records import of_today, old_words, runs, some
from study.words import draws, fixed, graph, listed, markdown, mean_std, p_value, setting, span

OURS = "quiet"
KINDS, RATES = ("symmetric", "asymmetric", "random"), (0.1, 0.2, 0.3, 0.4, 0.5)
FIELD = ("none", *(f"{kind}:{rate}" for kind, rate in product(KINDS, RATES)))
PUBLISHED = {  # best of any method in NoisyGL and its forks, and what we aimed at
    "cora": (71.0, 80), "citeseer": (60.5, 71), "pubmed": (66.0, 75),
    "amazon-computers": (74.7, 80), "amazon-photo": (80.5, 87),
    "dblp": (71.8, 78), "blogcatalog": (70.1, 85), "flickr": (49.8, 60),
}  # fmt: skip


@block
def quiet_fresh(*methods: str) -> str:
    """Return clean / symmetric / asymmetric 40 % on draws that no choice has seen."""
    frame = some(fresh(), dataset=PAIR, method=methods)
    rows = []
    for method in methods:
        own = frame[frame["method"] == method]
        cells = [
            " / ".join(mean_std(some(own, dataset=d, noise=n)["test_accuracy"]) for n in SETTINGS)
            for d in PAIR
        ]
        rows.append([f"`{method}`{' (old)' * bool(own['old'].any())}", *cells])
    heads = ["clean / symmetric 40 % / asymmetric 40 %", *map(graph, PAIR)]
    return f"{markdown(heads, rows)}\n\n{draws(frame).capitalize()}. {old_words(frame)}"


@block
def quiet_annotator() -> str:
    """Return accuracies under the errors of an annotator who reads attributes alone."""
    frame = some(runs("real-8000"), noise="annotator:0.3")
    order = frame.groupby("method")["test_accuracy"].mean().sort_values(ascending=False).index
    rows = []
    for method in order:
        own = frame[frame["method"] == method]
        name = f"`{method}`{' (old)' * bool(own['old'].any())}"
        rows.append([name, *(mean_std(some(own, dataset=d)["test_accuracy"]) for d in PAIR)])
    words = f"{draws(frame).capitalize()}. {old_words(frame)}"
    return f"{markdown(['annotator 30 %', *map(graph, PAIR)], rows)}\n\n{words}"


@block
def quiet_annotator_rates() -> str:
    """Return accuracies under annotators of several rates."""
    frame = runs("annotator-9300")
    noises = sorted(set(frame["noise"]))
    rows = []
    for dataset in (name for name in (*PAIR, *LARGE) if name in set(frame["dataset"])):
        own = some(frame, dataset=dataset)
        for method in own.groupby("method")["test_accuracy"].mean().sort_values().index[::-1]:
            cells = some(own, method=method)
            values = (mean_std(some(cells, noise=noise)["test_accuracy"]) for noise in noises)
            rows.append([graph(dataset), f"`{method}`", *values])
    heads = ["", "", *map(setting, noises)]
    return f"{markdown(heads, rows, names=2)}\n\n{draws(frame).capitalize()}. {old_words(frame)}"


@block
def quiet_annotator_leads(rival: str) -> str:
    """Return in how many of these cells `quiet` is ahead of a rival and behind it, and how far."""
    found = paired_tests(runs("annotator-9300"), OURS, rival)
    points, is_sure = 100 * found["difference"], holm(found["t_p"]) < 0.05
    words = []
    for name, side in (("ahead", points > 0), ("behind", points <= 0)):
        if side.any():
            far = points[side].abs()
            sure = f"{int((is_sure & side).sum())} with p < 0.05 after Holm's correction"
            cells = f"{int(side.sum())} of {len(points)} cells"
            words.append(f"{name} in {cells} by {fixed(far.min())} to {fixed(far.max())} ({sure})")
    return f"{', '.join(words)}; mean {fixed(points.mean(), signed=True)}"


@block
def quiet_field() -> str:
    """Return the mean over the sixteen settings of the field's public benchmark."""
    frame = some(runs("quiet-field-9300"), method=OURS, noise=FIELD)
    rows = []
    for dataset, (published, aim) in PUBLISHED.items():
        own = some(frame, dataset=dataset)
        wide = own.pivot_table("test_accuracy", "seed", "noise").reindex(columns=FIELD)
        whole = wide.dropna().mean(axis=1)
        settings = [fixed(100 * wide[kind].mean()) if len(whole) else "" for kind in SETTINGS]
        cells = [mean_std(whole), *settings, str(len(whole) or "")]
        rows.append([graph(dataset), *cells, str(published), str(aim)])
    heads = ["", "mean of 16", *map(setting, SETTINGS), "n", "best published", "aim"]
    return f"{markdown(heads, rows)}\n\n{draws(frame).capitalize()}. {old_words(frame)}".strip()


def _equals(value: float) -> str:
    words = p_value(value)
    return words if words.startswith("<") else f"= {words}"


@block
def quiet_large(*methods: str) -> str:
    """Return accuracies on larger graphs, on the draws that all of the methods ran."""
    rows = []
    for dataset in LARGE:
        own = _shared(dataset, methods)
        cells = []
        for method in methods:
            values = [some(own, method=method, noise=n)["test_accuracy"] for n in SETTINGS]
            cells.append(" / ".join(map(mean_std, values)))
        rows.append([graph(dataset), *cells, str(own["seed"].nunique())])
    heads = ["clean / symmetric 40 % / asymmetric 40 %", *(f"`{name}`" for name in methods), "n"]
    return markdown(heads, rows)


def _shared(dataset: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Return the fresh runs of the draws that all of the methods ran."""
    frame = some(fresh(), dataset=dataset, method=methods)
    counts = frame.groupby("seed")["method"].nunique()
    return some(frame, seed=[seed for seed, count in counts.items() if count == len(methods)])


@block
def quiet_large_behind(*rivals: str) -> str:
    """Return where the mean of `quiet` is below that of others in the table of larger graphs."""
    parts = []
    for rival in rivals:
        behind = []
        for dataset in LARGE:
            frame = _shared(dataset, (OURS, *rivals[::-1]))
            means = frame.pivot_table("test_accuracy", "noise", "method")
            found = [setting(n) for n in SETTINGS if means[OURS][n] < means[rival][n]]
            behind += [f"{graph(dataset)} ({', '.join(found)})"] if found else []
        parts.append(f"behind `{rival}` {'on ' + listed(behind) if behind else 'nowhere'}")
    return "; ".join(parts)


@block
def quiet_heterophily() -> str:
    """Return `quiet` beside the method made for heterophilous graphs, on the same draws."""
    noises = ("none", "symmetric:0.4", "attribute:0.6")
    frame = some(runs("quiet-9100"), dataset=("texas", "chameleon"), noise=noises)
    rows = []
    for dataset in ("texas", "chameleon"):
        own = some(frame, dataset=dataset)
        for method in sorted(set(own["method"])):
            cells = (some(own, method=method, noise=n)["test_accuracy"] for n in noises)
            cells = [f"{mean_std(cell)} (n = {len(cell)})" for cell in cells]
            rows.append([graph(dataset), f"`{method}`", *cells])
        if "tedgcn" in set(own["method"]):
            tests = {t.noise: t for t in paired_tests(own, OURS, "tedgcn").itertuples()}
            leads = [_gained(100 * tests[n].difference, tests[n].t_p) for n in noises if n in tests]
            rows.append([graph(dataset), "lead of `quiet`", *leads])
    return f"{markdown(['', '', *map(setting, noises)], rows, names=2)}\n\n{old_words(frame)}"


@block
def quiet_noise_kinds() -> str:
    """Return noise that depends on the node, on Cora: `quiet` beside the paper's method."""
    frame = runs("noise-kinds-8000")
    noises = ("annotator:0.2", "annotator:0.4", "cluster:0.3", "degree:0.3")
    rows = []
    for method in (OURS, "gcl-lr-attention"):
        own = frame[frame["method"] == method]
        cells = (mean_std(some(own, noise=n)["test_accuracy"]) for n in noises)
        rows.append([f"`{method}`{' (old)' * bool(own['old'].any())}", *cells])
    words = f"{draws(frame).capitalize()}. {old_words(frame)}"
    return f"{markdown(['Cora', *(n.replace(':', ' ') for n in noises)], rows)}\n\n{words}"


@block
def quiet_grid() -> str:
    """Return `quiet` on the paper's grid, draws with all of its settings."""
    frame = of_today(some(_grid(), noise=SHOWN))
    rows = []
    for dataset in PAIR:
        own = some(frame, dataset=dataset)
        whole = own.groupby("seed").filter(lambda draw: len(draw) == len(SHOWN))
        cells = (mean_std(some(whole, noise=noise)["test_accuracy"]) for noise in SHOWN)
        rows.append([graph(dataset), *cells, str(whole["seed"].nunique())])
    heads = ["", *map(setting, SHOWN), "n"]
    return f"{markdown(heads, rows)}\n\n{old_words(frame)}".strip()


def _grid() -> pd.DataFrame:
    return some(runs(*(f"paper-{name}" for name in PAIR)), method=OURS, split="default")


@block
def quiet_parts() -> str:
    """Return what `quiet` gains by each of its parts."""
    frame = runs("quiet-parts-5000")
    noises = (*SETTINGS, "annotator:0.3")
    rows = []
    for variant in sorted(set(frame["method"]) - {OURS}):
        for dataset in sorted(set(frame[frame["method"] == variant]["dataset"])):
            own = some(frame, dataset=dataset, method=(OURS, variant))
            wide = own.pivot_table("test_accuracy", ["noise", "seed"], "method")
            gains = 100 * (wide[OURS] - wide[variant]).unstack("noise").dropna(axis=1, how="all")  # noqa: PD010
            cells = [_gain(gains[name]) if name in gains else "not run" for name in noises]
            whole = f"{_gain(gains.dropna().mean(axis=1))} ({gains.shape[1]})"
            n = str(len(gains.dropna()))
            rows.append([f"`{variant.partition(':')[2]}`", graph(dataset), *cells, whole, n])
    heads = ["less", "graph", *map(setting, noises), "mean (settings)", "n"]
    return f"{markdown(heads, rows, names=2)}\n\n{draws(frame).capitalize()}. {old_words(frame)}"


@block
def quiet_part_gain(part: str, noise: str, *datasets: str) -> str:
    """Return what `quiet` gains by a part in one setting: lowest to highest graph, in points."""
    frame = some(runs("quiet-parts-5000"), noise=noise, method=(OURS, f"{OURS}:{part}"))
    wide = some(frame, dataset=datasets).pivot_table("test_accuracy", ["dataset", "seed"], "method")
    gains = 100 * (wide[OURS] - wide[f"{OURS}:{part}"]).groupby("dataset").mean()
    return span(sorted(gains), 1)


@block
def quiet_dense_gain(dataset: str) -> str:
    """Return what an encoder changes on a dense graph: lowest to highest setting, in points."""
    frame = some(runs("quiet-dense-0"), dataset=dataset)
    means = frame.groupby(["method", "noise"])["test_accuracy"].mean()
    return span(sorted(100 * (means["quiet:encoder=true"] - means["quiet:encoder=false"])), 1)


@block
def quiet_encoder(dataset: str, noise: str) -> str:
    """Return the mean accuracies with an encoder and as `quiet` chooses, on the same draws."""
    frame = some(runs("quiet-9100"), dataset=dataset, noise=noise)
    wide = frame.pivot_table("test_accuracy", "seed", "method")
    wide = wide[["quiet:encoder=true", OURS]].dropna()
    first, second = (fixed(100 * wide[name].mean()) for name in wide.columns)
    low, high = wide.index.min(), wide.index.max()
    return f"{first} and {second}, draws {low}-{high}, n = {len(wide)}"


@block
def quiet_dense() -> str:
    """Return `quiet` with and without an encoder on dense graphs, and what it chooses."""
    frame = runs("quiet-dense-0")
    noises = (*SETTINGS, "annotator:0.3")
    ways = {"never": "quiet:encoder=false", "always": "quiet:encoder=true", "as it chooses": OURS}
    rows = []
    for dataset in ("flickr", "blogcatalog", "amazon-photo", "amazon-computers"):
        for words, method in ways.items():
            own = some(frame, dataset=dataset, method=method)
            if len(own):
                cells = (mean_std(some(own, noise=noise)["test_accuracy"]) for noise in noises)
                rows.append([graph(dataset), words, *cells])
    heads = ["", "encoder", *map(setting, noises)]
    return f"{markdown(heads, rows, names=2)}\n\n{draws(frame).capitalize()}. {old_words(frame)}"


def _gain(differences: "pd.Series[float]") -> str:
    """Return the mean gain in points and the p-value of the paired t-test."""
    values = differences.dropna().to_numpy()
    return "0.0" if not values.any() else _gained(values.mean(), t_test_p(values))


def _gained(points: float, p: float) -> str:
    return f"{fixed(points, signed=True)} (p {_equals(p)})"


@block
def quiet_hidden() -> str:
    """Return accuracies where the wrong class is the likelier one."""
    frame = of_today(some(_grid(), noise="asymmetric:0.6"))
    cells = [some(frame, dataset=d)["test_accuracy"] for d in PAIR]
    named = [f"{graph(d)} {mean_std(c)} (n = {len(c)})" for d, c in zip(PAIR, cells, strict=True)]
    return f"{', '.join(named)} percent right{' (old)' * bool(frame['old'].any())}"


@block
def quiet_texas_cell(noise: str, rival: str) -> str:
    """Return the lead of `quiet` over another method on Texas."""
    frame = some(runs("quiet-9100"), dataset="texas", noise=noise)
    (test,) = paired_tests(frame, OURS, rival).itertuples()
    return f"{_gained(100 * test.difference, test.t_p)} against `{rival}`, n = {test.n}"


@block
def quiet_clean(rival: str) -> str:
    """Return the lead of `quiet` over another method on clean labels of the fresh draws."""
    frame = some(runs("quiet-9100"), noise="none", dataset=(*PAIR, "pubmed"))
    tests = paired_tests(some(frame, method=(OURS, rival)), OURS, rival)
    named = [
        f"{graph(test.dataset)} {_gained(100 * test.difference, test.t_p)}, n = {test.n}"
        for test in tests.itertuples()
    ]
    return "; ".join(named)


@block
def quiet_digits() -> str:
    """Return how far `quiet` is behind the best method on digits."""
    frame, words = runs("paper-digits"), []
    for noise in ("none", "symmetric:0.4"):
        means = 100 * some(frame, noise=noise).groupby("method")["test_accuracy"].mean()
        best = means.idxmax()
        words.append(f"{setting(noise)} {fixed(means[best] - means[OURS])} behind `{best}`")
    own = some(frame, method=OURS)
    n = span(list(own.groupby("noise").size()))
    return f"{'; '.join(words)} (n = {n}{', old' * bool(own['old'].any())})"
