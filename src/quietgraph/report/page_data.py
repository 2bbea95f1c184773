"""What the page's script reads: nodes on the map and suspects, as columns of plain JSON values."""

import hashlib
import json
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.classify.label_issues.suspects import VOTERS
from quietgraph.classify.verdict import DISTRUST
from quietgraph.graph.io.corrections import COLUMNS
from quietgraph.graph.io.raw import id_key
from quietgraph.report.embedding_map import place_nodes
from quietgraph.report.evidence import shortened
from quietgraph.report.fit_run import FitRun
from quietgraph.report.run_files import VERIFIED_FILE, next_command
from quietgraph.rng import numpy_generator
from quietgraph.types import AnyArray

MAX_POINTS: Final = 20_000  # nodes on the map
_MAX_ID_BYTES: Final = 1_000_000  # of all ids together: the page stays below 3 MB
_MAX_DETAIL_BYTES: Final = 1_000_000  # of columns and neighbours that are in the page itself
_DETAIL: Final = {"text": 400, "neighbours": 6}
_GRID: Final = 4095  # places on the map are whole numbers up to this


def page_data(run: FitRun) -> dict[str, Any]:
    """Return the nodes of the map, suspects first and in their order, and what is said of them."""
    queue = run.queue
    nodes, ids, shown = _drawn_nodes(run, queue["node"].to_numpy())
    data = {
        "classes": [str(name) for name in run.model.classes_],
        "points": _points(run, nodes, ids),
        "suspects": _rows(run, queue.head(shown)),
        "details": _details(run.evidence_lines[:shown]),
        "verified": [
            [getattr(one, name) for name in COLUMNS] for one in run.decisions.decisions.values()
        ],
        "next": next_command(run.command, VERIFIED_FILE),
        "nodes": run.graph.num_nodes,
        "trusted": run.model.quality().verdict != DISTRUST,
        "more": len(run.suspects) > len(queue),
    }
    # The decisions that a browser keeps belong to this table of suspects and to no other.
    shown_facts = [run.command, ids[:shown], data["suspects"]]
    digest = hashlib.blake2b(json.dumps(shown_facts).encode(), digest_size=12).hexdigest()
    return {"run": digest, **data}


def _details(lines: list[str]) -> list[dict[str, object]]:
    """Return columns and neighbours of the first suspects, as many as fit into the page."""
    found: list[dict[str, Any]] = []
    size = 0
    for line in lines:
        known = shortened(line, **_DETAIL)
        size += len(json.dumps(known))
        if size > _MAX_DETAIL_BYTES:
            break
        found.append(known)
    return found


def script_json(value: object) -> str:
    """Return JSON that cannot end the script element it is written into."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _drawn_nodes(run: FitRun, listed: AnyArray) -> tuple[AnyArray, list[str], int]:
    """Return positions and ids of the nodes to draw, and how many of the first are suspects."""
    others = np.setdiff1d(np.arange(run.observation.graph.num_nodes), listed)
    draws = numpy_generator(run.model.seed, "nodes on the map")
    room = max(0, MAX_POINTS - len(listed))
    if len(others) > room:
        others = np.sort(draws.choice(others, size=room, replace=False))
    nodes = np.concatenate([listed, others]).astype(np.int64)
    ids = [id_key(node) for node in run.observation.node_ids[nodes]]
    sizes = np.cumsum([len(text.encode("utf-8", "replace")) + 3 for text in ids])
    fitting = int(np.searchsorted(sizes, _MAX_ID_BYTES, side="right"))
    return nodes[:fitting], ids[:fitting], min(len(listed), fitting)


def _points(run: FitRun, nodes: AnyArray, ids: list[str]) -> dict[str, list[Any]]:
    probabilities = run.model.predict_proba()[nodes]
    draws = numpy_generator(run.model.seed, "places on the map")
    places = place_nodes(run.model.embeddings_[nodes], generator=draws)
    x, y = np.rint(places * _GRID).astype(int).T
    return {
        "id": ids,
        "x": x.tolist(),
        "y": y.tolist(),
        "predicted": probabilities.argmax(axis=1).tolist(),
        "percent": np.rint(100 * probabilities.max(axis=1)).astype(int).tolist(),
        "observed": run.model.task_.labels.cpu().numpy()[nodes].tolist(),
    }


def _rows(run: FitRun, suspects: pd.DataFrame) -> dict[str, list[Any]]:
    codes = {str(name): code for code, name in enumerate(run.model.classes_)}
    rows: dict[str, list[Any]] = {
        "suggested": [codes[str(name)] for name in suspects["suggested"]],
        "p_wrong": _rounded(suspects["p_wrong"], 3),
        "sure": _rounded(suspects["suggested_probability"], 3),
        "issue": suspects["is_issue"].astype(int).tolist(),
    }
    votes = [f"{voters}_{label}" for voters in VOTERS for label in ("observed", "suggested")]
    rows |= {name: _rounded(suspects[name], 2) for name in votes if name in suspects}
    wrong = run.wrong
    if wrong.any():
        rows["wrong"] = wrong[suspects["node"]].astype(int).tolist()
    return rows


def _rounded(values: pd.Series, decimals: int) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), decimals) for value in values]
