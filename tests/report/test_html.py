"""The report: self-contained, escaped, small, and readable without JavaScript."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quietgraph.graph.io.corrections import Corrections, LabelDecision
from quietgraph.report import fit_run as fit_run_module
from quietgraph.report import page_data as page_data_module
from quietgraph.report.answers import Answers, answers
from quietgraph.report.fit_figures import calibration_curve, follow_theme
from quietgraph.report.fit_run import FitRun
from quietgraph.report.page import render_page
from quietgraph.report.page_data import page_data, script_json
from report_problem import AWKWARD, CLASSES, distrusted, own_run

STYLE = Path(page_data_module.__file__).parent / "templates" / "report.css"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FitRun:
    return own_run(tmp_path_factory.mktemp("report") / "graph")


@pytest.fixture(scope="module")
def page(run: FitRun) -> str:
    return render_page(run)


def test_the_page_asks_nothing_of_the_network(page: str) -> None:
    assert not re.search(r'(src|href)="(?!#|data:,)', page)
    assert "url(" not in page.replace("url(#", "")
    assert "default-src 'none'" in page


def test_ids_and_labels_cannot_break_out_of_the_page(page: str) -> None:
    # One script sets the theme, one holds data, one is the page's own: none came from an id.
    assert page.count("<script") == page.count("</script>") == 3
    for text in AWKWARD[:1] + AWKWARD[3:]:
        assert text not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page


def test_where_nothing_is_known_no_label_has_a_probability_of_being_wrong(
    run: FitRun, page: str
) -> None:
    assert "<td>&gt; 99 %</td>" in page
    assert "of 80</small>" in page
    doubtful = render_page(distrusted(run))
    rows = doubtful.split("<tbody>")[1].split("</tbody>")[0]
    assert rows.count("<td>not known</td>") == rows.count("<tr") == 50
    assert "cannot tell wrong labels from right ones" in doubtful
    assert "<dt>labels probably wrong</dt><dd>not known</dd>" in doubtful
    assert 'class="likely"' not in rows


def test_the_data_of_the_page_are_the_suspects_in_their_order(run: FitRun, page: str) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    queue = run.queue
    count = len(queue)
    assert count == 50  # all suspects, and the next uncertain ones
    assert data["points"]["id"][:count] == run.observation.node_ids[queue["node"]].tolist()
    assert [line["node"] for line in data["details"]] == data["points"]["id"][:count]
    assert sorted(data["points"]["id"]) == sorted(run.observation.node_ids)
    assert data["classes"] == sorted(CLASSES)
    observed = [data["classes"][code] for code in data["points"]["observed"][:count]]
    suggested = [data["classes"][code] for code in data["suspects"]["suggested"]]
    assert observed == queue["observed"].tolist()
    assert suggested == queue["suggested"].tolist()
    assert data["suspects"]["p_wrong"] == pytest.approx(queue["p_wrong"].tolist(), abs=1e-3)
    assert data["points"]["observed"].count(-1) == 40


def test_the_queue_goes_from_wrong_to_uncertain_to_what_somebody_was_unsure_of(run: FitRun) -> None:
    first, kept = run.observation.node_ids[run.queue["node"][:2]]
    unsure = Corrections(Path(), {first: LabelDecision(first, "unsure", by="Ann")})
    queue = replace(run, decisions=unsure).queue
    ids = run.observation.node_ids[queue["node"]].tolist()
    assert ids[0] == kept
    assert ids[-1] == first
    order = queue["is_issue"].astype(int).tolist()[:-1]
    assert order == sorted(order, reverse=True)
    assert len(set(ids)) == len(ids) == 50


def test_without_javascript_the_first_suspects_and_figures_are_there(
    run: FitRun, page: str
) -> None:
    bodies = page.split("<tbody>")
    assert bodies[1].split("</tbody>")[0].count("<tr") == len(run.queue)
    assert page.count("<svg") == 5
    for words in ("Confusion", "Calibration", "Coverage", "Spectrum", "What each direction holds"):
        assert words in page
    for words in ("quietgraph fit", "torch", "seed", run.observation.graph.fingerprint):
        assert words in page


def test_a_page_keeps_below_its_limits(run: FitRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_data_module, "MAX_POINTS", 55)
    monkeypatch.setattr(page_data_module, "_MAX_DETAIL_BYTES", 3000)
    monkeypatch.setattr(fit_run_module, "LONGEST_QUEUE", 6)
    short = replace(run)  # with a queue of its own
    data = page_data(short)
    assert len(data["points"]["id"]) == len(set(data["points"]["id"])) == 55
    assert len(data["suspects"]["p_wrong"]) == 6
    assert 0 < len(data["details"]) < 6
    assert data["more"]
    monkeypatch.setattr(page_data_module, "_MAX_ID_BYTES", 100)
    data = page_data(short)
    assert sum(map(len, data["points"]["id"])) <= 100
    assert len(data["suspects"]["p_wrong"]) == len(data["points"]["id"])


def test_decisions_kept_in_a_browser_belong_to_one_run(run: FitRun) -> None:
    again, other = page_data(run), page_data(replace(run, command="quietgraph fit other"))
    assert page_data(run)["run"] == again["run"] != other["run"]


def test_votes_of_nobody_are_null(run: FitRun) -> None:
    nobody = np.full(len(run.suspects), np.nan)
    lonely = replace(run)
    lonely.__dict__["suspects"] = run.suspects.assign(neighbours_given=nobody)
    assert set(page_data(lonely)["suspects"]["neighbours_observed"]) == {None}


@pytest.mark.parametrize("text", [*AWKWARD, *CLASSES, "<!--", "]]>"])
def test_script_json_holds_any_text(text: str) -> None:
    written = script_json({"name": text})
    assert not set("<>&") & set(written)
    assert json.loads(written) == {"name": text}


def test_answers_of_own_data_are_those_that_did_not_see_the_label(run: FitRun) -> None:
    judged = answers(run)
    assert "observed labels" in judged.source
    assert len(judged.labels) == 80
    probabilities = run.model.calibrated_out_of_fold()
    assert judged.confidence.tolist() == probabilities[:80].max(axis=1).tolist()


def test_confusion_counts_every_pair() -> None:
    labels, predicted = np.array(["10", "9", "9"]), np.array(["9", "9", "x"])
    table = Answers("", labels, predicted, np.ones(3)).confusion()
    expected = pd.DataFrame(
        [[1, 0, 1], [1, 0, 0], [0, 0, 0]], index=["9", "10", "x"], columns=["9", "10", "x"]
    )
    np.testing.assert_array_equal(table.to_numpy(), expected.to_numpy())
    assert table.index.tolist() == table.columns.tolist() == ["9", "10", "x"]


def test_confusion_of_very_many_classes_is_left_out() -> None:
    names = np.array([str(code) for code in range(31)])
    assert Answers("", names, names, np.ones(31)).confusion() is None


def test_figures_take_the_colours_of_the_page() -> None:
    confidence = np.array([0.05, 0.55, 0.95, 1.0])
    svg = follow_theme(calibration_curve(confidence, confidence > 0.5))
    assert "var(--line-0)" in svg
    assert "#0072b2" not in svg
    assert "currentColor" in svg


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""
    levels = []
    for colour in (first, second):
        text = "".join(2 * digit for digit in colour) if len(colour) == 3 else colour
        parts = [int(text[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        levels.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    return (max(levels) + 0.05) / (min(levels) + 0.05)


@pytest.mark.parametrize("theme", [":root {", ':root[data-theme="dark"] {'])
def test_words_and_marks_stand_out_from_their_ground(theme: str) -> None:
    block = STYLE.read_text(encoding="utf-8").split(theme)[1].split("}")[0]
    colours = dict(re.findall(r"--([\w-]+): #(\w+)", block))
    words = [("ink", "paper"), ("dim", "paper"), ("dim", "soft"), ("mark", "card")]
    words += [("on-mark", "mark"), ("card", "bad"), ("card", "good"), ("bad", "bad-soft")]
    marks = [(name, "card") for name in colours if name.startswith(("class-", "line-"))]
    weak = [pair for pair in words if contrast(*map(colours.get, pair)) < 4.5]
    weak += [pair for pair in marks if contrast(*map(colours.get, pair)) < 3]
    assert weak == []


def test_every_colour_of_the_figures_is_set_for_light_and_dark() -> None:
    names = [f"--line-{name}" for name in (0, 1, 2, 3, "red", "blue")]
    names += [f"--class-{place}" for place in range(8)]
    text = STYLE.read_text(encoding="utf-8")
    for name in names:
        assert text.count(f"{name}:") == 3  # light, dark by choice, dark by the system
