"""Answers of language models, from the files that the providers' batches give back."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from quietgraph.annotators.prompts import decode_id
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.files import regular_file

_MOST_BYTES: Final = 2 * 10**9
_OBJECT: Final = re.compile(r"\{[^{}]*\}", re.DOTALL)


@dataclass(frozen=True, eq=False)
class BatchAnswers:
    """What a file of answers holds.

    Attributes:
        table: Columns node, annotator, label, confidence and ranking, one row per answer.
        failed: Why the other nodes have no answer, by node.
    """

    table: pd.DataFrame
    failed: dict[str, str]


def read_batch_answers(
    path: str | Path, classes: Sequence[str], *, annotator: str | None = None
) -> BatchAnswers:
    """Return the answers of a file that OpenAI's or Anthropic's batches gave back.

    Args:
        path: JSON lines.
        classes: That an answer may name; case, spaces, _ and - do not matter.
        annotator: Name of the annotator; without it that of the model.
    """
    path = regular_file(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableFileError(f"{path} is larger than 2 GB. Split it.")
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # U+2028 may be in a text
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(
            f"{path} is no readable file of answers ({error}). Name the JSON lines that the "
            "provider gave back."
        ) from error
    known = {_plain(name): name for name in classes}
    if len(known) < len(set(classes)):
        raise InvalidParameterError(
            "two classes differ only in case, spaces, _ or -, so that answers cannot tell them "
            "apart. Rename one of them."
        )
    rows, failed = [], {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        node, model, text, problem = _parse_line(line, f"{path} line {number}")
        ranking, confidence = parse_answer(text, known)
        if problem or not ranking:
            failed[node] = problem or f"no class in the answer '{text[:60]}'"
            continue
        named = annotator or model
        rows.append((node, named, ranking[0], confidence, " > ".join(ranking)))
    if not rows and not failed:
        raise UnreadableFileError(f"{path} is empty. Download the results of the batch first.")
    columns = ["node", "annotator", "label", "confidence", "ranking"]
    return BatchAnswers(pd.DataFrame(rows, columns=columns), failed)


def parse_answer(text: str, known: dict[str, str]) -> tuple[list[str], float | None]:
    """Return the classes that a text names, likeliest first, and the confidence it states.

    A JSON object with `ranking` (or `label`) and `confidence`, alone or within other words; else
    the classes in the order in which they occur in the text.

    Args:
        text: Of the model.
        known: Class names by their plain form.
    """
    for found in _OBJECT.findall(text):
        try:
            answer = json.loads(found)
        except (ValueError, RecursionError):
            continue
        named = answer.get("ranking") or answer.get("label") or []
        named = named if isinstance(named, list) else [named]
        ranking = [known[_plain(str(one))] for one in named if _plain(str(one)) in known]
        if ranking:
            return list(dict.fromkeys(ranking)), _confidence(answer.get("confidence"))
    plain = _plain(text)
    places = {name: _find(key, plain) for key, name in known.items()}
    ranking = sorted((name for name in places if places[name] >= 0), key=places.__getitem__)
    return ranking, None


def _find(key: str, text: str) -> int:
    found = re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text)
    return found.start() if found else -1


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().lower()


def _confidence(value: object) -> float | None:
    """Return a confidence from 0 to 1; 85 and "85%" are 0.85, other values are none."""
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return None
    number = number / 100 if number > 1 or str(value).strip().endswith("%") else number
    return number if 0 <= number <= 1 else None


def _parse_line(line: str, where: str) -> tuple[str, str, str, str]:
    """Return node, model, text of the answer, and what went wrong ('' if nothing)."""
    try:
        record = json.loads(line)
        node = decode_id(str(record["custom_id"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableFileError(
            f"{where} is no answer of a batch: a JSON object with custom_id is expected."
        ) from error
    if node is None:
        raise UnreadableFileError(
            f"{where} has the custom_id '{record['custom_id']}', which `quietgraph label prompt` "
            "did not write. Give the answers to its prompts."
        )
    try:
        if "result" in record:  # Anthropic
            message = record["result"]["message"]
            text = "".join(part.get("text", "") for part in message["content"])
        else:  # OpenAI
            message = record["response"]["body"]
            text = message["choices"][0]["message"]["content"]
        model = str(message.get("model", "llm")).encode("utf-8", "replace").decode("utf-8")
        return node, model, str(text or ""), ""
    except (KeyError, IndexError, TypeError, AttributeError):
        reason = record.get("error") or record.get("result") or record.get("response")
        return node, "", "", f"the provider answered {json.dumps(reason)[:120]}"
