"""Noise settings as text and as values."""

import pytest
from pydantic import ValidationError

from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.errors import InvalidParameterError, UnknownNameError


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "symmetric:0.4",
        "asymmetric:0.25",
        "random:0",
        "instance:0.3",
        "annotator:1",
        "annotators:2:0.9/reader0.7/spammer",
        "attribute:0.6",
        "custom:my+matrix.csv",
        "labels:cora-gpt35.csv",
        "symmetric:0.4+attribute:0.4+clean-validation",
    ],
)
def test_canonical_text_is_read_back_as_the_same_setting(text: str) -> None:
    assert str(parse_noise(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pair:0.4", "asymmetric:0.4"),
        ("uniform:0.40", "symmetric:0.4"),
        (" Symmetric : 0.4 + attribute:.5 ", "symmetric:0.4+attribute:0.5"),
        ("attribute:0.4+symmetric:2e-1", "symmetric:0.2+attribute:0.4"),
        ("clean-validation", "none"),
        ("annotators:3", "annotators:3:0.9/0.8/0.65/0.55/reader0.7/spammer"),
    ],
)
def test_settings_that_do_the_same_have_the_same_text(text: str, canonical: str) -> None:
    assert str(parse_noise(text)) == canonical


def test_a_setting_made_by_hand_equals_the_parsed_one() -> None:
    assert NoiseSetting(kind="symmetric", rate=0.4, attribute_rate=0.2) == parse_noise("symmetric:0.4+attribute:0.2")


def test_files_are_not_read_when_a_setting_is_parsed() -> None:
    assert parse_noise("labels:/no/such/file.csv").path == "/no/such/file.csv"


@pytest.mark.parametrize(
    "text", ["symmetric:1.5", "symmetric:-0.1", "attribute:40", "pair:nan", "symmetric", "attribute:much"]
)
def test_a_rate_that_is_none_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"needs a rate between 0 and 1, got '.*'. Write \w+:0.4 for 40 %"):
        parse_noise(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("symmetric:0.4+pair:0.2", "gives (kind|rate) twice"),
        ("attribute:0.4+attribute:0.2", "gives attribute rate twice"),
        ("symmetric:0.4+clean-validation:3", "'clean-validation' takes no value, got '3'"),
        ("custom", "Write custom:PATH.csv"),
        ("annotators:0", "1 to 6 for 6 annotators"),
        ("annotators:1:0.9/bob", "or spammer, got 'bob'"),
    ],
)
def test_mistakes_are_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        parse_noise(text)


def test_an_unknown_kind_offers_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'symmetric'"):
        parse_noise("symetric:0.4")


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "symetric"}, {"kind": "symmetric", "rate": 2}, {"matrix": "T.csv"}],
)
def test_values_that_no_setting_has_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NoiseSetting(**wrong)
