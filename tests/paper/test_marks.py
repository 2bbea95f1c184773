"""Printed numbers of the paper, and where they cannot be."""

import pytest

from quietgraph.paper.comparison import Number
from quietgraph.paper.marks import (
    accuracy_marks,
    complexity_marks,
    copy_marks,
    least_complexity,
    noise_marks,
    time_marks,
    weight_marks,
)
from quietgraph.paper.printed import printed, printed_number, printed_numbers


def test_every_kind_of_table_has_its_printed_numbers() -> None:
    counts: dict[str, int] = {}
    for target, *_ in printed_numbers():
        counts[target] = counts.get(target, 0) + 1
    assert counts == {
        "datasets": 8 * 4,
        "cross-validation": 8 * 2,
        "classification": 4 * 19 * 10,
        "classification-more": 4 * 19 * 10,
        "heterophilic": 2 * 3 * 10,
        "classifiers": 11 * 10,
        "bound": 3 * 4 * 8,
        "kernel-complexity": 8 * 2 * 8,
        "training-time": 14 * 8,
        "rank": 11 * 7,
        "projection": 3,
        "projection-more": 4,
        "projection-heterophilic": 2,
        "p-values": 10 * 2 * 9,
        "sensitivity": 9,
    }


@pytest.mark.parametrize(
    ("place", "number"),
    [
        (("classification", "cora", "gcn", "symmetric:0.4"), Number(0.636, 0.007)),
        (("bound", "pubmed", "bound", "gcl-lr-attention"), Number(6.16, 0.40)),
        (("kernel-complexity", "cora", "rank", "merit"), Number(1420)),
        (("training-time", "wiki-cs", "sfa", "wiki-cs"), Number(233.5)),
        (("rank", "cora", "gcl-lrr:rank_ratio=1", "asymmetric:0.8"), Number(-0.010)),
        (("rank", "cora", "best", "none"), Number(0.858)),
        (("p-values", "texas", "gcl-lrr:encoder=tedgcn", "attribute:0.8"), Number(0.031)),
        (("classifiers", "cora", "sfa:classifier=gcn", "none"), Number(0.837, 0.013)),
        (("cross-validation", "wiki-cs", "wiki-cs", "tau"), Number(0.25)),
        (
            ("sensitivity", "coauthor-cs", "gcl-lr-attention:rank_weight=0.5", "asymmetric:0.6"),
            Number(0.594),
        ),
    ],
)
def test_a_printed_number_is_found_where_the_paper_has_it(
    place: tuple[str, str, str, str], number: Number
) -> None:
    assert printed_number(*place) == number


def test_what_is_not_printed_is_none() -> None:
    assert printed("classification", "cora", "quiet", "none") is None


def test_a_copied_row_is_marked_with_its_source() -> None:
    (mark,) = accuracy_marks("classification-more", "amazon-computers", "gcn", "symmetric:0.4")
    assert "the one printed for cora" in mark


def test_copied_rows_hold_the_digits_of_their_source() -> None:
    for (target, _, row, column), found in printed_numbers().items():
        if found.copied_from and target == "classification-more":
            source = printed_number("classification", found.copied_from, row, column)
            assert source is not None
            assert (source.mean, source.std) == (found.number.mean, found.number.std)


def test_texas_and_chameleon_repeat_p_values_of_others() -> None:
    place = ("gcl-lrr:encoder=tedgcn", "symmetric:0.4")
    sources = {name: printed("p-values", name, *place) for name in ("texas", "chameleon")}
    assert {name: each and each.copied_from for name, each in sources.items()} == {
        "texas": "cora",
        "chameleon": "wiki-cs",
    }


def test_a_row_of_its_own_has_no_mark() -> None:
    assert accuracy_marks("classification", "cora", "gcn", "symmetric:0.4") == ()
    assert copy_marks("") == ()


def test_80_percent_symmetric_noise_of_five_classes_is_marked() -> None:
    (mark,) = accuracy_marks("heterophilic", "texas", "tedgcn", "symmetric:0.8")
    assert "carries no information" in mark
    assert accuracy_marks("heterophilic", "texas", "tedgcn", "symmetric:0.6") == ()
    assert accuracy_marks("heterophilic", "texas", "tedgcn", "asymmetric:0.8") == ()


def test_no_more_than_guessing_needs_no_mark() -> None:
    assert noise_marks("texas", "symmetric:0.8", 0.2) == ()


def test_least_complexity_is_the_minimum_over_all_splits() -> None:
    nodes, rank = 40, 3
    slow = min(rank * (1 / u + 1 / (nodes - u)) for u in range(1, nodes))
    assert least_complexity(rank, nodes) == pytest.approx(slow)


def test_only_pubmed_and_arxiv_have_possible_complexities() -> None:
    datasets = {place[1] for place in printed_numbers() if place[0] == "kernel-complexity"}
    possible = {name for name in datasets if not complexity_marks(name, "KC", "gcl-lrr")}
    assert possible == {"pubmed", "ogbn-arxiv"}


def test_merits_rank_exceeds_its_width() -> None:
    assert any("width" in mark for mark in complexity_marks("pubmed", "rank", "merit"))
    assert complexity_marks("pubmed", "KC", "merit") == ()


def test_only_the_misprinted_name_is_marked_among_the_times() -> None:
    assert time_marks("gcl-lr-attention")
    assert time_marks("gcl-lrr") == ()


def test_the_sensitivity_contradicts_the_main_table_at_two_weights() -> None:
    marked = [weight for weight in ("0.1", "0.2", "0.4", "0.5") if weight_marks(weight)]
    assert marked == ["0.2", "0.5"]
