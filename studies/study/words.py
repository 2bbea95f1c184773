"""Numbers and tables as the pages write them."""

import math
import re
from collections.abc import Sequence

import pandas as pd

GRAPHS = {
    "cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed", "coauthor-cs": "Coauthor-CS",
    "amazon-photo": "Amazon-Photo", "amazon-computers": "Amazon-Computers", "texas": "Texas",
    "chameleon": "Chameleon", "digits": "digits", "dblp": "DBLP", "blogcatalog": "BlogCatalog",
    "flickr": "Flickr",
}  # fmt: skip


def graph(name: str) -> str:
    """Return the name of a dataset in a sentence."""
    return GRAPHS.get(name, name)


def setting(noise: str) -> str:
    """Return a noise setting in words: `symmetric:0.4` is `symmetric 40 %`."""
    if noise == "none":
        return "clean"
    kind, _, rate = noise.partition(":")
    kind = {"attribute": "attributes"}.get(kind, kind)
    return f"{kind} {100 * float(rate):.0f} %" if _is_number(rate) else kind


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def fixed(value: float, decimals: int = 1, *, signed: bool = False) -> str:
    """Return a number with so many decimals, halves away from zero, no minus before zero."""
    scaled = math.floor(abs(value) * 10**decimals + 0.5 + 1e-7) / 10**decimals
    number = math.copysign(scaled, value) if scaled else 0.0
    return f"{number:+.{decimals}f}" if signed else f"{number:.{decimals}f}"


def mean_std(values: "pd.Series[float]", *, n: bool = False) -> str:
    """Return accuracies as `mean ± std` in percent, with their number where asked."""
    found = 100 * values.dropna()
    if found.empty:
        return "not run"
    words = fixed(found.mean()) + (f" ± {fixed(found.std())}" if len(found) > 1 else "")
    return f"{words} ({len(found)})" if n else words


def p_value(value: float) -> str:
    """Return a p-value with one digit that counts, two where it is near 0.05 or above 0.1."""
    if pd.isna(value):
        return "no test"
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def span(values: Sequence[float], decimals: int = 0) -> str:
    """Return `low to high`, or one number where both round to the same."""
    low, high = (fixed(value, decimals) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1) -> str:
    """Return a table; the first columns are names, the others numbers to the right."""
    lines = [heads, [":--"] * names + ["--:"] * (len(heads) - names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compact(text: str) -> str:
    """Return a text whose tables have no spaces that only line up their columns."""
    lines = [
        re.sub(" {2,}", " ", line) if line.startswith("|") else line for line in text.split("\n")
    ]
    return "\n".join(
        re.sub("-{3,}", "--", line) if set(line) <= set("|:- ") else line for line in lines
    )


def listed(items: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def draws(frame: pd.DataFrame) -> str:
    """Return the seeds of a table as `draws 8000-8004` and how many values a cell has."""
    seeds = sorted(set(frame["seed"]))
    counts = frame.groupby(["dataset", "noise", "method", "split"]).size()
    named = f"draws {seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"draw {seeds[0]}"
    return f"{named} (n = {span(list(counts))})"
