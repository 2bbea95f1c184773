"""The tables of the paper from stored runs: ours beside the printed figures."""

import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, TypeAlias

import pandas as pd

from quietgraph.bench.execute import SAME_LABELS
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.statistics import compare, summary
from quietgraph.bench.tables import check_format, frame_text, number, styled_text
from quietgraph.data.datasets import DATASETS

Cell: TypeAlias = dict[str, Any]  # dataset, method, noise, quantity, unit, mean, std, n, words
_UNITS: Final = {  # factor, decimals, sign
    "percent": (100, 1, ""),
    "points": (100, 1, "+"),
    "count": (1, 0, ""),
    "tenths": (1, 1, ""),
    "plain": (1, 2, ""),
    "p": (1, 3, ""),
}
_ITALIC: Final = {"markdown": "*{}*", "latex": r"\textit{{{}}}", "html": "<em>{}</em>"}


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: the runs it needs, and what it shows of them. The fields are those of tables.toml."""

    name: str
    title: str
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    noise: Sequence[str] = ("none",)
    seeds: str = "1000-1009"
    measures: Sequence[str] = ()
    protocol: str | None = None  # where the table is about one
    show: str = "value"
    rows: str = "method"
    columns: str = "noise"
    quantities: Mapping[str, str] = field(default_factory=lambda: {"test_accuracy": "percent"})
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: str = ""

    def grids(self, *, datasets: Sequence[str] = (), seeds: str = "", protocol: str = SAME_LABELS) -> list[Grid]:
        """Return what has to be run, narrowed to some datasets and draws."""
        parts = [paper_tables()[name] for name in self.tables] or [self] * (self.show != "facts")
        grids = []
        for part in parts:
            shown = [name for name in part.datasets if not datasets or name in datasets]
            how: Any = {"protocol": part.protocol or protocol, "measures": part.measures}
            if shown:
                grids.append(Grid(shown, part.methods, part.noise, parse_seeds(seeds or part.seeds), **how))
        return grids

    def cells(self, runs: pd.DataFrame, *, seeds: str = "", protocol: str = SAME_LABELS) -> pd.DataFrame:
        """Return one row per cell: dataset, row, column, unit, ours (mean, std, n, words), and the printed figure."""
        found = self._ours(runs, seeds, protocol)
        ours = {(cell["dataset"], cell[self.rows], cell[self.columns]): cell for cell in found}
        printed, lines = _printed(), []
        for dataset, row, column in product(*map(self._places, ("dataset", self.rows, self.columns))):
            if {"dataset": dataset, self.rows: row, self.columns: column}["dataset"] != dataset:
                continue
            cell: Cell = ours.get((dataset, row, column), {})
            theirs: Cell = dict(printed.get((self.name, dataset, row, column), {}))
            if self.show == "ratio" and theirs:
                theirs |= {"mean": theirs["mean"] / printed[self.name, dataset, "gcn", column]["mean"], "std": None}
            units = self.quantities
            unit = "percent" if row == "best" else units.get(row) or units.get(column) or next(iter(units.values()))
            line: Cell = {"dataset": dataset, "row": row, "column": column, "unit": unit}
            line |= {name: cell.get(name) for name in ("mean", "std", "n", "words")}
            lines.append(line | {f"printed_{name}": theirs.get(name) for name in ("mean", "std", "note")})
        return pd.DataFrame(lines).fillna({"words": "", "printed_note": ""})

    def text(self, runs: pd.DataFrame, form: str = "markdown", *, seeds: str = "", protocol: str = SAME_LABELS) -> str:
        """Return the table with `ours ± std (draws) · printed ± std [mark]` in its cells; rows not run are named below.

        Args:
            runs: As `read_runs` gives them.
            form: One of `quietgraph.bench.tables.FORMATS`.
            seeds: Draws, where not those of the table.
            protocol: By which the runs were made, where the table is not about one.
        """
        check_format(form)
        cells = self.cells(runs, seeds=seeds, protocol=protocol)
        if form in {"csv", "json"}:
            return frame_text(cells, form)
        index = ["row"] if "dataset" in {self.rows, self.columns} else ["dataset", "row"]
        has_ours = cells["mean"].notna() | (cells["words"] != "")
        ran = has_ours.groupby([cells[name] for name in index]).transform("any")
        shown, absent = cells[ran], cells[~ran][index].drop_duplicates()
        sentences = dict.fromkeys(each for note in shown["printed_note"] for each in note.split(" | ") if each)
        letters = dict(zip(sentences, string.ascii_lowercase, strict=False))
        texts = [_cell_text(cell, letters, _ITALIC[form]) for cell in shown.to_dict("records")]
        wide = shown.assign(text=texts).pivot_table("text", index, "column", aggfunc="first", sort=False)
        wide = wide.reindex(columns=self._places(self.columns)).fillna("")
        wide.index.names, wide.columns.name = [*index[:-1], self.rows], None
        marks = [f"[{letter}] {sentence}" for sentence, letter in letters.items()]
        left = ["Not run: " + ", ".join(" ".join(each) for each in absent.to_numpy()) + "."] if len(absent) else []
        caption = f"Beside ours the printed figure. Protocol: {self.protocol or protocol}."
        return styled_text(wide.style.set_caption(" ".join(filter(None, [caption, self.notes, *marks, *left]))), form)

    def _places(self, kind: str) -> list[str]:
        """Return the datasets, methods, noises or quantities of the table, in order."""
        parts = [paper_tables()[name] for name in self.tables] or [self]
        if kind == "dataset":
            return [name for part in parts for name in part.datasets]
        if kind == "noise":
            return [name for name in parts[0].noise if name != "none" or not self.tables]
        best = ["best"] if self.show == "difference" else []
        return list(self.quantities) if kind == "quantity" else [*self.methods, *best]

    def _part(self, runs: pd.DataFrame, seeds: str, protocol: str) -> pd.DataFrame:
        """Return the runs that the table is of."""
        wanted: dict[str, Any] = {"dataset": self.datasets, "method": self.methods, "noise": self.noise}
        wanted |= {"seed": parse_seeds(seeds or self.seeds), "protocol": [self.protocol or protocol]}
        wanted["split"] = ["default"]
        return runs[runs[list(wanted)].isin(wanted).all(axis=1)]

    def _ours(self, runs: pd.DataFrame, seeds: str, protocol: str) -> Iterator[Cell]:
        if self.show == "facts":
            for dataset, name in product(self.datasets, self.quantities):
                yield {"dataset": dataset, "quantity": name, "mean": getattr(DATASETS[dataset], name)}
        elif self.show == "p-value":
            for name, rivals in self.tables.items():
                yield from self._tests(paper_tables()[name]._part(runs, seeds, protocol), rivals)
        else:
            part = self._part(runs, seeds, protocol)
            view = {"value": self._values, "difference": _differences, "ratio": _ratios, "choice": _choices}[self.show]
            yield from view(part) if len(part) else ()

    def _values(self, part: pd.DataFrame) -> Iterator[Cell]:
        for name in part.columns.intersection(list(self.quantities)):
            found: list[Any] = summary(part, name).to_dict("records")
            for cell in found:
                failed = f"failed: {cell['failed']}" if cell["failed"] else ""
                if cell["n"] or failed:
                    yield {**cell, "quantity": name, "words": failed}

    def _tests(self, part: pd.DataFrame, rivals: Sequence[str]) -> Iterator[Cell]:
        """Give the tests of the cells in which all baselines ran that ran on the dataset."""
        part = part[(part["noise"] != "none") & part["method"].isin([*rivals, *self.methods])]
        ran = part[part["method"].isin(rivals)].groupby(["dataset", "noise"])["method"].nunique()
        whole = ran.index[ran == ran.groupby("dataset").transform("max")]
        part = part[pd.MultiIndex.from_frame(part[["dataset", "noise"]]).isin(whole)]
        known = [name for name in rivals if name in set(part["method"])]
        tests: list[Any] = compare(part, known).to_dict("records") if known else []
        for test in tests:
            words = f"{100 * test['difference']:+.1f} points against {test['baseline']}"
            words += "" if pd.isna(test["p_holm"]) else f", Holm {test['p_holm']:.3f}"
            yield {**test, "mean": test["p"], "words": words if test["n"] else ""}


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Return all tables by name, in the order of the paper."""
    content = tomllib.loads(files("quietgraph.paper").joinpath("tables.toml").read_text(encoding="utf-8"))
    groups, found = content.pop("groups"), dict[str, PaperTable]()
    for name, facts in content.items():
        facts = {**content.get(facts.get("like", ""), {}), **facts}  # noqa: PLW2901
        facts.pop("like", None)
        for key in ("datasets", "methods", "noise"):
            facts[key] = list(_expanded(facts.get(key, []), groups))
        facts["tables"] = {part: list(_expanded(own, groups)) for part, own in facts.get("tables", {}).items()}
        found[name] = PaperTable(name, **facts)
    return found


def _expanded(items: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give texts with groups (`@name`) and alternatives (`{a,b}`) written out."""
    for item in items:
        braces = re.search(r"\{([^}]*)\}", item)
        if item.startswith("@"):
            yield from _expanded(groups[item[1:]], groups)
        elif braces:
            parts = _expanded(braces[1].split(","), groups)
            yield from _expanded([item[: braces.start()] + part + item[braces.end() :] for part in parts], groups)
        else:
            yield item


@cache
def _printed() -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Return the printed figures by table, dataset, row and column."""
    with files("quietgraph.paper").joinpath("printed.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file, dtype={"note": str}, keep_default_na=False, na_values={"mean": [""], "std": [""]})
    rows: list[Any] = frame.to_dict("records")
    return {(row["target"], row["dataset"], row["row"], row["column"]): row for row in rows}


def _differences(part: pd.DataFrame) -> Iterator[Cell]:
    """Give each method's accuracy less that of the best one, on shared draws, and that one's own."""
    done = part[part["status"] == "done"]
    for (dataset, noise), cell in done.groupby(["dataset", "noise"]):
        wide = cell.pivot_table("test_accuracy", "seed", "method")
        best = wide[wide.mean().idxmax()]
        for method, values in [*wide.sub(best, axis=0).items(), ("best", best)]:
            yield {"dataset": dataset, "noise": noise, "method": method, **_moments(values)}


def _ratios(part: pd.DataFrame) -> Iterator[Cell]:
    """Give the seconds of a fit divided by those of a GCN on the same draw."""
    for dataset, cell in part[part["status"] == "done"].groupby("dataset"):
        wide = cell.pivot_table("seconds_fit", "seed", "method")
        for method in wide if "gcn" in wide else []:
            words = f"{wide[method].mean():.2g} s"
            yield {"dataset": dataset, "method": method, "words": words, **_moments(wide[method] / wide["gcn"])}


def _choices(part: pd.DataFrame) -> Iterator[Cell]:
    """Give the settings with the best score, the first of equals, and how little it stands out."""
    for dataset, cell in part.dropna(subset=["fold_accuracy"]).groupby("dataset"):
        scores = cell.groupby("method")["fold_accuracy"].mean().round(12)
        gamma, tau = (pair.partition("=")[2] for pair in str(scores.idxmax()).split(":")[1:])
        found = {"gamma": float(gamma), "tau": float(tau), "best": scores.max(), "worst": scores.min()}
        for name, value in found.items():
            yield {"dataset": dataset, "quantity": name, "mean": value}


def _moments(values: "pd.Series[float]") -> Cell:
    known = values.dropna()
    return {"mean": known.mean(), "std": known.std(), "n": len(known)}


def _cell_text(cell: Mapping[Any, Any], letters: Mapping[str, str], italic: str) -> str:
    factor, decimals, sign = _UNITS[cell["unit"]]
    how: Any = {"factor": factor, "decimals": decimals, "sign": sign}
    ours = ", ".join(filter(None, [number(cell["mean"], cell["std"], cell["n"], **how), cell["words"]]))
    theirs = number(cell["printed_mean"], cell["printed_std"], float("nan"), **how)
    marks = ",".join(letters[each] for each in cell["printed_note"].split(" | ") if each)
    beside = (italic.format(theirs) + (f" [{marks}]" if marks else "")) if theirs else ""
    return " · ".join(filter(None, [ours or "not run", beside]))
