"""Method variants as values: one text, checked once, published settings where there are any."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

import quietgraph as qg
from paths import ROOT
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import RunKey
from quietgraph.bench.runs_csv import read_runs
from quietgraph.bench.variant import Variant, parse_variant, parse_variants, settings_words
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods import METHODS


@pytest.mark.parametrize("text", ["gcn", "gcn:hidden=128", "gcl-lrr:rank_weight=0.50:epochs=3"])
def test_the_text_stays_as_it_was_written(text: str) -> None:
    assert str(parse_variant(text)) == text


def test_values_are_parsed_once_and_checked() -> None:
    variant = parse_variant("gcn:hidden=128:dropout=0.25")
    assert variant.values == {"hidden": 128, "dropout": 0.25}
    assert variant == Variant("gcn", (("hidden", "128"), ("dropout", "0.25")))
    assert pickle.loads(pickle.dumps(variant)).values == variant.values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gnc", UnknownNameError),
        ("gcn:hiden=8", UnknownNameError),
        ("gcn:hidden=0", InvalidParameterError),
        ("gcn:hidden", InvalidParameterError),
        ("gcn:=8", InvalidParameterError),
    ],
)
def test_a_variant_that_cannot_be_is_refused(text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        parse_variant(text)


def test_an_old_name_of_a_parameter_becomes_the_new_one_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="mending"):
        assert str(parse_variant("quiet:mending=0")) == "quiet:correction_rounds=0"


def test_all_stands_for_every_method() -> None:
    assert [str(one) for one in parse_variants(["all"])] == list(METHODS)


def test_published_settings_are_those_of_the_dataset() -> None:
    method = qg.get_method("gcn")
    published = method.presets["amazon-photo"]
    assert published
    own = method.for_dataset("amazon-photo", hidden=8).get_params()
    assert own == method(**{**published, "hidden": 8}).get_params()
    assert method.for_dataset("digits").get_params() == method().get_params()
    with pytest.raises(UnknownNameError, match="Did you mean 'cora'"):
        method.for_dataset("corra")


def test_the_benchmark_runs_the_published_settings() -> None:
    run = Run.parse("amazon-photo", "gcn:hidden=8", "none", 0)
    fitted = qg.get_method("gcn").for_dataset("amazon-photo", hidden=8, seed=0)
    assert run.estimator().get_params() == fitted.get_params()


def test_words_say_whose_settings_these_are() -> None:
    gcn = qg.get_method("gcn")
    words = "published settings for amazon-photo"
    assert settings_words(gcn.for_dataset("amazon-photo", seed=3), "amazon-photo") == words
    changed = gcn.for_dataset("amazon-photo", hidden=8)
    assert settings_words(changed, "amazon-photo") == f"{words}, hidden=8"
    assert settings_words(gcn(hidden=8), None) == "defaults, hidden=8"
    assert settings_words(gcn(), "digits") == "defaults"


def stored_keys(path: Path) -> list[RunKey]:
    return [one.key for one in read_runs(path) if one.key.method.partition(":")[0] in METHODS]


def result_files() -> list[ParameterSet]:
    """Return the files of results; those with labels of a file need that file."""
    files = sorted((ROOT / "results").glob("*.csv"))
    return [
        pytest.param(path, marks=[pytest.mark.data] if path.stem.startswith("real-") else ())
        for path in files
    ]


@pytest.mark.parametrize("path", result_files(), ids=lambda path: path.stem)
def test_stored_results_keep_their_keys(path: Path) -> None:
    """A run made of the texts of a stored one has its key, but for defaults changed since."""
    for key in stored_keys(path)[::20]:
        run = Run.parse(key.dataset, key.method, key.noise, key.seed)
        split = None if key.split == "default" else key.split
        today = replace(replace(run, split=split).key(), parameters=key.parameters)
        assert today.digest == key.digest


def test_stored_results_of_an_unchanged_method_are_found() -> None:
    keys = [key for key in stored_keys(ROOT / "results" / "paper-cora.csv") if key.method == "gcn"]
    assert keys
    for key in keys[::10]:
        assert Run.parse(key.dataset, key.method, key.noise, key.seed).key() == key


def test_the_class_prior_control_belongs_to_the_benchmark() -> None:
    controlled = parse_variant("gcn:class_prior=adjusted:hidden=8")
    assert parse_variant("gcn:hidden=8").controlled() == controlled
    assert controlled.controlled() == controlled
    assert str(controlled.without_control()) == "gcn:hidden=8"
    assert not parse_variant("gcl-lrr").controlled().is_controlled  # it adjusts by itself
    with pytest.raises(InvalidParameterError, match="control of `quietgraph bench run`"):
        controlled.estimator("cora")
    with pytest.raises(InvalidParameterError, match="class_prior must be adjusted, got 'maybe'"):
        parse_variant("gcn:class_prior=maybe")
