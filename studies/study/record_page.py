"""The page on records: every file of results/, whose state it is, and what it feeds."""

import pandas as pd

from study.blocks import block
from study.records import RESULTS, manifest, old_words, printed, read_all, runs
from study.words import markdown


@block
def record_files() -> str:
    """Return a row per file: what, draws, dates, old runs, pages."""
    rows = []
    for name, facts in manifest()["files"].items():
        pages = ", ".join(f"[{page[5:-3]}]({page[5:]})" for page in facts["feeds"])
        rows.append([f"`{name}`", facts["what"], *_state(name), pages, f"`{facts['command']}`"])
    heads = ["file", "what", "runs", "old", "draws", "run on", "feeds", "command"]
    return markdown(heads, rows, names=2)


@block
def printed_table(name: str, names: str = "1") -> str:
    """Return a table as a benchmark printed it; its first columns are names."""
    return markdown(*printed(name), names=int(names))


@block
def printed_cell(name: str, column: str, *row: str) -> str:
    """Return one cell of a table that a benchmark printed, for a sentence.

    Args:
        name: Of the table.
        column: Its head.
        row: What the first cells of the line are, as many as tell it from the others.
    """
    heads, rows = printed(name)
    found = [line for line in rows if tuple(line[: len(row)]) == row]
    if len(found) != 1 or column not in heads:
        raise KeyError(f"{name}: {len(found)} lines begin with {row}, heads are {heads}")
    return found[0][heads.index(column)].replace("*", "")


@block
def record_methods() -> str:
    """Return since when each method answers as it does today."""
    rows = []
    for name, facts in sorted(manifest()["methods"].items()):
        if facts["since"]:
            rows.append([f"`{name}`", _minute(facts["since"]), facts["why"]])
        if "splits" in facts:
            words = f"{facts['splits_why']} ({', '.join(facts['splits'])} alone)"
            rows.append([f"`{name}`", _minute(max(facts["splits"].values())), words])
    return markdown(["method", "since (UTC)", "what changed"], rows, names=3)


def _minute(moment: str) -> str:
    return moment.replace("T", " ")[:16]


@block
def old_in(*files: str) -> str:
    """Return a sentence on the old runs of files, nothing where there are none."""
    return old_words(runs(*files))


def _state(name: str) -> tuple[str, str, str, str]:
    """Return runs, old runs, draws and dates of a file."""
    path = RESULTS / name
    if name.startswith(("studies/", "tables/")):
        return str(len(pd.read_csv(path))), "", "", ""
    frame = read_all(path.stem)
    days = sorted({text[:10] for text in frame["started"]})
    seeds = sorted(set(frame["seed"]))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1][8:]}"
    return str(len(frame)), str(int(frame["old"].sum())), f"{seeds[0]}-{seeds[-1]}", when
