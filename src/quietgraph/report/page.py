"""One self-contained HTML page about a run, which `quietgraph review` serves with decisions."""

import base64
import hashlib
import json
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from quietgraph import plots
from quietgraph.annotators.quality import annotator_table
from quietgraph.assessment.assess import Assessment
from quietgraph.data.data import Truth
from quietgraph.diagnostics.summary import Diagnosis, diagnose
from quietgraph.errors import QuietgraphError
from quietgraph.methods.base import NodeClassifier
from quietgraph.report.evidence import Evidence
from quietgraph.report.run import Facts, is_trusted, length_of_queue, mistake_sentences, suspects_sentence, to_review
from quietgraph.rng import numpy_generator
from quietgraph.types import AnyArray

_MOST_POINTS: Final = 20_000  # nodes on the map
_ID_BYTES, _DETAIL_BYTES = 800_000, 1_200_000  # of ids, and of what is said of nodes: the page stays below 3 MB
_GRID: Final = 4095  # places on the map are whole numbers up to this
_FIRST_ROWS: Final = 50  # suspects that are there without JavaScript
_MOST_CLASSES: Final = 12  # in the picture of the noise matrix
_SCRIPTS: Final = ("table.js", "node.js", "map.js", "review.js", "page.js")
_INK: Final = "#123456"  # replaced by the page's own text colour
_THEMED: Final = {plots.RED: "red", plots.BLUE: "blue", plots.GREY: "grey"} | {
    colour: str(place) for place, colour in enumerate(plots.COLOURS) if colour != "#000000"
}
_STYLE: Final = dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.labelcolor"), _INK
) | {"font.size": 9}


def page_parts(
    model: NodeClassifier, assessment: Assessment, evidence: Evidence, truth: Truth | None = None
) -> dict[str, Any]:
    """Return what the page says of nodes, and its pictures; those of the theory only where it can be computed."""
    found, answers, consensus = _diagnose(model, truth), assessment.data.annotations, assessment.consensus
    return {
        "data": _data(model.seed, assessment, evidence, truth),
        "suspects_sentence": suspects_sentence(assessment, truth),
        "mistakes": mistake_sentences(assessment),
        "matrix": _matrix(assessment) if is_trusted(assessment) else "",
        "figures": _figures(model, found if isinstance(found, Diagnosis) else None),
        "diagnosis": found if isinstance(found, Diagnosis) else None,
        "why_no_diagnosis": found,
        "annotators": []
        if answers is None or consensus is None
        else annotator_table(answers, consensus).to_dict("records"),
    }


def render_page(facts: Facts, parts: dict[str, Any]) -> str:
    """Return the page as HTML that needs no network."""
    templates = Environment(
        loader=PackageLoader("quietgraph.report"), autoescape=select_autoescape(["html"]), trim_blocks=True
    )
    scripts = "\n".join(_source(name) for name in _SCRIPTS)
    script = f'"use strict";\n(async () => {{\n{scripts}\n}})();\n'  # its names are its own
    data = parts["data"]
    return templates.get_template("report.html").render(
        **{name: _ours(part) if name == "matrix" else part for name, part in parts.items()},
        facts=facts,
        first_rows=range(min(_FIRST_ROWS, len(data["suspects"]["p_wrong"]))),
        data_json=_ours(_script_json(data)),
        style=_ours(_source("report.css")),
        script=_ours(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _source(name: str) -> str:
    return files("quietgraph.report").joinpath("templates", name).read_text(encoding="utf-8")


def _ours(text: str) -> Markup:
    return Markup(text)  # noqa: S704  (written by us: templates, figures, escaped JSON)


def _script_json(value: object) -> str:
    """Return JSON that cannot end the script element it is written into."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(seed: int, assessment: Assessment, evidence: Evidence, truth: Truth | None) -> dict[str, Any]:
    """Return what the script reads: nodes of the map, the labels to review first and in their order."""
    table = to_review(assessment)
    listed = table["node"].to_numpy()[: length_of_queue(table)]
    others = np.setdiff1d(np.arange(assessment.data.graph.num_nodes), listed)
    if len(others) > (room := max(0, _MOST_POINTS - len(listed))):
        others = np.sort(numpy_generator(seed, "nodes on the map").choice(others, size=room, replace=False))
    nodes = np.concatenate([listed, others]).astype(np.int64)
    sizes = np.cumsum([len(evidence.ids[node].encode()) + 3 for node in nodes])
    nodes = nodes[: int(np.searchsorted(sizes, _ID_BYTES, side="right"))]
    listed = listed[: len(nodes)]
    rows: dict[str, list[Any]] = {
        "suggested": assessment.predictions.numpy()[listed].tolist(),
        "p_wrong": assessment.p_wrong[listed].round(3).tolist(),
        "flagged": assessment.is_suspect[listed].astype(int).tolist(),
        "title": [evidence.title(node) for node in listed.tolist()],
    }
    if truth is not None and (wrong := truth.wrong(assessment.data).numpy()).any():
        rows["wrong"] = wrong[listed].astype(int).tolist()
    x, y = np.rint(plots.place_nodes(assessment.embeddings[nodes], seed=seed) * _GRID).astype(int).T.tolist()
    posterior = assessment.posterior[nodes]
    points = {"x": x, "y": y} | {
        "id": [evidence.ids[node] for node in nodes],
        "predicted": posterior.argmax(axis=1).tolist(),
        "percent": np.rint(100 * posterior.max(axis=1)).astype(int).tolist(),
        "given": assessment.codes.numpy()[nodes].tolist(),
    }
    data = {
        "classes": [str(name) for name in assessment.classes],
        "points": points,
        "suspects": rows,
        "details": _details(evidence, listed),
        "nodes": assessment.data.graph.num_nodes,
        "trusted": is_trusted(assessment),
        "labels": len(table),
    }
    # Decisions that wait in a browser belong to this run and to no other.
    return {"run": hashlib.blake2b(json.dumps([points["id"], rows]).encode(), digest_size=12).hexdigest(), **data}


def _details(evidence: Evidence, listed: AnyArray) -> list[dict[str, Any]]:
    """Return what is known of the first labels to review, as many as fit into the page."""
    found, size = list[dict[str, Any]](), 0
    for node in listed.tolist():
        known = evidence.describe(node)
        size += len(json.dumps(known, ensure_ascii=False).encode())
        if size > _DETAIL_BYTES:
            break
        found.append(known)
    return found


def _diagnose(model: NodeClassifier, truth: Truth | None) -> Diagnosis | str:
    """Return the diagnostics of the embeddings, or why there are none."""
    seen = model.observed_
    try:
        reference = None if truth is None else truth.codes
        return diagnose(model.fitted_.embeddings, seen.codes, labelled=seen.train, reference=reference)
    except (QuietgraphError, LinAlgError) as error:  # the rest of the report does not need it
        return str(error)


def _matrix(assessment: Assessment) -> str:
    """Return the noise matrix as a picture, of many classes those that are mistaken most."""
    counts, matrix = assessment.noise.counts, assessment.noise.matrix
    mistaken = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    shown = np.sort(np.argsort(-mistaken, kind="stable")[:_MOST_CLASSES])
    size = 1.0 + 0.27 * len(shown)
    draw = partial(plots.noise_matrix, matrix[np.ix_(shown, shown)], assessment.classes[shown])
    return _draw(draw, size=(size + 0.5, size))


def _figures(model: NodeClassifier, one: Diagnosis | None) -> dict[str, Markup]:
    """Return the pictures of the theory by title."""
    found = {"Training": partial(plots.training, model.fitted_.history)} if model.fitted_.history else {}
    if one is not None:
        found |= {
            "Spectrum of K before and after attention": partial(plots.spectrum, one.spectrum, one.attended_spectrum),
            "What each direction holds": partial(plots.projections, one.signal, one.noise),
            "What the first directions hold": partial(plots.concentration, one.signal, one.noise),
            "Bound of the test loss": partial(plots.bound, one.bound),
        }
    return {title: _ours(_draw(plot)) for title, plot in found.items()}


def _draw(plot: Callable[..., Axes], *, size: tuple[float, float] = (5.4, 3.2)) -> str:
    """Return a plot as an SVG element in colours that the page sets, lighter ones where it is dark."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=size, layout="constrained")
        plot(ax=figure.subplots())
        text = plots.to_svg(figure, transparent=True)
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    for colour, name in _THEMED.items():
        text = text.replace(colour.lower(), f"var(--line-{name})")
    return text
