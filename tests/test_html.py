"""What notebooks show: the facts, escaped, and never a training."""

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.html import facts_html, said
from quietgraph.testing import small_problem

HOSTILE = "<script>alert(1)</script>"


def test_values_are_written_for_people() -> None:
    assert [said(one) for one in (12345, 0.12345, True, None, "a")] == [
        "12,345",
        "0.123",
        "yes",
        "none",
        "a",
    ]


def test_every_text_is_escaped() -> None:
    page = facts_html(HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE])
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;") == 4


def test_graph_observation_and_models_show_their_facts() -> None:
    problem, labels, validation = small_problem()
    assert "531" in problem.graph._repr_html_()
    data = qg.load("digits")
    shown = data._repr_html_()
    assert "digits" in shown
    assert "1,797" in shown
    model = qg.GCN(epochs=7)
    before = model._repr_html_()
    assert "epochs=7" in before
    assert "not fitted" in before
    model.fit(problem.graph, labels, validation)
    after = model._repr_html_()
    assert "120" in after
    assert model.quality_ is None  # looking trains nothing
    model.quality()
    assert "out of fold" in model._repr_html_()
    assert "effective rank" in model.diagnose()._repr_html_()
    assert "verdict" in model.quality()._repr_html_()


def test_suspects_show_the_first_rows_the_count_and_escaped_labels() -> None:
    drawn = qg.block_model(300, num_classes=3, generator=np.random.default_rng(0))
    names = np.array(["a", "b", HOSTILE], dtype=object)
    labels = names[drawn.classes]
    labels[:15] = names[(drawn.classes[:15] + 1) % 3]
    labels[160:] = None
    table = qg.S2GC().fit(drawn.graph, labels).suspects()
    shown = table._repr_html_()
    assert HOSTILE not in shown
    issues = int(table["is_issue"].sum())
    assert issues > 5
    assert f"{issues} of 160 labels are probably wrong" in shown
    assert shown.count("<tr>") == 21
    # Whatever is made of it is a plain table.
    assert type(table.head(3)) is pd.DataFrame
    assert type(table[table["is_issue"]]) is pd.DataFrame


@pytest.mark.parametrize("name", ["given", "suggested"])
def test_a_notice_is_shown(name: str) -> None:
    problem, labels, _ = small_problem()
    draws = np.random.default_rng(0)
    labels[:60] = draws.integers(3, size=60)  # nothing to learn
    table = qg.GCN(epochs=5).fit(problem.graph, labels).suspects()
    assert name in table.columns
    assert table.attrs["notice"].split(".")[0] in table._repr_html_()
