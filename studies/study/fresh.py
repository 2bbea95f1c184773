"""Draws that no choice has seen: the tables of README, results and findings."""

from typing import Any

import pandas as pd

from quietgraph.bench.statistics import against
from study.blocks import block
from study.records import old_words, runs, some
from study.words import (
    GRAPHS,
    draws,
    fixed,
    graph,
    listed,
    markdown,
    mean_std,
    p_value,
    setting,
    span,
)

FILES = ("fresh-9100", "quiet-9100")
SETTINGS = ("none", "symmetric:0.4", "asymmetric:0.4")
NOISY = SETTINGS[1:]
PAPER = ("gcl-lrr", "gcl-lr-attention")
PAIR = ("cora", "citeseer")
LARGE = ("pubmed", "coauthor-cs", "amazon-photo", "amazon-computers")


def fresh() -> pd.DataFrame:
    """Return the runs of draws 9100-9109 without controls and annotators."""
    return some(runs(*FILES), noise=SETTINGS, split="default")


@block
def fresh_table(*methods: str) -> str:
    """Return accuracies on Cora and CiteSeer, a row per method."""
    return _accuracies({"": fresh()}, methods)


@block
def equal_labels_table(*methods: str) -> str:
    """Return the same where every method is taught by training and validation labels."""
    return _accuracies({"": _equal_labels()}, methods)


@block
def headline_table(*methods: str) -> str:
    """Return both: methods as they are, and taught by the labels of both sets."""
    return _accuracies({"": fresh(), ", both sets": _equal_labels()}, methods)


def _equal_labels() -> pd.DataFrame:
    return some(runs("controls-9100"), split="train+validation")


def _accuracies(frames: dict[str, pd.DataFrame], methods: tuple[str, ...]) -> str:
    """Return a row per frame, by what is said of it, and method."""
    places = [(dataset, noise) for dataset in PAIR for noise in SETTINGS]
    heads = [f"{graph(dataset)} {setting(noise)}" for dataset, noise in places]
    heads = [head if "clean" in head else head.partition(" ")[2] for head in heads]
    rows, used = [], []
    for words, every in frames.items():
        frame = some(every, dataset=PAIR, method=methods, noise=SETTINGS)
        used.append(frame)
        for method in methods:
            own = frame[frame["method"] == method]
            cells = [mean_std(some(own, dataset=d, noise=n)["test_accuracy"]) for d, n in places]
            rows.append([f"`{method}`{words}{' (old)' * bool(own['old'].any())}", *cells])
    found = [draws(frame) for frame in used]
    named = [f"{each}{words}" for each, words in zip(found, frames, strict=True)]
    drawn = found[0] if len(set(found)) == 1 else "; ".join(named)
    said = [f"Accuracy in percent, mean ± std, {drawn}.", old_words(pd.concat(used))]
    return f"{markdown(['method', *heads], rows)}\n\n{' '.join(filter(None, said))}"


def leads(methods: tuple[str, ...] = PAPER) -> pd.DataFrame:
    """Return the paired tests of methods against a GCN, Holm-corrected, in points."""
    frame = some(fresh(), dataset=PAIR, method=("gcn", *methods))
    found = against(frame, "gcn")
    return found.assign(points=100 * found["difference"])


@block
def fresh_leads() -> str:
    """Return how far the paper's two are ahead of a GCN under noise, and how surely."""
    noisy = some(leads(), noise=NOISY)
    means = noisy.groupby("method")["points"].mean()
    ahead = [f"`{name}` {fixed(means[name])}" for name in PAPER]
    sure = int((noisy["t_holm"] < 0.05).sum())
    return (
        f"Points ahead of the GCN under noise, mean of {len(noisy) // 2} cells: {listed(ahead)}; "
        f"{sure} of {len(noisy)} differences have p < 0.05 after Holm's correction."
    )


@block
def fresh_first(method: str) -> str:
    """Return in how many cells a method has the best mean of those that were run there."""
    frame = some(fresh(), dataset=PAIR)
    means = frame.groupby(["dataset", "noise", "method"])["test_accuracy"].mean().unstack()  # noqa: PD010
    first = int((means.idxmax(axis=1) == method).sum())
    return f"the best mean in {first} of {len(means)} cells"


@block
def fresh_beside_gcn(file: str) -> str:
    """Return the paper's two beside a GCN in every cell of a file, with leads and p-values."""
    frame = beside(file)
    tests = {(t.dataset, t.noise, t.method): t for t in against(frame, "gcn").itertuples()}
    rows = []
    for dataset in GRAPHS:
        for noise in SETTINGS:
            cell = some(frame, dataset=dataset, noise=noise)
            if not cell.empty:
                first, second = (
                    _lead(cell, name, tests.get((dataset, noise, name))) for name in PAPER
                )
                name = f"{graph(dataset)}, {setting(noise)}"
                rows.append([name, _accuracy(cell, "gcn"), *first, *second])
    heads = ["", "`gcn`", f"`{PAPER[0]}`", "lead (p)", f"`{PAPER[1]}`", "lead (p)"]
    words = f"{draws(frame).capitalize()}. {old_words(frame)}".strip()
    return f"{markdown(heads, rows)}\n\n{words}"


@block
def fresh_accuracy(file: str, method: str, dataset: str, noise: str) -> str:
    """Return mean ± std of one cell of a file and its number of draws."""
    cell = some(beside(file), method=method, dataset=dataset, noise=noise)
    return f"{mean_std(cell['test_accuracy'])} (n = {len(cell)})"


@block
def fresh_lead(file: str, method: str, *datasets: str) -> str:
    """Return the mean lead over a GCN under symmetric and asymmetric noise of 40 %, in points."""
    found = against(some(beside(file), dataset=datasets, noise=NOISY), "gcn")
    return fixed(100 * some(found, method=method)["difference"].mean(), signed=True)


@block
def large_graphs(file: str, method: str) -> str:
    """Return the leads over a GCN on the larger graphs, in points: clean / 40 % noise of a kind."""
    parts = []
    for dataset, tests in _large_leads(file, method).items():
        leads = " / ".join(fixed(100 * test.difference, signed=True) for test in tests)
        parts.append(f"{graph(dataset)} {leads} (n = {span([test.n for test in tests])})")
    return "; ".join(parts)


@block
def large_graphs_met(file: str, method: str) -> str:
    """Return on which larger graphs a method is not 0.5 behind when clean, ahead under noise."""
    met, missed = [], []
    for dataset, (clean, *noisy) in _large_leads(file, method).items():
        is_met = clean.difference >= -0.005 and all(test.difference > 0 for test in noisy)
        (met if is_met else missed).append(graph(dataset))
    words = [f"met on {listed(met)}" if met else "", f"**missed** on {listed(missed)}"]
    return "; ".join(filter(None, words if missed else words[:1]))


def _large_leads(file: str, method: str) -> dict[str, list[Any]]:
    """Return the tests against a GCN of each larger graph, one per setting."""
    found: dict[str, list[Any]] = {}
    for dataset in LARGE:
        tests = against(some(beside(file), dataset=dataset), "gcn")
        rows = {test.noise: test for test in some(tests, method=method).itertuples()}
        found[dataset] = [rows[noise] for noise in SETTINGS]
    return found


@block
def branch_table() -> str:
    """Return GCL-LR-Attention with and without its attribute branch, on development draws."""
    frame = runs("attribute-branch-0")
    alone = "gcl-lr-attention:attribute_branch=false"
    rows = []
    for test in against(frame, alone).itertuples():
        cell = some(frame, dataset=test.dataset, noise=test.noise)
        name = f"{graph(test.dataset)}, {setting(test.noise)}"
        rows.append([name, _accuracy(cell, alone), *_lead(cell, "gcl-lr-attention", test)])
    heads = ["", "embeddings alone", "with attributes", "gain (p; n)"]
    return f"{markdown(heads, rows)}\n\n{draws(frame).capitalize()}."


def beside(file: str) -> pd.DataFrame:
    """Return the runs of a file that compare the paper's two with a GCN."""
    return some(runs(file), noise=SETTINGS, split="default", method=("gcn", *PAPER))


def _lead(cell: pd.DataFrame, method: str, test: Any) -> list[str]:
    """Return accuracy and lead of a method in a cell, as two columns of a table."""
    if test is None or not test.n:
        return [_accuracy(cell, method), "not run"]
    lead = fixed(100 * test.difference, signed=True)
    return [_accuracy(cell, method), f"{lead} ({p_value(test.t_holm)}; {test.n})"]


def _accuracy(cell: pd.DataFrame, method: str) -> str:
    return mean_std(cell[cell["method"] == method]["test_accuracy"])
