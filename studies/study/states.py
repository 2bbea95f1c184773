"""Since when each method answers as it does today, tied to its golden answers."""

import datetime
import hashlib
import json

from study.records import RESULTS, ROOT, manifest

ANSWERS = ROOT / "tests" / "golden" / "answers.json"


def answers_hash(method: str) -> str:
    """Return the hash of a method's golden answers on the block model."""
    stored = json.loads(ANSWERS.read_text(encoding="utf-8"))
    own = {
        key: (value["predictions"], value["embeddings"])
        for key, value in stored.items()
        if key.startswith(f"{method}/block/")
    }
    return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()


def changed_methods() -> list[str]:
    """Return the methods whose golden answers are others than when their state was written."""
    return [
        name
        for name, facts in manifest()["methods"].items()
        if facts["answers"] != answers_hash(name)  # of a control: the hash of none
    ]


def change_method(method: str, why: str, since: str | None = None) -> None:
    """Write down that a method answers otherwise, from now on by default: its runs are old."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    facts = {"since": since or now, "why": why, "answers": answers_hash(method)}
    manifest()["methods"][method] = facts
    write_manifest()


def renew_answers(method: str) -> None:
    """Write down that golden answers differ by rounding alone: earlier runs stay valid."""
    facts = manifest()["methods"][method]
    change_method(method, facts["why"], facts["since"])


def write_manifest() -> None:
    """Write the manifest with one line per method and file."""
    parts = []
    for name, entries in manifest().items():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items()]
        parts.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    (RESULTS / "manifest.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
