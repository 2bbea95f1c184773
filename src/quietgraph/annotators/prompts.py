"""Prompts that ask a language model for the class of nodes, as the providers' batches take them.

Nothing here talks to a network: a file of JSON lines is written, and uploaded by whoever has a key.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

import pandas as pd

from quietgraph.errors import InvalidParameterError, UnknownNameError

PROVIDERS: Final = ("openai", "anthropic")
_MODELS: Final = {"openai": "gpt-4o-mini", "anthropic": "claude-3-5-haiku-latest"}
_MOST_TOKENS: Final = 200
_LONGEST_TEXT: Final = 6_000  # characters of a column
_LONGEST_ID: Final = 64  # characters of a custom_id, by the rules of the providers
_SYSTEM: Final = (
    "You assign one class to an item. Answer with one JSON object and nothing else: "
    '{"ranking": [classes that may be right, likeliest first, at most three, written exactly as '
    'given], "confidence": probability from 0 to 1 that the first is right}.'
)


def batch_lines(
    table: pd.DataFrame,
    classes: Sequence[str],
    *,
    id_column: str,
    text_columns: Sequence[str],
    provider: str = "openai",
    model: str | None = None,
) -> Iterator[str]:
    """Yield one JSON line per row of a table, in the batch format of a provider.

    Args:
        table: One row of texts per node.
        classes: That the model may name.
        id_column: Of the table.
        text_columns: What the model reads, in this order.
        provider: `openai` (batches of /v1/chat/completions) or `anthropic` (message batches).
        model: Name of the model; a small one of the provider without it.
    """
    if provider not in PROVIDERS:
        raise UnknownNameError("provider", provider, PROVIDERS)
    for name in (id_column, *text_columns):
        if name not in table.columns:
            raise UnknownNameError("column", name, map(str, table.columns))
    if len(classes) < 2:
        raise InvalidParameterError(
            f"a prompt needs two classes or more, got {len(classes)}. Write --classes a,b,c."
        )
    repeated = table[id_column][table[id_column].duplicated()]
    if len(repeated):
        raise InvalidParameterError(
            f"the id '{repeated.iloc[0]}' of column {id_column} is there more than once. Keep one "
            "row per node, or name the column of ids with --id."
        )
    chosen = model or _MODELS[provider]
    for row in table.to_dict("records"):
        texts = [(name, str(row[name]).strip()[:_LONGEST_TEXT]) for name in text_columns]
        question = _question(texts, classes)
        custom_id = encode_id(str(row[id_column]))
        yield json.dumps(_request(provider, custom_id, question, chosen), ensure_ascii=False)


def encode_id(node: str) -> str:
    """Return a node id in letters, digits, - and _ alone, as the providers take it."""
    text = "n" + re.sub("[^A-Za-z0-9-]", lambda one: _hex(one[0]), node)
    if len(text) > _LONGEST_ID:
        raise InvalidParameterError(
            f"the node id '{node[:40]}...' is too long for a batch ({_LONGEST_ID} characters). "
            "Give the nodes shorter ids."
        )
    return text


def decode_id(custom_id: str) -> str | None:
    """Return the node id that `encode_id` was given; None for another text."""
    if not re.fullmatch("n(?:[A-Za-z0-9-]|_[0-9a-f]{2})*", custom_id):
        return None
    raw = re.sub("_([0-9a-f]{2})", lambda one: chr(int(one[1], 16)), custom_id[1:])
    try:
        return raw.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None


def _hex(character: str) -> str:
    return "".join(f"_{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def _question(texts: list[tuple[str, str]], classes: Sequence[str]) -> str:
    listed = "\n".join(f"- {name}" for name in classes)
    shown = "\n\n".join(f"{name}: {text}" for name, text in texts if text)
    return f"Classes:\n{listed}\n\n{shown or '(no text)'}\n\nWhich class is it?"


def _request(provider: str, custom_id: str, question: str, model: str) -> dict[str, object]:
    asked = {"role": "user", "content": question}
    if provider == "anthropic":
        params = {"model": model, "max_tokens": _MOST_TOKENS, "system": _SYSTEM}
        return {"custom_id": custom_id, "params": {**params, "messages": [asked]}}
    messages = [{"role": "system", "content": _SYSTEM}, asked]
    body = {"model": model, "max_tokens": _MOST_TOKENS, "temperature": 0, "messages": messages}
    where = {"method": "POST", "url": "/v1/chat/completions"}
    return {"custom_id": custom_id, **where, "body": body}
