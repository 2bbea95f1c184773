"""Cross-validation and search: by noisy labels alone, and gone on with after a kill."""

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from command_line import call, printed
from quietgraph.bench import protocol
from quietgraph.bench.cross_validation import cross_validate, paper_grid, training_grid
from quietgraph.bench.paper_search import paper_search
from quietgraph.bench.protocol import Run
from quietgraph.bench.search_space import Options, Span, parse_space, usual_space
from quietgraph.bench.trial_store import Trial, open_study
from quietgraph.bench.tuning import Goal, best_trial, search, search_grid
from quietgraph.bench.variant import parse_variant
from quietgraph.classify import stratified_folds
from quietgraph.cli.tune import tune  # noqa: F401  (registers the command)
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.errors import (
    InvalidLabelsError,
    InvalidParameterError,
    QuietgraphError,
    UnknownNameError,
    UnreadableFileError,
    UnwritablePathError,
)
from quietgraph.extras import MissingExtraError
from quietgraph.methods import get_method
from quietgraph.methods.gcn.gcn import GCN
from quietgraph.methods.low_rank.gcl_lrr import GCLLRR
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN

GOAL = Goal("sbm", parse_variant("gcn:epochs=5:hidden=8"), parse_noise("symmetric:0.3"), seeds=(7,))
SPACE = {"learning_rate": Span(1e-3, 0.5, is_log=True), "hidden": Options((4, 8))}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    pytest.importorskip("optuna", reason="the extra [tune] (optuna) is not installed")
    return tmp_path / "tune.sqlite"


def noisy_training_labels() -> tuple[object, torch.Tensor]:
    observation, _ = Run.parse("sbm", "gcn", "symmetric:0.3", 0).observe()
    return observation.graph, torch.where(observation.split.train, observation.codes, UNKNOWN)


def test_cross_validation_equals_its_definition() -> None:
    graph, labels = noisy_training_labels()
    folds = stratified_folds(labels, 5, generator=torch_generator(3, "cross-validation"))
    right = []
    for fold in range(5):
        seen = labels.clone()
        seen[folds == fold] = UNKNOWN
        predicted = GCN(epochs=5, hidden=8, seed=3).fit(graph, seen).predict()
        right += [predicted[node] == int(labels[node]) for node in (folds == fold).nonzero()]
    assert len(right) == 80
    found = cross_validate(GCN(epochs=5, hidden=8, seed=3), graph, labels).accuracy
    assert found == np.mean(right)


def test_folds_of_a_two_stage_method_share_one_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []
    embed = GCLLRR._embed
    monkeypatch.setattr(GCLLRR, "_embed", lambda *given: trained.append(1) or embed(*given))
    graph, labels = noisy_training_labels()
    model = GCLLRR(epochs=2, warm_up=0, dim=8, hidden=8, anchors=50)
    cross_validate(model, graph, labels)
    assert len(trained) == 1


def test_the_loss_of_folds_equals_its_definition_on_a_fifth_of_the_labels() -> None:
    graph, labels = noisy_training_labels()
    draws = torch_generator(3, "cross-validation")
    labels[stratified_folds(labels, 5, generator=draws) != 0] = UNKNOWN
    folds = stratified_folds(labels, 5, generator=draws)
    costs = []
    for fold in range(5):
        seen = labels.clone()
        seen[folds == fold] = UNKNOWN
        model = GCN(epochs=5, hidden=8, seed=3).fit(graph, seen)
        for node in (folds == fold).nonzero().flatten().tolist():
            column = model.classes_.tolist().index(int(labels[node]))
            costs.append(-np.log(max(model.predict_proba()[node, column], 1e-6)))
    assert len(costs) == 16
    whole = noisy_training_labels()[1]
    found = cross_validate(GCN(epochs=5, hidden=8, seed=3), graph, whole, fraction=0.2)
    assert found.loss == pytest.approx(np.mean(costs), rel=1e-6)


def test_the_papers_search_is_one_command(store: Path) -> None:
    method = "gcl-lrr:preset=paper:epochs=2:hidden=8:dim=8:prototypes=3"
    options = f"--noise symmetric:0.3 --seeds 7-7 --trials 2 --store {store} --json"
    line = f"tune sbm --method {method} --paper-search {options}"
    done = json.loads(printed(*line.split()))
    assert len(done["training"]["trials"]) == len(done["rank"]["trials"]) == 2
    chosen = parse_variant(done["chosen"])
    best = done["training"]["best"]["values"] | done["rank"]["best"]["values"]
    assert {name: chosen.values[name] for name in best} == best
    assert chosen.values["hidden"] == 8
    told = []
    goal = Goal("sbm", parse_variant(method), parse_noise("symmetric:0.3"), seeds=(7,))
    again = paper_search(goal, store, trials=2, tell=lambda found, _: told.append(found))
    assert told == []  # it goes on from what the store has
    assert str(again.variant) == done["chosen"]


def test_the_paper_chooses_training_settings_among_270() -> None:
    grid = training_grid(get_method("gcl-lrr"))
    assert len(grid) == 9 * 6 * 5
    assert grid[0] == {"learning_rate": 1e-4, "weight_decay": 1e-5, "dropout": 0.3}


def test_too_few_labels_for_the_folds_are_refused() -> None:
    graph, labels = noisy_training_labels()
    few = torch.full_like(labels, UNKNOWN)
    few[:4] = torch.tensor([0, 1, 0, 1])
    with pytest.raises(InvalidLabelsError, match="at least 5 training labels, got 4"):
        cross_validate(GCN(), graph, few)


def test_the_paper_chooses_among_ninety_settings() -> None:
    grid = paper_grid(get_method("gcl-lrr"))
    assert len(grid) == 9 * 10
    assert grid[0] == {"rank_ratio": 0.1, "rank_weight": 0.05}
    assert grid[-1] == {"rank_ratio": 0.9, "rank_weight": 0.5}


def test_the_papers_grid_is_refused_for_other_methods() -> None:
    with pytest.raises(InvalidParameterError, match="GCN has no rank_ratio"):
        paper_grid(GCN)


@pytest.mark.parametrize("objective", ["validation", "folds"])
def test_the_score_does_not_depend_on_labels_of_test_nodes(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = replace(GOAL, objective=objective)
    before = goal.score({})

    def load_other(name: str, **options: Any) -> object:
        observation, reference = load_benchmark(name, **options)
        rolled, test = reference.codes.clone(), observation.split.test
        rolled[test] = (rolled[test] + 1) % 4
        return observation, replace(reference, codes=rolled)

    monkeypatch.setattr(protocol, "load_benchmark", load_other)
    assert goal.score({}) == before


def test_the_score_of_folds_does_not_depend_on_validation_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goal = replace(GOAL, objective="folds", noise=NoiseSetting())
    before = goal.score({})

    def load_other(name: str, **options: Any) -> object:
        observation, reference = load_benchmark(name, **options)
        rolled, held_out = observation.codes.clone(), observation.split.validation
        rolled[held_out] = (rolled[held_out] + 1) % 4
        return replace(observation, codes=rolled), reference

    monkeypatch.setattr(protocol, "load_benchmark", load_other)
    assert goal.score({}) == before


def test_the_score_is_the_mean_over_seeds() -> None:
    both = replace(GOAL, seeds=(7, 8)).score({"hidden": 4})
    each = [replace(GOAL, seeds=(seed,)).score({"hidden": 4}) for seed in (7, 8)]
    assert both == sum(each) / 2


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("learning_rate=1e-4:0.1:log", Span(1e-4, 0.1, is_log=True)),
        ("hidden=8:64", Span(8, 64)),
        ("dropout=0:0.9", Span(0.0, 0.9)),
        ("feature_norm=l1,l2", Options(("l1", "l2"))),
        ("patience=5,none", Options((5, None))),
    ],
)
def test_ranges_are_read_from_text(text: str, choice: Span | Options) -> None:
    assert parse_space(GCN, [text]) == {text.partition("=")[0]: choice}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hiden=8:64", "Did you mean 'hidden'?"),
        ("hidden", "name=low:high"),
        ("hidden=8:64:lin", "name=low:high"),
        ("hidden=0:64", "at least 1"),
        ("hidden=64:8", "must rise"),
        ("weight_decay=0:1:log", "from above 0"),
        ("feature_norm=l1:l2", "no number"),
        ("feature_norm=l1,l7", "must be one of"),
    ],
)
def test_a_range_that_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuietgraphError) as caught:
        parse_space(GCN, [text])
    assert words in str(caught.value)


def test_the_usual_space_has_the_parameters_of_the_method() -> None:
    assert set(usual_space(GCN)) == {"learning_rate", "weight_decay", "dropout"}
    assert {"rank_ratio", "rank_weight"} <= set(usual_space(get_method("gcl-lrr")))


def test_a_search_that_was_killed_ends_as_one_that_was_not(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = search(GOAL, SPACE, store.with_name("calm.sqlite"), trials=4)
    score, calls = Goal.score, []

    def killed(self: Goal, values: dict[str, object]) -> float:
        calls.append(values)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return score(self, values)

    monkeypatch.setattr(Goal, "score", killed)
    with pytest.raises(KeyboardInterrupt):
        search(GOAL, SPACE, store, trials=4)
    again = search(GOAL, SPACE, store, trials=4)
    assert [(one.values, one.score) for one in again] == [(one.values, one.score) for one in calm]
    assert len(calls) == 5  # four, and the one under way once more


def test_finished_trials_are_not_tried_again(store: Path) -> None:
    first = search(GOAL, SPACE, store, trials=2)
    told = []
    search(GOAL, SPACE, store, trials=2, tell=lambda found, wanted: told.append(found))
    more = search(GOAL, SPACE, store, trials=3)
    assert told == []
    assert more[:2] == first


def test_another_goal_or_space_has_trials_of_its_own(store: Path) -> None:
    search(GOAL, SPACE, store, trials=1)
    told = []
    for goal, space in (
        (replace(GOAL, noise=NoiseSetting()), SPACE),
        (replace(GOAL, seeds=(8,)), SPACE),
        (GOAL, {"hidden": Options((4, 8))}),
    ):
        search(goal, space, store, trials=1, tell=lambda found, wanted: told.append(found))
    assert [len(found) for found in told] == [1, 1, 1]


def test_a_trial_that_fails_is_kept_with_its_reason(store: Path) -> None:
    space = {"learning_rate": Options((1e30,))}
    trials = search(GOAL, space, store, trials=2)
    assert [trial.score for trial in trials] == [None, None]
    assert "training diverged" in trials[0].reason
    with pytest.raises(QuietgraphError, match="none of the 2 trials succeeded"):
        best_trial(trials)


def test_a_grid_tries_every_point_once_and_goes_on(store: Path) -> None:
    points = [{"hidden": hidden, "dropout": rate} for hidden in (4, 8) for rate in (0.0, 0.5)]
    told = []

    def stop_after_two(found: list[Trial], wanted: int) -> None:
        told.append(found[-1].values)
        if len(found) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_grid(GOAL, points, store, tell=stop_after_two)
    search_grid(GOAL, points, store, tell=lambda found, wanted: told.append(found[-1].values))
    assert told == points


def test_the_best_trial_is_the_first_with_the_highest_score() -> None:
    trials = [Trial({"a": 1}, None), Trial({"a": 2}, 0.5), Trial({"a": 3}, 0.5)]
    assert best_trial(trials).values == {"a": 2}


def test_an_unknown_objective_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'folds'"):
        replace(GOAL, objective="fold")


def test_a_file_that_is_no_store_is_refused(store: Path) -> None:
    store.write_text("not a database, but long enough to be taken for one" * 50)
    with pytest.raises(UnreadableFileError, match="is not a readable store of trials"):
        search(GOAL, SPACE, store, trials=1)


def test_two_searches_do_not_share_a_file_at_once(store: Path) -> None:
    def tune_meanwhile(found: list[Trial], wanted: int) -> None:
        search(GOAL, SPACE, store, trials=1)

    with pytest.raises(UnwritablePathError, match="another process writes to the store of trials"):
        search(GOAL, SPACE, store, trials=1, tell=tune_meanwhile)


def test_a_missing_optuna_is_named_with_the_way_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'quietgraph\[tune\]'"):
        search(GOAL, SPACE, tmp_path / "tune.sqlite", trials=1)


def test_the_command_prints_the_best_values_and_how_to_use_them(store: Path) -> None:
    options = ["--method", "gcn:epochs=3", "--param", "hidden=4:8", "--seeds", "1", "--trials", "2"]
    outcome = call("tune", "sbm", *options, "--store", store)
    assert outcome.exit_code == 0
    assert "2 trials (0 failed), score: accuracy on noisy validation labels" in outcome.stdout
    assert "try it: quietgraph bench run --datasets sbm --methods gcn:epochs=3:hidden=" in (
        outcome.stdout
    )
    assert "[2/2]" in outcome.stderr
    assert "[2/2]" not in outcome.stdout


def test_the_command_prints_one_json_object(store: Path) -> None:
    options = ["--method", "gcn:epochs=3", "--param", "hidden=4,8", "--seeds", "1", "--trials", "2"]
    facts = json.loads(printed("tune", "sbm", *options, "--store", store, "--json"))
    assert facts["best"]["values"]["hidden"] in (4, 8)
    assert len(facts["trials"]) == 2


def test_the_papers_grid_and_ranges_exclude_each_other(store: Path) -> None:
    options = ["--method", "gcl-lrr", "--param", "hidden=4:8", "--paper-grid"]
    outcome = call("tune", "sbm", *options, "--store", store)
    assert isinstance(outcome.exception, InvalidParameterError)


def test_a_store_whose_index_a_killed_process_did_not_make_holds_a_study_once(
    tmp_path: Path,
) -> None:
    optuna = pytest.importorskip("optuna")
    store = tmp_path / "search.sqlite"
    with open_study(optuna, "one", store):
        pass
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("DROP INDEX ix_studies_study_name")
        database.execute("DELETE FROM study_directions")
        database.execute("DELETE FROM studies")
    for _ in range(2):
        with open_study(optuna, "one", store) as study:
            assert study.trials == []
