"""The tables of the paper from stored runs: ours beside the printed figures."""

import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, TypeAlias

import pandas as pd

from quietgraph.bench.execute import SAME_LABELS
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.statistics import compare, summary
from quietgraph.bench.tables import number, written
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
        grids = []
        for part in self._of(seeds, protocol)._parts() if self.show != "facts" else ():
            shown = [name for name in part.datasets if not datasets or name in datasets]
            how: Any = {"protocol": part.protocol, "measures": part.measures}
            if shown:
                grids.append(Grid(shown, part.methods, part.noise, parse_seeds(part.seeds), **how))
        return grids

    def text(self, runs: pd.DataFrame, form: str = "markdown", *, seeds: str = "", protocol: str = SAME_LABELS) -> str:
        """Return the table with `ours ± std (draws) · printed ± std [mark]` in its cells; rows not run are named below.

        Args:
            runs: As `read_runs` gives them.
            form: One of `quietgraph.bench.tables.FORMATS`; csv and json have a line per cell.
            seeds: Draws, where not those of the table.
            protocol: By which the runs were made, where the table is not about one.
        """
        table = self._of(seeds, protocol)
        cells = table._cells(runs)
        index = ["row"] if "dataset" in {self.rows, self.columns} else ["dataset", "row"]
        has_ours = cells["mean"].notna() | (cells["words"] != "")
        ran = has_ours.groupby([cells[name] for name in index]).transform("any")
        shown, absent = cells[ran], cells[~ran][index].drop_duplicates()
        sentences = dict.fromkeys(each for note in shown["printed_note"] for each in note.split(" | ") if each)
        letters = dict(zip(sentences, string.ascii_lowercase, strict=False))
        texts = [_cell_text(cell, letters, _ITALIC.get(form, "{}")) for cell in shown.to_dict("records")]
        wide = shown.assign(text=texts).pivot_table("text", index, "column", aggfunc="first", sort=False)
        wide = wide.reindex(columns=self._places(self.columns)).fillna("")
        wide.index.names, wide.columns.name = [*index[:-1], self.rows], None
        below = [f"Beside ours the printed figure. Protocol: {table.protocol}.", *([self.notes] if self.notes else [])]
        below += [f"[{letter}] {sentence}" for sentence, letter in letters.items()]
        below += ["Not run: " + ", ".join(" ".join(each) for each in absent.to_numpy()) + "."] if len(absent) else []
        return written(cells, wide.style.set_caption(" ".join(below)), form)

    def _of(self, seeds: str, protocol: str) -> "PaperTable":
        """Return the table of these draws, or its own, and by its own protocol, or this one."""
        return replace(self, seeds=seeds or self.seeds, protocol=self.protocol or protocol)

    def _parts(self) -> list["PaperTable"]:
        """Return the tables that p-values are of; else this one."""
        how: Any = {"seeds": self.seeds, "protocol": self.protocol}
        return [replace(paper_tables()[name], **how) for name in self.tables] or [self]

    def _places(self, kind: str) -> list[str]:
        """Return the datasets, methods, noises or quantities of the table, in order."""
        if kind == "quantity":
            return list(self.quantities)
        if kind == "method":
            return [*self.methods, *(["best"] if self.show == "difference" else [])]
        if kind == "noise":
            return [name for name in self._parts()[0].noise if name != "none" or not self.tables]
        return [name for part in self._parts() for name in part.datasets]

    def _cells(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return one row per cell: dataset, row, column, unit, ours (mean, std, n, words), and the printed figure."""
        ours = {(cell["dataset"], cell[self.rows], cell[self.columns]): cell for cell in self._ours(runs)}
        printed, lines, kinds = _printed(), list[Cell](), dict.fromkeys(("dataset", self.rows, self.columns))
        for place in product(*map(self._places, kinds)):
            at = dict(zip(kinds, place, strict=True))
            dataset, row, column = key = at["dataset"], at[self.rows], at[self.columns]
            cell, theirs, units = ours.get(key, {}), printed.get((self.name, *key), {}), self.quantities
            mean, std = theirs.get("mean"), theirs.get("std")
            if self.show == "ratio" and theirs:
                mean, std = theirs["mean"] / printed[self.name, dataset, "gcn", column]["mean"], None
            unit = "percent" if row == "best" else units.get(row) or units.get(column) or next(iter(units.values()))
            line: Cell = {"dataset": dataset, "row": row, "column": column, "unit": unit}
            line |= {name: cell.get(name) for name in ("mean", "std", "n", "words")}
            lines.append(line | {"printed_mean": mean, "printed_std": std, "printed_note": theirs.get("note")})
        return pd.DataFrame(lines).fillna({"words": "", "printed_note": ""})

    def _runs(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the runs that the table is of."""
        wanted: dict[str, Any] = {"dataset": self.datasets, "method": self.methods, "noise": self.noise}
        wanted |= {"seed": parse_seeds(self.seeds), "protocol": [self.protocol], "split": ["default"]}
        return runs[runs[list(wanted)].isin(wanted).all(axis=1)]

    def _ours(self, runs: pd.DataFrame) -> Iterator[Cell]:
        if self.show == "facts":
            for dataset, name in product(self.datasets, self.quantities):
                yield {"dataset": dataset, "quantity": name, "mean": getattr(DATASETS[dataset], name)}
        elif self.show == "p-value":
            for part in self._parts():
                yield from self._tests(part._runs(runs), self.tables[part.name])
        else:
            own = self._runs(runs)
            view = {"value": self._values, "difference": _differences, "ratio": _ratios, "choice": _choices}[self.show]
            yield from view(own) if len(own) else ()

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
    for name, own in content.items():
        facts = {**content.get(own.pop("like", ""), {}), **own}
        for key in ("datasets", "methods", "noise"):
            facts[key] = list(_expanded(facts.get(key, []), groups))
        facts["tables"] = {part: [*_expanded(names, groups)] for part, names in facts.get("tables", {}).items()}
        found[name] = PaperTable(name, **facts)
    return found


def _expanded(items: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give texts with groups (`@name`) and alternatives (`{a,b}`) written out."""
    for item in items:
        before, _, after = item.partition("{")
        if item.startswith("@"):
            yield from _expanded(groups[item[1:]], groups)
        elif after:
            parts, _, rest = after.partition("}")
            yield from _expanded([before + part + rest for part in _expanded(parts.split(","), groups)], groups)
        else:
            yield item


@cache
def _printed() -> dict[Any, Cell]:
    """Return the printed figures by table, dataset, row and column."""
    with files("quietgraph.paper").joinpath("printed.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file, dtype={"note": str}, keep_default_na=False, na_values={"mean": [""], "std": [""]})
    return frame.set_index(["target", "dataset", "row", "column"]).to_dict("index")  # type: ignore[return-value]


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
        gamma, tau = (float(pair.partition("=")[2]) for pair in str(scores.idxmax()).split(":")[1:])
        for name, value in {"gamma": gamma, "tau": tau, "best": scores.max(), "worst": scores.min()}.items():
            yield {"dataset": dataset, "quantity": name, "mean": value}


def _moments(values: "pd.Series[float]") -> Cell:
    known = values.dropna()
    return {"mean": known.mean(), "std": known.std(), "n": len(known)}


def _cell_text(cell: Mapping[Any, Any], letters: Mapping[str, str], italic: str) -> str:
    how: Any = dict(zip(("factor", "decimals", "sign"), _UNITS[cell["unit"]], strict=True))
    ours = ", ".join(filter(None, [number(cell["mean"], cell["std"], cell["n"], **how), cell["words"]])) or "not run"
    theirs = number(cell["printed_mean"], cell["printed_std"], float("nan"), **how)
    marks = ",".join(letters[each] for each in cell["printed_note"].split(" | ") if each)
    return f"{ours} · {italic.format(theirs)}{f' [{marks}]' if marks else ''}" if theirs else ours
