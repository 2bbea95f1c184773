"""Crowds of annotators, and what a budget of labels is worth."""

import pandas as pd
from scipy.stats import ttest_rel

from study.blocks import block
from study.records import runs, some, table
from study.words import fixed, graph, listed, markdown, mean_std, p_value

RIVALS = {
    "majority": "majority vote", "crowd-kit": "Dawid-Skene (crowd-kit)", "cleanlab": "cleanlab",
    "quietgraph": "ours",
}  # fmt: skip
DATASETS = ("digits", "cora", "citeseer")
BUDGET = 100


def crowd_draws(measure: str, dataset: str) -> pd.DataFrame:
    """Return a measure of every consensus on a graph, a row per draw that has all four."""
    rows = table("annotators")
    if measure.endswith("_unweighted"):  # weights are of ours alone
        plain = rows[measure.removesuffix("_unweighted")]
        rows[measure] = plain.where(rows["consensus"] != "quietgraph", rows[measure])
    if measure not in rows:
        return pd.DataFrame(columns=list(RIVALS), dtype=float)
    found = rows[rows["dataset"] == dataset].pivot_table(measure, "draw", "consensus")
    return found.reindex(columns=list(RIVALS)).dropna()


@block
def crowd_table(measure: str) -> str:
    """Return a row per graph: mean ± std over draws by the consensus that was learned from."""
    rows = []
    for dataset in DATASETS:
        found = crowd_draws(measure, dataset)
        shown = [mean_std(found[rival]) for rival in RIVALS]
        rows.append([graph(dataset), *shown[:-1], f"**{shown[-1]}**", str(len(found))])
    return markdown(["", *RIVALS.values(), "n"], rows)


@block
def crowd_leads(measure: str) -> str:
    """Return a row per graph: how far ours is ahead of each rival, paired by draw."""
    others = {name: words for name, words in RIVALS.items() if name != "quietgraph"}
    rows = []
    for dataset in DATASETS:
        found = crowd_draws(measure, dataset)
        rows.append([graph(dataset), *(_lead(found["quietgraph"], found[one]) for one in others)])
    return markdown(["ours ahead of", *others.values()], rows)


@block
def accuracy_on_true_labels(method: str, dataset: str) -> str:
    """Return the test accuracy of a method that learns from the true labels, on other draws."""
    found = some(runs("fresh-9100"), method=method, dataset=dataset, noise="none")
    return mean_std(found["test_accuracy"], n=True)


@block
def crowd_annotators() -> str:
    """Return how well the annotators themselves are estimated."""
    rows = table("annotators")
    ours = rows[(rows["consensus"] == "quietgraph") & rows["spammer_found"].notna()]
    parts = {name: ours[ours["dataset"] == name] for name in DATASETS}
    errors = [fixed(100 * part["annotator_error"].mean()) for part in parts.values()]
    inside = [fixed(100 * part["interval_holds"].mean(), 0) for part in parts.values()]
    found = int((ours["spammer_found"].astype(str) == "True").sum())
    sizes = [f"{len(part)} of {graph(name)}" for name, part in parts.items()]
    return (
        f"Estimated accuracies of annotators are off by {listed(errors)} points on "
        f"{listed([graph(name) for name in DATASETS])} on average; the intervals hold the true "
        f"accuracy of {listed(inside)} % of annotators; the spammer was called random in {found} "
        f"of {len(ours)} draws ({listed(sizes)}), and {int(ours['falsely_random'].sum())} others."
    )


def budget_draws(
    choice: str, budget: int, measure: str = "accuracy", code: str = ""
) -> "pd.Series[float]":
    """Return a measure after a budget was spent, by draw; of one state of the code if named."""
    rows = table("annotation-budget")
    found = rows[(rows["choice"] == choice) & (rows["budget"] == budget)]
    found = found[found["code"] == code] if code else found
    return found.set_index("draw")[measure].sort_index()


@block
def budget_table() -> str:
    """Return test accuracy before and after 100 labels of a person, by how they were chosen."""
    heads = {
        "before": ("none", 0),
        "100 at random": ("random at once", BUDGET),
        "100 of largest entropy": ("entropy at once", BUDGET),
        "100 by `next_labels`": ("next_labels", BUDGET),
    }
    found = [budget_draws(*where) for where in heads.values()]
    row = [mean_std(one, n=True) for one in found]
    return markdown(list(heads), [[*row[:-1], f"**{row[-1]}**"]], names=0)


@block
def budget_leads(code: str = "") -> str:
    """Return how far `next_labels` is ahead of the other choices."""
    names = {"random choice": "random at once", "largest entropy": "entropy at once"}
    ours = budget_draws("next_labels", BUDGET, code=code)
    leads = [f"{name}: {_lead(ours, budget_draws(how, BUDGET))}" for name, how in names.items()]
    return f"Lead of `next_labels` over {'; over '.join(leads)}."


@block
def budget_lead_over(how: str) -> str:
    """Return how far `next_labels` is ahead of one other choice."""
    return _lead(budget_draws("next_labels", BUDGET), budget_draws(how, BUDGET))


@block
def entropy_lead() -> str:
    """Return how the labels of largest entropy do beside random ones."""
    return _lead(budget_draws("entropy at once", BUDGET), budget_draws("random at once", BUDGET))


@block
def budget_curve() -> str:
    """Return mean test accuracy by the number of labels that `next_labels` chose."""
    steps = range(25, BUDGET + 1, 25)
    row = [mean_std(budget_draws("next_labels", step), n=True) for step in steps]
    before = mean_std(budget_draws("none", 0), n=True)
    heads = ["labels of a person, by `next_labels`", "0", *map(str, steps)]
    return markdown(heads, [["test accuracy", before, *row]])


def _lead(ours: "pd.Series[float]", theirs: "pd.Series[float]") -> str:
    """Return `+3.6 (10 of 10, p < 0.001)` of draws that both have, or that there are none."""
    both = pd.concat([ours, theirs], axis=1, keys=["ours", "theirs"]).dropna()
    if len(both) < 2:
        return "not measured"
    gain = both["ours"] - both["theirs"]
    p = p_value(ttest_rel(both["ours"], both["theirs"]).pvalue if gain.any() else 1.0)
    p = p if p.startswith("<") else f"= {p}"
    won = f"{int((gain > 0).sum())} of {len(gain)}"
    return f"{fixed(100 * gain.mean(), signed=True)} ({won}, p {p})"
