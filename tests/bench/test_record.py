"""Runs as data: keys, digests, and what is refused."""

import hashlib
from dataclasses import replace

import pytest

from quietgraph.bench.record import Record, RunKey, canonical_json
from quietgraph.errors import InvalidParameterError

KEY = RunKey(
    dataset="cora",
    method="gcn",
    parameters=canonical_json({"hidden": 64, "rate": 0.5}),
    noise="symmetric:0.4",
    seed=0,
    split="public",
    protocol_version=1,
)


def record(seed: int = 0, **changes: object) -> Record:
    base = Record(
        key=replace(KEY, seed=seed),
        status="done",
        metrics={"test_accuracy": 0.1 + 0.2, "seconds_fit": 1.5},
        seconds=2.0,
        peak_memory_mb=100.0,
        started="2025-01-01T00:00:00+00:00",
        versions={"quietgraph": "0.1.0"},
    )
    return replace(base, **changes)


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical_json({"b": 1, "a": [1, 2]}) == canonical_json({"a": [1, 2], "b": 1})


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_what_is_not_plain_json_cannot_determine_a_run(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="plain finite JSON"):
        canonical_json({"value": value})


def test_equal_keys_have_equal_digests_in_every_process() -> None:
    text = (
        r'{"dataset":"cora","method":"gcn","noise":"symmetric:0.4",'
        r'"parameters":"{\"hidden\":64,\"rate\":0.5}","protocol_version":1,"seed":0,"split":"public"}'
    )
    assert KEY.digest == hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    assert KEY.digest == "675f65d4dd75e7a1f23aec910aa90a3a"


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "photo"},
        {"method": "s2gc"},
        {"parameters": "{}"},
        {"noise": "none"},
        {"seed": 1},
        {"split": "noisygl"},
        {"protocol_version": 2},
    ],
)
def test_everything_in_the_key_changes_the_digest(change: dict[str, object]) -> None:
    assert replace(KEY, **change).digest != KEY.digest


@pytest.mark.parametrize("text", ['{"b": 1}', '{"b":1,"a":2}', "hidden=64"])
def test_parameters_that_are_not_canonical_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="canonical_json"):
        replace(KEY, parameters=text)


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="out-of-memory"):
        record(status="lost")
