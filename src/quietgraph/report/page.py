"""One self-contained HTML page about a fit, with a table to review labels in."""

import base64
import hashlib
from typing import Final

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from torch import from_numpy
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from quietgraph.bench.theory import diagnose_on_dataset
from quietgraph.diagnose import Diagnosis
from quietgraph.errors import QuietgraphError
from quietgraph.report.answers import Answers, answers
from quietgraph.report.fit_figures import (
    accuracy_bars,
    bound_terms_curves,
    calibration_curve,
    concentrations,
    coverage_curve,
    follow_theme,
    projections,
    spectra,
    training_curves,
)
from quietgraph.report.fit_run import FitRun
from quietgraph.report.page_data import page_data, script_json

_FIRST_ROWS: Final = 50  # suspects that are there without JavaScript
_SCRIPTS: Final = (
    "storage.js",
    "decisions.js",
    "table.js",
    "node.js",
    "marks.js",
    "map.js",
    "report.js",
)


def render_page(run: FitRun) -> str:
    """Return the report as HTML that needs no network."""
    templates = Environment(
        loader=PackageLoader("quietgraph.report"), autoescape=select_autoescape(["html"])
    )
    diagnosis, scored = _diagnose(run), answers(run)
    figures, data = _figures(run, diagnosis, scored), page_data(run)
    early, late = _source(templates, "theme.js"), _script(templates)
    return templates.get_template("report.html").render(
        run=run,
        facts=run.facts(),
        data=data,
        first_rows=range(min(_FIRST_ROWS, len(data["suspects"]["p_wrong"]))),
        data_json=_ours(script_json(data)),
        figures={name: _ours(follow_theme(svg)) for name, svg in figures.items()},
        scored=scored,
        confusion=scored.confusion(),
        diagnosis=diagnosis,
        any_wrong="wrong" in data["suspects"],
        style=_ours(_source(templates, "report.css")),
        early_script=_ours(early),
        script=_ours(late),
        allowed_scripts=" ".join(_digest(text) for text in (early, late)),
    )


def _source(templates: Environment, name: str) -> str:
    if templates.loader is None:
        raise TypeError("templates come from the package")
    return templates.loader.get_source(templates, name)[0]


def _script(templates: Environment) -> str:
    """Return all scripts as one, whose names no other script of the page can see."""
    parts = "\n".join(_source(templates, name) for name in _SCRIPTS)
    return f'"use strict";\n(async () => {{\n{parts}\n}})();\n'


def _digest(script: str) -> str:
    """Return a script's digest as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _ours(text: str) -> Markup:
    return Markup(text)  # noqa: S704  (written by us: templates, figures, escaped JSON)


def _diagnose(run: FitRun) -> Diagnosis | None:
    """Return the diagnostics of the embedding; None where it has none, such as one of zeros."""
    embeddings = from_numpy(run.model.embeddings_)
    if not bool(embeddings[run.model.task_.train].any()):
        return None
    try:
        if run.reference is None:
            return run.model.diagnose()
        seed = run.model.seed
        return diagnose_on_dataset(run.observation, run.reference, embeddings, run.noise, seed=seed)
    except (QuietgraphError, LinAlgError):  # the rest of the report does not need it
        return None


def _figures(run: FitRun, diagnosis: Diagnosis | None, scored: Answers) -> dict[str, str]:
    """Return the pictures by title; those that need clean labels only where these are known."""
    right = scored.labels == scored.predicted
    shown = {
        "Calibration": calibration_curve(scored.confidence, right, scored.expected),
        "Coverage": coverage_curve(run.model.quality().coverage),
        "Training": training_curves(run.model.history_),
    }
    if diagnosis is None:
        return shown
    shown["Spectrum of K before and after attention"] = spectra(diagnosis)
    if run.reference is None:
        held = projections(diagnosis, labels="observed labels")
        return {**shown, "What each direction holds": held}
    return {
        "Accuracy against the clean labels": accuracy_bars(run.comparison()),
        **shown,
        "What each direction holds": projections(diagnosis),
        "What the first directions hold": concentrations(diagnosis),
        "Bound of the test loss": bound_terms_curves(diagnosis.bound),
    }
