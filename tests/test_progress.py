"""Progress of long work: every stage is named, and parts count as parts."""

import itertools

import pytest

import quietgraph as qg
from quietgraph.cli import console
from quietgraph.progress import listen, report_progress, stage, step_of
from quietgraph.testing import quick_parameters, small_problem


def test_progress_inside_a_step_is_a_part_of_the_longer_work() -> None:
    seen: list[tuple[str, float, int]] = []
    with listen(lambda *told: seen.append(told)), step_of("folds", 2, 5):
        report_progress("training", 1, 2)
        report_progress("again", 1, 4)  # never backwards
        with stage("of unknown length"):
            pass
    assert {(what, total) for what, _, total in seen} == {("folds", 5)}
    done = [step for _, step, _ in seen]
    assert done == sorted(done)
    assert (done[0], done[1], done[-1]) == (2, pytest.approx(2.495), 3)


def test_without_a_listener_nothing_happens() -> None:
    with step_of("folds", 0, 5), stage("reading"):
        report_progress("training", 1, 2)


@pytest.mark.parametrize("name", ["gcn", "quiet"])
def test_a_fit_names_its_stages_in_order(name: str) -> None:
    problem, labels, validation = small_problem()
    method, seen = qg.get_method(name), []
    with listen(lambda what, *_: seen.append(what)):
        method(**quick_parameters(method)).fit(problem.graph, labels, validation).quality()
    first = {"gcn": ["training"], "quiet": ["learning embeddings", "classifying"]}[name]
    stages = [what for what, _ in itertools.groupby(seen)]
    assert stages[: len(first)] == first
    assert stages[-2:] == ["folds for quality", "evidence for suspects"]


def test_bars_know_stages_of_known_and_unknown_length(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = console.PlainConsole(stderr=True, force_terminal=True, width=100)
    monkeypatch.setattr(console, "errors", screen)
    with console.progress_bars(), stage("reading shop"), step_of("folds for quality", 1, 5):
        report_progress("training", 3, 4)
    console.say_seconds()
    told = capsys.readouterr().err
    for words in ("reading shop", "folds for quality", "left", "seconds in all"):
        assert words in told


def test_seconds_are_for_people_alone(capsys: pytest.CaptureFixture[str]) -> None:
    console.say_seconds()
    assert not capsys.readouterr().err
