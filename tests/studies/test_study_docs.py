"""Figures of the docs are what results/ says, and every file of results/ is accounted for."""

import re
import sys
from pathlib import Path

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

import study_docs
from quietgraph.bench.statistics import mean_ranks
from study import grid, records, states
from study.blocks import block, filled, names
from study.words import compact, fixed, p_value, setting, span

FILES = sorted(str(path.relative_to(records.RESULTS)) for path in records.RESULTS.rglob("*.csv"))


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[str, set[str]]]:
    """The text of every page, written anew, and the files that its blocks have read."""
    found = {}
    for name in study_docs.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        records.files_read()
        found[name] = (filled(text, docs=study_docs.inside(name)), records.files_read())
    return found


@pytest.mark.parametrize("name", study_docs.PAGES)
def test_a_page_says_what_the_records_say(
    name: str, pages: dict[str, tuple[str, set[str]]]
) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert names(text), "a page without blocks"
    assert text == pages[name][0], f"{name} differs from results/. Run `make study-docs`."


def test_the_figure_of_mean_ranks_is_of_the_runs_in_results() -> None:
    drawn = (ROOT / "docs" / "images" / "study-ranks.svg").read_text(encoding="utf-8")
    found = mean_ranks(records.some(grid.grid(), method=grid.RANKED, noise=grid.INFORMATIVE))
    shown = {
        name: float(rank) for name, rank in re.findall(r">\s*([a-z0-9-]+)\s+(\d+\.\d\d)\s*<", drawn)
    }
    shown |= {
        name: float(rank) for rank, name in re.findall(r">\s*(\d+\.\d\d)\s+([a-z0-9-]+)\s*<", drawn)
    }
    assert shown == {name: round(rank, 2) for name, rank in found.ranks.items()}, "make study-docs"


def test_every_file_of_results_is_in_the_manifest_and_none_besides() -> None:
    assert sorted(records.manifest()["files"]) == FILES


@pytest.mark.parametrize("file", FILES)
def test_every_file_of_results_feeds_a_page(
    file: str, pages: dict[str, tuple[str, set[str]]]
) -> None:
    facts = records.manifest()["files"][file]
    assert facts["what"]
    assert facts["command"]
    assert facts["feeds"]
    for name in facts["feeds"]:
        page = (ROOT / name).read_text(encoding="utf-8")
        is_read = name in pages and file in pages[name][1]
        assert is_read or _is_named(file, page), f"{name} neither reads nor names {file}"


def _is_named(file: str, page: str) -> bool:
    """Whether a page names a file, perhaps with a star."""
    stars = re.findall(r"[\w/-]*\*?[\w-]*\.csv", page)
    return any(Path(file).match(star.removeprefix("results/")) for star in stars)


def test_the_manifest_knows_the_answers_of_every_method() -> None:
    changed = states.changed_methods()
    assert not changed, (
        f"answers of {', '.join(changed)} have changed, so their runs in results/ are old. Run "
        "`python studies/study_docs.py --changed METHOD 'what changed'` for each."
    )


def test_a_typed_figure_is_overwritten_and_links_follow_the_page() -> None:
    @block
    def answer_of_a_test(place: str) -> str:
        return f"42 [there]({place}.md)"

    page = "a <!-- study: answer-of-a-test x -->43<!-- /study --> b"
    assert filled(page, docs="docs/") == page.replace(">43<", ">42 [there](docs/x.md)<")
    tall = "<!-- study: answer-of-a-test x -->\n43\n<!-- /study -->"
    assert filled(tall).split("\n")[1:4] == ["", "42 [there](x.md)", ""]


def test_two_blocks_of_one_name_are_refused() -> None:
    def estimates() -> str:
        return "another"

    with pytest.raises(ValueError, match="two blocks are named estimates"):
        block(estimates)


def test_a_run_is_old_where_its_method_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = records.some(records.runs("fresh-8000"), method="gcn").iloc[0]
    told = (row["method"], row["dataset"], row["parameters"])
    assert not records.is_old(*told, row["started"])
    assert records.is_old(*told[:2], '{"hidden":3}', row["started"])
    assert records.is_old("gcn:gone=1", *told[1:], row["started"])
    monkeypatch.setitem(
        records.manifest()["methods"], row["method"].partition(":")[0], {"since": "2999"}
    )
    assert records.is_old(*told, row["started"])
    part = {"since": "", "splits": {"train+validation": "2999"}}
    monkeypatch.setitem(records.manifest()["methods"], row["method"].partition(":")[0], part)
    assert not records.is_old(*told, row["started"])
    assert records.is_old(*told, row["started"], "train+validation")


def test_a_draw_that_was_run_twice_counts_once_as_of_today() -> None:
    twice = records.runs("fresh-9100", "controls-9100", "fresh-9100")
    draws = twice[["dataset", "noise", "method", "seed", "split"]]
    assert not draws.duplicated().any()
    first, last = (records.runs(name)["started"].iloc[0] for name in ("fresh-8000", "real-8000"))
    frame = records.read_all("fresh-8000").head(2).assign(seed=1, method="gcn", noise="none")
    frame = frame.assign(dataset="cora", old=[True, False], started=[last, first])
    assert list(records.one_a_draw(frame)["old"]) == [False]


def test_words() -> None:
    assert setting("symmetric:0.4") == "symmetric 40 %"
    assert [fixed(value) for value in (71.55, -0.04, -0.05)] == ["71.6", "0.0", "-0.1"]
    assert fixed(1.25, signed=True) == "+1.3"
    assert span([2.04, 1.96], 1) == "2.0"
    assert [p_value(value) for value in (0.0004, 0.0123, 0.5)] == ["< 0.001", "0.012", "0.50"]
    assert compact("| a   |  b |\n|:----|---:|\nc  d") == "| a | b |\n|:--|--:|\nc  d"


TYPED = {  # tables of which single figures are typed, and why that is so
    ("docs/annotators.md", "file"),  # what files hold
    ("docs/quiet.md", "wrong labels, by the validation nodes"),  # constants of the method
    ("docs/release.md", "Python"),  # versions
}


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_tables_of_figures_come_from_results(path: Path) -> None:
    text = re.sub(r"<!-- study:.*?<!-- /study -->", "", path.read_text("utf-8"), flags=re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        heads, _, *rows = (line.strip().strip("|").split("|") for line in table.splitlines())
        cells = [cell for row in rows for cell in row[1:] if cell.strip()]
        figures = [cell for cell in cells if re.search(r"\d\.\d", cell)]
        where = (str(path.relative_to(ROOT)), heads[0].strip())
        assert len(figures) <= len(cells) / 5 or where in TYPED, (
            f"a table of figures in {where[0]} ({where[1]}) is typed by hand. Keep what was "
            "printed with studies/keep_table.py and show it with a block."
        )


# Decimals of sentences that are no measurements: constants of methods, thresholds, bars, what the
# paper prints, versions.
SETTINGS = {
    "README.md": {"3.11", "3.13", "96.0"},  # versions; the text of a picture
    "docs/findings.md": {
        "0.05", "0.5", "0.2", "0.04",  # p, temperature and dropout, ratios
        "82.5", "72.0",  # bars
        "0.6", "2.4",  # printed
        "1.95",  # log 7
    },
    "docs/quiet.md": {
        "0.05", "0.3", "0.2", "0.5", "0.06", "0.13", "0.15", "2.5", "1.5", "3.5",  # constants, bars
    },
    "docs/paper.md": {
        "0.2", "0.5", "0.3", "0.7", "3.5", "0.15", "0.28", "0.594", "0.590", "0.20",  # printed
    },
    "docs/model-card.md": {"0.05", "3.5"},
    "docs/results.md": {"0.05", "3.5"},
    "docs/ablation.md": {"0.5"},  # temperature
    "docs/annotators.md": {
        "0.2", "0.9", "0.8", "0.65", "0.55", "0.7", "3.5",  # a threshold, simulated annotators, GPT
    },
    "docs/benchmark.md": {"0.01", "0.05", "0.1", "0.5", "0.9", "1.7"},  # settings, a bar
    "docs/index.md": {"96.0"},  # text of a picture
    "docs/methods.md": {"82.5", "82.8", "83.1", "83.4", "83.5"},  # printed in the methods' papers
    "docs/scale.md": {
        "1.1", "1.3", "0.5", "0.05",  # bars
        "0.6", "0.2", "1.6", "2.60",  # bytes by design, edges of an example, a version
    },
    "docs/speed.md": {"1.3"},  # a bar
    "docs/theory.md": {"0.99"},  # of the learning rate
    "docs/trust.md": {
        "0.0001", "0.01", "0.05", "0.1", "0.3", "0.65", "0.8", "2.3",  # thresholds and constants
        "0.6", "0.95", "0.9", "3.5",  # generated graphs, an example, GPT
    },
    "docs/tutorial-llm.md": {"3.5"},
    "docs/install.md": {"3.11", "3.12", "3.13"},
    "docs/release.md": {"0.1", "3.11", "3.12", "3.13"},
    "docs/start.md": {"3.11"},
}  # fmt: skip
# Decisions are of their day, with the figures that they rested on.
WHOLE_SITE = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "adr" not in path.parts
]


@pytest.mark.parametrize("name", WHOLE_SITE)
def test_figures_of_sentences_come_from_results(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for ours in (r"<!-- study:.*?<!-- /study -->", r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)"):
        text = re.sub(ours, "", text, flags=re.DOTALL)
    found = set(re.findall(r"(?<![\w.:])\d+\.\d+(?![\w.])", text)) - SETTINGS.get(name, set())
    assert not found, f"typed by hand in {name}: {', '.join(sorted(found))}"
