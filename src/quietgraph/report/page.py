"""One self-contained HTML page about a fit."""

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from torch import from_numpy

from quietgraph.bench.noise_setting import parse_noise
from quietgraph.bench.own_data import OwnData
from quietgraph.bench.theory import diagnose_on_dataset
from quietgraph.diagnose import Diagnosis
from quietgraph.report.fit_figures import (
    accuracy_bars,
    bound_terms_curves,
    concentrations,
    projections,
    spectra,
    training_curves,
)
from quietgraph.report.fit_run import FitRun

_SUSPECTS_SHOWN = 50


def render_page(run: FitRun) -> str:
    """Return the report as HTML that needs no network."""
    environment = Environment(
        loader=PackageLoader("quietgraph.report"), autoescape=select_autoescape(["html"])
    )
    diagnosis = _diagnose(run)
    wrong = run.given.wrong()
    accused = run.suspects[run.suspects["score"] > 0]
    suspects = accused.head(_SUSPECTS_SHOWN).to_dict("records")
    for row in suspects:
        row |= {"wrong": bool(wrong[row["node"]]), "node": run.given.node_ids[row["node"]]}
    return environment.get_template("report.html").render(
        run=run,
        facts=run.facts(),
        suspects=suspects,
        figures={title: Markup(svg) for title, svg in _figures(run, diagnosis).items()},  # noqa: S704  (our own)
        diagnosis=diagnosis,
        any_wrong=wrong.any(),
    )


def _diagnose(run: FitRun) -> Diagnosis:
    data = run.given.data
    if isinstance(data, OwnData):
        return run.model.diagnose()
    embeddings, setting = from_numpy(run.model.embeddings_), parse_noise(run.noise)
    return diagnose_on_dataset(data, embeddings, setting, seed=run.model.seed)


def _figures(run: FitRun, diagnosis: Diagnosis) -> dict[str, str]:
    """Return the pictures by title; those that need clean labels only where these are known."""
    shown = {
        "Training": training_curves(run.model.history_),
        "Spectrum of K before and after attention": spectra(diagnosis),
    }
    if run.own:
        return shown
    return {
        "Accuracy against the clean labels": accuracy_bars(run.comparison()),
        **shown,
        "What each direction holds": projections(diagnosis),
        "What the first directions hold": concentrations(diagnosis),
        "Bound of the test loss": bound_terms_curves(diagnosis.bound),
    }
