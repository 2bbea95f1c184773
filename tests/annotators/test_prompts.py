"""Prompts in the format of the providers' batches, and answers read back."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import printed, refused
from quietgraph.annotators.batch_answers import parse_answer, read_batch_answers
from quietgraph.annotators.prompts import batch_lines, decode_id, encode_id
from quietgraph.errors import QuietgraphError

CLASSES = ["Neural_Networks", "Theory", "Rule Learning"]
KNOWN = {"neural networks": "Neural_Networks", "theory": "Theory", "rule learning": "Rule Learning"}


@given(st.text(max_size=12).filter(lambda text: text.isprintable()))
def test_ids_survive_the_letters_that_providers_allow(node: str) -> None:
    try:
        custom_id = encode_id(node)
    except QuietgraphError:
        return
    assert custom_id.replace("_", "").replace("-", "").isalnum()
    assert len(custom_id) <= 64
    assert decode_id(custom_id) == node


def test_both_providers_get_their_own_format() -> None:
    table = pd.DataFrame({"id": ["p 1"], "title": ["On rules"], "abstract": ["We learn."]})
    lines = {
        provider: json.loads(
            next(
                batch_lines(
                    table,
                    CLASSES,
                    id_column="id",
                    text_columns=["title", "abstract"],
                    provider=provider,
                )
            )
        )
        for provider in ("openai", "anthropic")
    }
    openai, anthropic = lines["openai"], lines["anthropic"]
    assert openai["url"] == "/v1/chat/completions"
    assert openai["custom_id"] == anthropic["custom_id"] == "np_201"
    asked = openai["body"]["messages"][1]["content"]
    assert asked == anthropic["params"]["messages"][0]["content"]
    assert "title: On rules" in asked
    assert "- Rule Learning" in asked
    assert anthropic["params"]["max_tokens"] == openai["body"]["max_tokens"] == 200


@pytest.mark.parametrize(
    ("text", "ranking", "confidence"),
    [
        (
            '{"ranking": ["Theory", "neural networks"], "confidence": 0.7}',
            ["Theory", "Neural_Networks"],
            0.7,
        ),
        (
            'Sure! ```json\n{"label": "rule_learning", "confidence": "85%"}\n```',
            ["Rule Learning"],
            0.85,
        ),
        ("I think it is Theory, maybe Neural Networks.", ["Theory", "Neural_Networks"], None),
        ('{"ranking": ["Theory"], "confidence": "high"}', ["Theory"], None),
        ("I cannot tell.", [], None),
        ('{"ranking": ["Physics"]}', [], None),
        ("theoryland", [], None),
    ],
)
def test_answers_are_read_however_they_are_written(
    text: str, ranking: list[str], confidence: float | None
) -> None:
    assert parse_answer(text, KNOWN) == (ranking, confidence)


def openai_line(node: str, text: str) -> str:
    body = {"model": "gpt-4o-mini", "choices": [{"message": {"content": text}}]}
    response = {"status_code": 200, "body": body}
    return json.dumps({"custom_id": encode_id(node), "response": response, "error": None})


def anthropic_line(node: str, text: str) -> str:
    message = {"model": "claude", "content": [{"type": "text", "text": text}]}
    result = {"type": "succeeded", "message": message}
    return json.dumps({"custom_id": encode_id(node), "result": result})


def test_recorded_answers_of_both_providers_become_one_table(tmp_path: Path) -> None:
    failed = {
        "custom_id": encode_id("p3"),
        "result": {"type": "errored", "error": {"type": "busy"}},
    }
    lines = [
        openai_line("p1", '{"ranking": ["Theory", "Rule Learning"], "confidence": 0.9}'),
        anthropic_line("p2", "Rule learning"),
        json.dumps(failed),
        openai_line("p4", "no idea"),
    ]
    (tmp_path / "out.jsonl").write_text("\n".join(lines))
    found = read_batch_answers(tmp_path / "out.jsonl", CLASSES)
    assert found.table["node"].tolist() == ["p1", "p2"]
    assert found.table["annotator"].tolist() == ["gpt-4o-mini", "claude"]
    assert found.table["ranking"].tolist() == ["Theory > Rule Learning", "Rule Learning"]
    assert "errored" in found.failed["p3"]
    assert "no class" in found.failed["p4"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("{", "no answer of a batch"),
        ('{"custom_id": "mine"}', "did not write"),
        ("[1]", "no answer of a batch"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "out.jsonl").write_text(text)
    with pytest.raises(QuietgraphError, match=sentence):
        read_batch_answers(tmp_path / "out.jsonl", CLASSES)


def test_the_way_from_a_table_to_annotations_on_the_command_line(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": ["a", "b", "c"], "title": ["x", "y", "z"], "label": ["u", "v", ""]})
    table.to_csv(tmp_path / "nodes.csv", index=False)
    table.iloc[:2].rename(columns={"id": "node"})[["node"]].to_csv(
        tmp_path / "some.csv", index=False
    )
    prompts = tmp_path / "prompts.jsonl"
    words = ("label", "prompt", tmp_path, "--text", "title", "--nodes", tmp_path / "some.csv")
    assert "2 prompts" in printed(*words, "--out", prompts)
    ids = [json.loads(line)["custom_id"] for line in prompts.read_text().splitlines()]
    assert [decode_id(one) for one in ids] == ["a", "b"]
    assert "- u\n- v" in prompts.read_text().replace("\\n", "\n")
    (tmp_path / "out.jsonl").write_text("\n".join([openai_line("a", "u"), openai_line("b", "?")]))
    said = printed(
        "label",
        "answers",
        tmp_path / "out.jsonl",
        "--classes",
        "u,v",
        "--out",
        tmp_path / "llm.csv",
    )
    assert "1 answers, 1 without a class" in said
    assert pd.read_csv(tmp_path / "llm.csv")["label"].tolist() == ["u"]
    (tmp_path / "some.csv").write_text("node\na\nzz\n")
    assert "the node 'zz' of" in str(refused(*words))
    (tmp_path / "some.csv").write_text("node\nzz\n")
    assert "no node of" in str(refused(*words))
    assert "no column 'body'" in str(refused("label", "prompt", tmp_path, "--text", "body"))
    assert "no provider 'open'" in str(
        refused("label", "prompt", tmp_path, "--text", "title", "--provider", "open")
    )
