"""What it is worth that few labels may not rename most classes in `quiet`."""

import pandas as pd

from quietgraph.bench.statistics import t_test_p
from study.blocks import block
from study.records import table
from study.words import fixed, graph, markdown, mean_std, p_value, setting, span


@block
def class_orders() -> str:
    """Return accuracies under both rules, the gain, and the lowest draw of each."""
    frame, rows = table("class-orders"), []
    for (dataset, noise), part in frame.groupby(["dataset", "noise"], sort=False):
        wide = part.pivot_table("accuracy", "seed", "rule")
        before, after = wide["any order"], wide["half of the classes"]
        gains = 100 * (after - before)
        gain = f"{fixed(gains.mean(), signed=True)} ({p_value(t_test_p(gains.to_numpy()))})"
        lowest = " / ".join(fixed(100 * each.min()) for each in (before, after))
        cells = [*map(mean_std, (before, after)), gain, lowest, str(len(wide))]
        rows.append([f"{graph(str(dataset))}, {setting(str(noise))}", *cells])
    heads = ["", "any order", "at most half of the classes", "gain (p)", "lowest draws", "n"]
    return f"{markdown(heads, rows)}\n\n{_draws(frame)}"


def _draws(frame: pd.DataFrame) -> str:
    n = span(list(frame.groupby(["dataset", "noise"])["seed"].nunique()))
    seeds = frame["seed"]
    return f"Draws {seeds.min()}-{seeds.max()} (n = {n}), percent right; paired t-test."
